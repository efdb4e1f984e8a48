"""A matrix that is read in blocks of rows, as often as needed, from memory or from its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

CELLS_AT_ONCE = 2**22
"""Cells of a block, whether or not they are stored: 16 MB as an array of float32."""

Block = np.ndarray | csr_array
Change = Callable[[Block, slice], Block]


class RowStream:
    """A float32 matrix of n samples and p features that is never held completely.

    `read` returns an iterator over consecutive rows, all arrays or all sparse, in parts of any
    height. `n_stored` (p,) are the values of each feature that a sparse matrix stores; None for an
    array. `changes` are applied to each block, given its rows: a change must treat every row by
    itself, so that values do not depend on the blocks, and keep the number of stored values.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        read: Callable[[], Iterable[Block]],
        n_stored: np.ndarray | None = None,
        changes: tuple[Change, ...] = (),
    ) -> None:
        self.shape, self.n_stored = shape, n_stored
        self._read, self._changes = read, changes

    @classmethod
    def of(cls, X: Block) -> RowStream:
        """Stream a matrix that is in memory."""
        counts = np.bincount(X.indices, minlength=X.shape[1]) if issparse(X) else None
        return cls(X.shape, lambda: [X], counts)

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are sparse, in canonical format."""
        return self.n_stored is not None

    def blocks(self, height: int | None = None) -> Iterator[tuple[slice, Block]]:
        """Yield the rows of blocks of equal height, by default `CELLS_AT_ONCE`, and the blocks."""
        height = height or max(1, CELLS_AT_ONCE // self.shape[1])
        start = 0
        for block in _cut(self._read(), height):
            rows = slice(start, start + block.shape[0])
            start = rows.stop
            for change in self._changes:
                block = change(block, rows)
            yield rows, block

    def change(self, change: Change) -> RowStream:
        """Return the matrix with a change applied to its blocks."""
        return RowStream(self.shape, self._read, self.n_stored, (*self._changes, change))

    def select(self, features: np.ndarray) -> RowStream:
        """Return some of the features, by index, ascending."""
        n_stored = None if self.n_stored is None else self.n_stored[features]
        changes = (*self._changes, lambda block, rows: block[:, features])
        return RowStream((self.shape[0], len(features)), self._read, n_stored, changes)

    def collect(self) -> Block:
        """Return the whole matrix."""
        return _join([block for _, block in self.blocks()])


class SparseRows:
    """Compressed rows in a group with ``data``, ``indices`` and ``indptr``, (n, p), as slices.

    Rows that do not add up raise a ValueError; indices are checked when they are read.
    """

    def __init__(self, node: Any, shape: tuple[int, int]) -> None:
        self.shape, self._name = shape, node.name
        self.data, self.indices, starts = (node[part] for part in ("data", "indices", "indptr"))
        if {self.indices.dtype.kind, starts.dtype.kind} - {*"iu"}:
            raise ValueError(f"{self._name}: indices and indptr should be integers")
        self.indptr, self.nnz = starts[:].astype(np.int64), int(self.data.shape[0])
        n_starts, lengths = shape[0] + 1, {self.data.shape, self.indices.shape}
        if len(self.indptr) != n_starts or self.indptr[0] != 0:
            raise ValueError(f"{self._name}: indptr should begin with 0 and have {n_starts} values")
        if (np.diff(self.indptr) < 0).any() or lengths != {(self.indptr[-1],)}:
            raise ValueError(
                f"{self._name}: indptr should ascend to the number of values and indices"
            )

    def __getitem__(self, rows: slice) -> csr_array:
        starts = self.indptr[rows.start : rows.stop + 1]
        stored = slice(int(starts[0]), int(starts[-1]))
        parts = self.data[stored], self.indices[stored], starts - starts[0]
        found = csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]))
        # Conversions trust the indices; if out of bounds, they would write anywhere in memory.
        try:
            found.check_format(full_check=True)
        except ValueError as error:
            problem = f"{self._name}: in rows from {rows.start + 1} on, {error}"
            raise ValueError(problem) from error
        return found


def _cut(parts: Iterable[Block], height: int) -> Iterator[Block]:
    """Cut consecutive rows anew, into blocks of equal height but for the last."""
    held = None
    for part in parts:
        rows = part if held is None else _join([held, part])
        whole = rows.shape[0] // height * height
        for start in range(0, whole, height):
            yield rows[start : start + height]
        held = rows[whole:] if whole < rows.shape[0] else None
    if held is not None:
        yield held


def _join(blocks: list[Block]) -> Block:
    return vstack(blocks, format="csr") if issparse(blocks[0]) else np.concatenate(blocks)
