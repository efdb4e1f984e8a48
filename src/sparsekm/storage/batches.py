"""What files of references, splits and resamplings share: numbered rows, a grid of sparsities.

All hold a batch of repetitions of a path: arrays ``index (b,)``, the repetitions' numbers, which
seed them, and ``sparsity (m,)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sparsekm.storage.atomic_hdf5 import atomic_hdf5
from sparsekm.storage.attributes import read_attributes, write_attributes
from sparsekm.storage.checked_hdf5 import DamagedFileError, open_checked, read_array


@dataclass(frozen=True)
class BatchFormat:
    """A kind of batch file: the plural noun for its rows, and the rule that writes it."""

    kind: str
    rule: str

    def check_grid(
        self, file: str | Path, found: np.ndarray, sparsities: np.ndarray, whose: str
    ) -> None:
        """Refuse a file whose sparsities differ from those expected."""
        if not np.array_equal(found, sparsities):
            raise DamagedFileError(
                file, f"sparsity={found} should be {whose} {sparsities}", self.rule
            )

    def write(
        self,
        file: str | Path,
        indices: np.ndarray,
        sparsities: np.ndarray,
        arrays: Mapping[str, np.ndarray],
        attributes: Mapping[str, Any],
    ) -> None:
        """Write a batch whole or not at all."""
        with atomic_hdf5(file) as opened:
            opened["index"] = np.asarray(indices, dtype=np.int64)
            opened["sparsity"] = np.asarray(sparsities, dtype=np.float64)
            for name, values in arrays.items():
                opened[name] = values
            write_attributes(opened, self.kind, attributes)

    @contextmanager
    def open(
        self, file: str | Path
    ) -> Iterator[tuple[h5py.File, np.ndarray, np.ndarray, Mapping[str, Any]]]:
        """Open a batch; give the file with its checked indices, sparsities and attributes."""
        with open_checked(file, self.rule) as opened:
            attributes = read_attributes(opened, self.kind, self.rule)
            indices = read_array(opened, "index", kind="i", shape=(None,), rule=self.rule)
            sparsities = read_array(opened, "sparsity", kind="f", shape=(None,), rule=self.rule)
            if indices.size == 0 or sparsities.size == 0:
                raise DamagedFileError(file, f"there are no {self.kind} in it", self.rule)
            yield opened, indices, sparsities, attributes

    def order(self, files: Sequence[str | Path], batches: Sequence[Any]) -> np.ndarray:
        """Sort the rows of batches by their numbers.

        Parameters
        ----------
        files : sequence of path
            What the batches were read from; at least one.
        batches : sequence of objects with `indices` and `sparsities`

        Returns
        -------
        order : int64 array
            Positions in the concatenated rows.

        Raises
        ------
        DamagedFileError
            When the batches have different sparsities or share a row.
        """
        grid = batches[0].sparsities
        for file, batch in zip(files, batches, strict=True):
            self.check_grid(file, batch.sparsities, grid, f"as in {files[0]}")
        indices = np.concatenate([batch.indices for batch in batches])
        order = np.argsort(indices)
        if (np.diff(indices[order]) == 0).any():
            raise DamagedFileError(
                files[-1], f"one of the {self.kind} stands in two batches", self.rule
            )
        return order
