"""Reading values in blocks, as float32; what is missing or infinite becomes NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.readers.raw_matrix import MatrixError, check_size, held_bytes
from sparsekm.io.row_stream import RowStream

_CELLS_AT_ONCE = 2**21
_STORED_AT_ONCE = 2**22
_LARGEST_CHUNKS_CELLS = 2**25

Opened = Callable[[], AbstractContextManager[Any]]


def check_rows(file: object, opened: Opened, remarks: list[str]) -> tuple[RowStream, np.ndarray]:
    """Read a matrix once, check it, and return it as a stream of float32, with what it lacks.

    `opened` opens the matrix, (n, p): an array, a data set of HDF5 or Zarr, or sparse rows. Sparse
    ones stay so, with an offset of 0, if they take less memory that way.
    """
    with opened() as source:
        shape = source.shape
        n_stored = source.nnz if hasattr(source, "nnz") else None
    if held_bytes(*shape, n_stored) < held_bytes(*shape):
        return _check_stored(file, opened, shape[1]), np.zeros(shape[1])
    offset, n_infinite = None, 0
    for part in _parts(opened):
        block = as_dense(part)
        if offset is None:
            offset = np.zeros(shape[1])
            if block.dtype != np.float32 and len(block):
                offset = np.nan_to_num(block[0].astype(np.float64), posinf=0, neginf=0)
        n_infinite += int(np.isinf(block).sum())
        large = np.isinf(_to_single(block, offset)) & np.isfinite(block)
        if large.any():
            raise MatrixError(
                f"{file}: {block[large][0]} is beyond the range of single precision; every value "
                "should be within it."
            )
    if n_infinite:
        remarks.append(
            f"{n_infinite} infinite values, such as the logarithm of zero, count as missing."
        )
    offset = np.zeros(shape[1]) if offset is None else offset

    def read() -> Iterator[np.ndarray]:
        for part in _parts(opened):
            block = _to_single(as_dense(part), offset)
            yield np.where(np.isinf(block), np.float32(np.nan), block) if n_infinite else block

    return RowStream(shape, read), offset


def transposed(file: object, X: RowStream, offset: np.ndarray) -> tuple[RowStream, np.ndarray]:
    """Return a matrix of (features, samples) the other way around, in memory."""
    p, n = X.shape
    check_size(file, n, p, None if X.n_stored is None else int(X.n_stored.sum()))
    held = X.collect()
    if X.is_sparse:
        return RowStream.of(csr_array(held.T)), np.zeros(p)
    if not offset.any():
        return RowStream.of(np.ascontiguousarray(held.T)), np.zeros(p)
    shift = np.nan_to_num(held[:, 0].astype(np.float64) + offset[0])
    for at in range(p):
        held[at] = held[at].astype(np.float64) + offset - shift[at]
    return RowStream.of(np.ascontiguousarray(held.T)), shift


def _to_single(block: np.ndarray, offset: np.ndarray) -> np.ndarray:
    if block.dtype == np.float32:
        return block
    with np.errstate(over="ignore", invalid="ignore"):
        return (block.astype(np.float64) - offset).astype(np.float32)


def _check_stored(file: object, opened: Opened, n_features: int) -> RowStream:
    """Check a sparse matrix, which is streamed in canonical format."""

    def read() -> Iterator[csr_array]:
        for part in _parts(opened):
            with np.errstate(over="ignore"):
                rows = part.astype(np.float32, copy=False)
            rows.sum_duplicates()
            yield rows

    start = 0
    n_stored = np.zeros(n_features, dtype=np.int64)
    for rows in read():
        n_stored += np.bincount(rows.indices, minlength=n_features)
        bad = np.flatnonzero(~np.isfinite(rows.data))
        if len(bad):
            sample = start + int(np.searchsorted(rows.indptr, bad[0], side="right"))
            raise MatrixError(
                f"{file}: {len(bad)} missing or infinite values in a sparse matrix, the first at "
                f"sample {sample}, feature {rows.indices[bad[0]] + 1}. Every value should be "
                "finite "
                "(in the range of float32): store the matrix as an array (adata.X = "
                "adata.X.toarray()), or write 0 for them."
            )
        start += rows.shape[0]
    return RowStream((start, n_features), read, n_stored)


def _parts(opened: Opened) -> Iterator[Any]:
    """Read consecutive rows in parts of a size that suits the matrix."""
    with opened() as source:
        if hasattr(source, "indptr"):
            stops = np.arange(_STORED_AT_ONCE, source.indptr[-1], _STORED_AT_ONCE)
            edges = np.unique([0, *np.searchsorted(source.indptr, stops), source.shape[0]])
        else:
            edges = [*range(0, source.shape[0], _rows_at_once(source)), source.shape[0]]
        for start, stop in pairwise(edges):
            yield source[start:stop]


def _rows_at_once(source: Any) -> int:
    n_at_once = max(1, _CELLS_AT_ONCE // source.shape[1])
    chunks = getattr(source, "chunks", None)
    if chunks is None:
        return n_at_once
    # Whole chunks, since a chunk that is cut would be read and decompressed twice.
    in_chunk = min(chunks[0], source.shape[0])
    whole = -(-n_at_once // in_chunk) * in_chunk
    return whole if whole * source.shape[1] <= _LARGEST_CHUNKS_CELLS else n_at_once
