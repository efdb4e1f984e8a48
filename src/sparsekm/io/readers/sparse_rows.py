"""A sparse matrix in an open file, of which consecutive rows are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.io.readers.raw_matrix import MatrixError


class SparseRows:
    """Compressed rows in a group with ``data``, ``indices`` and ``indptr``, (n, p)."""

    def __init__(self, file: Path, node: Any, shape: tuple[int, int]) -> None:
        self._file, self._node, self.shape = file, node, shape
        self.nnz = int(check_type(file, node["data"]).shape[0])
        self.indptr = node["indptr"][:]
        if self.indptr.dtype.kind not in "iu" or node["indices"].dtype.kind not in "iu":
            raise self._damaged("indices and indptr should be integers")
        self.indptr = self.indptr.astype(np.int64)
        n_indices = int(node["indices"].shape[0])
        if len(self.indptr) != self.shape[0] + 1 or self.indptr[0] != 0:
            raise self._damaged(f"indptr should begin with 0 and have {self.shape[0] + 1} values")
        if (np.diff(self.indptr) < 0).any() or not self.indptr[-1] == self.nnz == n_indices:
            raise self._damaged("indptr should ascend to the number of values and indices")

    def __getitem__(self, rows: slice) -> csr_array:
        starts = self.indptr[rows.start : rows.stop + 1]
        stored = slice(int(starts[0]), int(starts[-1]))
        indices = self._node["indices"][stored]
        # Conversions trust the indices; if out of bounds, they would write anywhere in memory.
        wrong = (indices < 0) | (indices >= self.shape[1])
        if wrong.any():
            at = int(np.argmax(wrong))
            row = rows.start + int(np.searchsorted(starts, starts[0] + at, side="right"))
            raise self._damaged(
                f"sample {row} has the column index {indices[at]}; it should be in "
                f"[0, {self.shape[1]})"
            )
        shape = (rows.stop - rows.start, self.shape[1])
        return csr_array((self._node["data"][stored], indices, starts - starts[0]), shape=shape)

    def _damaged(self, problem: str) -> MatrixError:
        return MatrixError(f"{self._file}: {self._node.name} is no sparse matrix: {problem}.")


def check_type(file: Path, values: Any) -> Any:
    """Refuse values that are not numbers."""
    if values.dtype.kind not in "fiub":
        raise MatrixError(f"{file}: {values.name} has dtype={values.dtype}; it should be numeric.")
    return values
