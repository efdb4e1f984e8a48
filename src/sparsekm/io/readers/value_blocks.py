"""Reading values in blocks of rows, as float32; what is missing or infinite becomes NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.messages import MatrixError, refusal, say
from sparsekm.io.readers.raw_matrix import check_size, held_bytes
from sparsekm.io.row_stream import RowStream

_CELLS_AT_ONCE = 2**21
_STORED_AT_ONCE = 2**22
_LARGEST_CHUNKS_CELLS = 2**25

Opened = Callable[[], AbstractContextManager[Any]]


class SparseRows:
    """Compressed rows in a group with ``data``, ``indices`` and ``indptr``, (n, p)."""

    def __init__(self, file: Path, node: Any, shape: tuple[int, int]) -> None:
        self._file, self._node, self.shape = file, node, shape
        self.nnz = int(check_type(file, node["data"]).shape[0])
        self.indptr = node["indptr"][:]
        if self.indptr.dtype.kind not in "iu" or node["indices"].dtype.kind not in "iu":
            raise self._damaged("indices and indptr should be integers")
        self.indptr = self.indptr.astype(np.int64)
        if len(self.indptr) != self.shape[0] + 1 or self.indptr[0] != 0:
            raise self._damaged(f"indptr should begin with 0 and have {self.shape[0] + 1} values")
        lengths = {int(self.indptr[-1]), int(node["indices"].shape[0]), self.nnz}
        if (np.diff(self.indptr) < 0).any() or len(lengths) > 1:
            raise self._damaged("indptr should ascend to the number of values and indices")

    def __getitem__(self, rows: slice) -> csr_array:
        starts = self.indptr[rows.start : rows.stop + 1]
        stored = slice(int(starts[0]), int(starts[-1]))
        parts = self._node["data"][stored], self._node["indices"][stored], starts - starts[0]
        found = csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]))
        # Conversions trust the indices; if out of bounds, they would write anywhere in memory.
        try:
            found.check_format(full_check=True)
        except ValueError as error:
            raise self._damaged(f"in rows from {rows.start + 1} on, {reason_of(error)}") from error
        return found

    def _damaged(self, problem: str) -> MatrixError:
        return refusal("no_sparse", self._file, name=self._node.name, problem=problem)


def check_type(file: Path, values: Any, name: str | None = None) -> Any:
    """Refuse values that are not numbers."""
    if values.dtype.kind not in "fiub":
        raise refusal("not_numeric", file, name=name or values.name, dtype=values.dtype)
    return values


def check_rows(
    file: Path, opened: Opened, remarks: list[str], missing: list[float] | None = None
) -> tuple[RowStream, np.ndarray]:
    """Read a matrix once, check it, and return it as a stream of float32, with what it lacks.

    `opened` opens the matrix, (n, p): an array, a data set of HDF5 or Zarr, or sparse rows. Sparse
    ones stay so, with an offset of 0, if they take less memory that way and lack no value.
    `missing` are numbers that stand for missing values.
    """
    with opened() as source:
        shape, n_stored = source.shape, getattr(source, "nnz", None)
    if not missing and held_bytes(*shape, n_stored) < held_bytes(*shape):
        counts, n_finite = np.zeros(shape[1], dtype=np.int64), 0
        for rows in _canonical(opened):
            counts += np.bincount(rows.indices, minlength=shape[1])
            n_finite += np.isfinite(rows.data).sum()
        if n_finite == counts.sum():
            return RowStream(shape, lambda: _canonical(opened), counts), np.zeros(shape[1])
        check_size(file, *shape, in_blocks=True)
        remarks.append(say("sparse_lacks"))
    offset, n_infinite = np.zeros(shape[1]), 0
    for at, block in enumerate(map(as_dense, _parts(opened))):
        if at == 0 and block.dtype != np.float32:
            offset = np.nan_to_num(block[0].astype(np.float64), posinf=0, neginf=0)
        n_infinite += int(np.isinf(block).sum())
        large = np.isinf(_to_single(block, offset)) & np.isfinite(block)
        if large.any():
            raise refusal("beyond_single", file, value=block[large][0])
    if n_infinite:
        remarks.append(say("infinite", n=n_infinite))

    def read() -> Iterator[np.ndarray]:
        for values in map(as_dense, _parts(opened)):
            block = _to_single(values, offset)
            if n_infinite or missing:
                lacking = np.isinf(block) | np.isin(values, missing or [])
                block = np.where(lacking, np.float32(np.nan), block)
            yield block

    return RowStream(shape, read), offset


def _to_single(block: np.ndarray, offset: np.ndarray) -> np.ndarray:
    if block.dtype == np.float32:
        return block
    with np.errstate(over="ignore", invalid="ignore"):
        return (block.astype(np.float64) - offset).astype(np.float32)


def _canonical(opened: Opened) -> Iterator[csr_array]:
    for part in _parts(opened):
        with np.errstate(over="ignore"):
            rows = part.astype(np.float32, copy=False)
        rows.sum_duplicates()
        yield rows


def _parts(opened: Opened) -> Iterator[Any]:
    """Read consecutive rows in parts of a size that suits the matrix."""
    with opened() as source:
        n = source.shape[0]
        if hasattr(source, "indptr"):
            stops = np.arange(_STORED_AT_ONCE, source.indptr[-1], _STORED_AT_ONCE)
            edges = np.unique([0, *np.searchsorted(source.indptr, stops), n])
        else:
            height = max(1, _CELLS_AT_ONCE // source.shape[1])
            # Whole chunks, since a chunk that is cut would be read and decompressed twice.
            in_chunk = min((getattr(source, "chunks", None) or (1,))[0], n)
            whole = -(-height // in_chunk) * in_chunk
            is_small = whole * source.shape[1] <= _LARGEST_CHUNKS_CELLS
            edges = [*range(0, n, whole if is_small else height), n]
        for start, stop in pairwise(edges):
            yield source[start:stop]
