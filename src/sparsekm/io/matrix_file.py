"""The z-scores of a ``normalised.h5ad``, read row by row on demand and never held completely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.hdf5_format import open_checked
from sparsekm.io.stored_rows import StoredRows

RULE = "normalise_expression (of an age) or normalise_matrix"
NUMBERS_AT_ONCE = 2**22
"""How many numbers of a matrix are processed together: 32 MB in double precision."""


def row_blocks(source: RowSource) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield a matrix in blocks: the rows, and a copy of their values as float64.

    The blocks depend only on the number of features, so that sums over them are identical to the
    last bit whether or not the matrix is in memory.
    """
    n_samples, n_features = source.shape
    height = max(1, NUMBERS_AT_ONCE // max(n_features, 1))
    for start in range(0, n_samples, height):
        rows = slice(start, min(start + height, n_samples))
        yield rows, np.array(source[rows], dtype=np.float64)


class MatrixFile:
    """X of a file, or some of its columns. A sparse X is centred."""

    def __init__(self, file: str | Path) -> None:
        self._file = file
        with open_checked(file, RULE) as opened:
            stored = StoredRows(opened, "X", RULE)
            self.shape = stored.shape
            self._center = opened["var/center"][()] if "center" in opened["var"] else None
        self._columns: Any = slice(None)
        self._width = self.shape[1]

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(self.shape[0])
        values = np.empty((stop - start, self.shape[1]), dtype=np.float32)
        height = max(1, NUMBERS_AT_ONCE // self._width)
        with open_checked(self._file, RULE) as opened:
            stored = StoredRows(opened, "X", RULE)
            for above in range(start, stop, height):
                below = min(above + height, stop)
                chosen = as_dense(stored.read_some(above, below)[:, self._columns])
                if self._center is not None:
                    chosen = chosen - self._center[self._columns]
                values[above - start : below - start] = chosen
        return values

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read some rows, ascending."""
        values = np.empty((len(rows), self.shape[1]), dtype=np.float32)
        height = max(1, NUMBERS_AT_ONCE // self._width)
        for above in range(0, self.shape[0], height):
            first, last = np.searchsorted(rows, [above, above + height])
            if first < last:
                values[first:last] = self[above : above + height][rows[first:last] - above]
        return values

    def select(self, columns: np.ndarray) -> RowSource:
        """Select columns, in memory if they are small enough, otherwise as another `MatrixFile`."""
        chosen = object.__new__(MatrixFile)
        chosen.__dict__.update(self.__dict__)
        chosen._columns = np.asarray(columns, dtype=np.intp)
        chosen.shape = (self.shape[0], chosen._columns.size)
        return chosen[:] if chosen.shape[0] * chosen.shape[1] <= NUMBERS_AT_ONCE else chosen


RowSource = np.ndarray | MatrixFile
"""A matrix of shape (n, p), in memory or not: ``source[start:stop]`` returns an array."""
