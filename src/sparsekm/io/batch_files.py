"""The files of references and of resamplings: a batch of repetitions of a path each.

Each holds a batch of repetitions of a path, computed by one job: ``index``, the numbers of the
repetitions, from which their seeds are derived, and ``sparsity``.

The arrays of resamplings are those of `sparsekm.tuning.resampled_paths`, with the b resamplings as
the first axis: ``labels (b, f, m, n)``, ``drawn (b, p)`` (0 or 1), ``kept (b, f, m, ceil(p / 8))``,
eight features per byte as packed by NumPy, and ``separation (b, f, m)``, NaN if no sample was left
out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sparsekm.io.hdf5_format import Array, DamagedFileError, Hdf5Format
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

ROWS, SPARSITIES = "n_rows", "n_sparsities"
"""Names of the lengths: number of repetitions and number of sparsities."""
NUMBERS = {
    "indices": Array("index", np.int64, (ROWS,)),
    "sparsities": Array("sparsity", np.float64, (SPARSITIES,)),
}
"""The arrays that every batch begins with."""


@dataclass(frozen=True)
class BatchFormat(Hdf5Format):
    """A kind of batch file; `kind` is a plural noun for its rows."""

    def read_all(self, files: Iterable[str | Path]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read one or more batches and join them in the order of their row numbers.

        The attributes are those of the first file. All batches must have the same sparsities and
        lengths, and no row may occur twice.
        """
        files = list(files)
        batches = []
        for file in files:
            found, attributes = self.read(file)
            batches.append(found)
            if len(batches) == 1:
                about = attributes
            self._compare(file, found, batches[0], files[0])
        order = np.argsort(np.concatenate([batch["indices"] for batch in batches]))
        joined = {"sparsities": batches[0]["sparsities"]}
        for name in self.arrays.keys() - joined.keys():
            joined[name] = np.concatenate([batch[name] for batch in batches])[order]
        if (np.diff(joined["indices"]) == 0).any():
            raise DamagedFileError(
                files[-1], f"one of the {self.kind} is in two batches", self.rule
            )
        return joined, about

    def check_grid(
        self, file: str | Path, found: np.ndarray, sparsities: np.ndarray, whose: str
    ) -> None:
        """Refuse a file whose sparsities differ from those expected."""
        if not np.array_equal(found, sparsities):
            raise DamagedFileError(
                file, f"sparsity={found} should be {whose} {sparsities}", self.rule
            )

    def _compare(self, file, found, model, first) -> None:
        """Refuse a batch that does not match the first one."""
        self.check_grid(file, found["sparsities"], model["sparsities"], f"as in {first}")
        for name, array in self.arrays.items():
            shapes = zip(array.shape, np.shape(found[name]), np.shape(model[name]), strict=True)
            for length, here, there in shapes:
                if length != ROWS and here != there:
                    raise DamagedFileError(
                        file, f"{length}={here} should be {there}, as in {first}", self.rule
                    )


@dataclass(frozen=True)
class Batch:
    """Numbered rows, and a grid of sparsities."""

    indices: np.ndarray
    sparsities: np.ndarray
    format: ClassVar[BatchFormat]

    def check_grid(
        self, file: str | Path, sparsities: np.ndarray, whose: str = "the path's"
    ) -> None:
        """Refuse a batch, read from `file`, whose sparsities differ from those of a path."""
        self.format.check_grid(file, self.sparsities, sparsities, whose)

    def write(self, file: str | Path) -> None:
        """Write the batch atomically."""
        self.format.write(file, vars(self), self.attributes)

    @classmethod
    def read(cls, files: Iterable[str | Path]):
        """Read and check files of batches, and join them in the order of their row numbers."""
        arrays, attributes = cls.format.read_all(files)
        return cls(**arrays, attributes=attributes)


@dataclass(frozen=True)
class References(Batch):
    """Objectives (b, m) of b references at m sparsities; ``reference`` is an attribute."""

    objectives: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)

    format = BatchFormat(
        "references",
        "reference_path",
        {**NUMBERS, "objectives": Array("objective", np.float64, (ROWS, SPARSITIES))},
    )


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
