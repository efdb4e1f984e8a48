"""The files ``resamplings/{batch}.h5``: partitions and features of paths on parts of the data.

The arrays are those of `sparsekm.tuning.resampled_paths`, with the b resamplings as the first axis:
``labels (b, f, m, n)``, ``drawn (b, p)`` (0 or 1), ``kept (b, f, m, ceil(p / 8))``, eight features
per byte as packed by NumPy, and ``separation (b, f, m)``, NaN if no sample was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.io.batch_files import NUMBERS, ROWS, SPARSITIES, Batch, BatchFormat
from sparsekm.io.hdf5_format import Array, DamagedFileError
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

_PATHS = (ROWS, len(FAMILIES), SPARSITIES)


@dataclass(frozen=True)
class _ResamplingFormat(BatchFormat):
    """A batch in which the kept features are among those drawn."""

    def read(self, file: str | Path) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read a batch, and check that its arrays agree with each other."""
        found, attributes = super().read(file)
        drawn = np.packbits(found["drawn"], axis=-1)
        kept, separation = found["kept"], found["separation"]
        if kept.shape[-1] != drawn.shape[-1]:
            problem = f"kept: shape={kept.shape} should end in {drawn.shape[-1]}"
            raise DamagedFileError(file, problem, self.rule)
        wrong = {
            "kept should be among those drawn": kept & ~drawn[:, None, None],
            "separation should be >= 0 and finite": np.isinf(separation) | (separation < 0),
        }
        for problem, where in wrong.items():
            if where.any():
                raise DamagedFileError(file, problem, self.rule)
        return found, attributes


@dataclass(frozen=True)
class Resamplings(Batch):
    """The results of b resamplings at m sparsities."""

    paths: Sequence[ResampledPaths]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    format = _ResamplingFormat(
        "resamplings",
        "resample_path",
        {
            **NUMBERS,
            "labels": Array("labels", np.int16, (*_PATHS, "n_samples"), labels=True),
            "kept": Array("kept", np.uint8, (*_PATHS, "n_bytes")),
            "drawn": Array("drawn", np.uint8, (ROWS, "n_features"), most=1),
            "separation": Array("separation", np.float64, _PATHS, finite=False),
        },
    )

    def check_problem(
        self, file: str | Path, shape: tuple[int, int], sparsities: np.ndarray
    ) -> None:
        """Refuse resamplings, read from `file`, of different data or sparsities."""
        self.check_grid(file, sparsities, "the problem's")
        found = (self.paths[0].labels.shape[-1], self.paths[0].drawn.size)
        if found != shape:
            problem = f"(n_samples, n_features)={found} should be {shape}, the shape of the data"
            raise DamagedFileError(file, problem, self.format.rule)

    def write(self, file: str | Path) -> None:
        """Write a batch atomically."""
        names = ("labels", "kept", "drawn", "separation")
        arrays = {name: np.array([getattr(path, name) for path in self.paths]) for name in names}
        arrays["kept"] = np.packbits(arrays["kept"], axis=-1)
        self.format.write(file, {**vars(self), **arrays}, self.attributes)

    @classmethod
    def read(cls, files: Iterable[str | Path]) -> Resamplings:
        """Read and check files of batches, and join them in the order of their row numbers."""
        found, attributes = cls.format.read_all(files)
        drawn = found["drawn"].astype(bool)
        kept = np.unpackbits(found["kept"], axis=-1, count=drawn.shape[1]).astype(bool)
        parts = zip(found["labels"], kept, drawn, found["separation"], strict=True)
        paths = [ResampledPaths(*part) for part in parts]
        return cls(found["indices"], found["sparsities"], paths, attributes)
