"""The files of references: a batch of repetitions of a path each.

Each holds a batch of repetitions of a path, computed by one job: ``index``, the numbers of the
repetitions, from which their seeds are derived, and ``sparsity``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sparsekm.io.hdf5_format import Array, DamagedFileError, Hdf5Format

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
