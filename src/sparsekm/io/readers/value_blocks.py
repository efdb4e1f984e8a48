"""Reading values in blocks, as float32, and recording missing ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.readers.raw_matrix import MOST_LISTED, MatrixError, held_bytes, listed
from sparsekm.io.row_stream import RowStream

_CELLS_AT_ONCE = 2**21
_STORED_AT_ONCE = 2**22
_LARGEST_CHUNKS_CELLS = 2**25


class BlockCollector:
    """Converts blocks of rows to float32 and records missing values.

    Blocks keep the peak memory close to one float32 matrix, whatever the type in the file.
    """

    def __init__(self, file: object, features: Sequence[str]) -> None:
        self.file = file
        self.features = features
        self.offset: np.ndarray | None = None
        self.n_rows = 0
        self._gaps = Gaps(file)

    def convert(self, block: np.ndarray) -> np.ndarray:
        """Convert a block of rows to float32, minus the first row unless already float32."""
        if self.offset is None:
            self.offset = np.zeros(block.shape[1])
            if block.dtype != np.float32 and len(block):
                self.offset = np.nan_to_num(block[0].astype(np.float64), posinf=0, neginf=0)
        block = _to_single(block, self.offset)
        self._gaps.count(block, self.n_rows)
        self.n_rows += len(block)
        return block

    def finish(self, *, can_ignore: bool = False) -> np.ndarray:
        """Check that all values were finite and return the offset, shape (p,).

        `can_ignore` tells whether the setting `ignore` can leave out columns.
        """
        self._gaps.check(self.features, can_ignore=can_ignore)
        return np.zeros(len(self.features)) if self.offset is None else self.offset


def _to_single(block: np.ndarray, offset: np.ndarray) -> np.ndarray:
    if block.dtype == np.float32:
        return block
    with np.errstate(over="ignore", invalid="ignore"):
        return (block.astype(np.float64) - offset).astype(np.float32)


class Gaps:
    """Counts missing and infinite values block by block, and records where they are."""

    def __init__(self, file: object) -> None:
        self.file = file
        self._found = {"missing": _Found(), "infinite": _Found()}

    def count(self, block: np.ndarray, first_sample: int = 0, first_feature: int = 0) -> None:
        """Examine a block, shape (samples, features), at this position in the matrix."""
        if np.isfinite(block).all():
            return
        for kind, bad in (("missing", np.isnan(block)), ("infinite", np.isinf(block))):
            if bad.any():
                found = self._found[kind]
                found.n_values += int(bad.sum())
                row, column = (int(at[0]) for at in np.nonzero(bad))
                found.first = found.first or (first_sample + row, first_feature + column)
                found.features.update((first_feature + np.flatnonzero(bad.any(axis=0))).tolist())

    def check(self, features: Sequence[str], *, can_ignore: bool = False) -> None:
        """Refuse a matrix with missing values; the message gives the first one and a remedy."""
        for kind, found in self._found.items():
            if found.first is None:
                continue
            row, column = found.first
            cure = "Impute them first"
            if can_ignore and len(found.features) <= min(MOST_LISTED, len(features) - 1):
                cure += (
                    ", or leave their features out: "
                    f"ignore: {listed(features[at] for at in sorted(found.features))}"
                )
            raise MatrixError(
                f"{self.file}: {found.n_values} {kind} values, the first at sample {row + 1}, "
                f"feature {features[column]!r}, in {len(found.features)} of {len(features)} "
                "features. Every value should be finite (in the range of float32). "
                f"{cure}."
            )


@dataclass
class _Found:
    n_values: int = 0
    first: tuple[int, int] | None = None
    features: set[int] = field(default_factory=set)


def check_rows(
    file: object, opened: Callable[[], AbstractContextManager[Any]], features: Sequence[str]
) -> tuple[RowStream, np.ndarray]:
    """Read a matrix once, check it, and return it as a stream of float32, with what it lacks.

    `opened` opens the matrix, (n, p): an array, a data set of HDF5 or Zarr, or sparse rows. Sparse
    ones stay so, with an offset of 0, if they take less memory that way.
    """
    with opened() as source:
        shape = source.shape
        n_stored = source.nnz if hasattr(source, "nnz") else None
    if held_bytes(*shape, n_stored) < held_bytes(*shape):
        return _check_stored(file, opened, features), np.zeros(shape[1])
    collector = BlockCollector(file, features)
    for part in _parts(opened):
        collector.convert(as_dense(part))
    offset = collector.finish()

    def read() -> Iterator[np.ndarray]:
        for part in _parts(opened):
            yield _to_single(as_dense(part), offset)

    return RowStream(shape, read), offset


def _check_stored(
    file: object, opened: Callable[[], AbstractContextManager[Any]], features: Sequence[str]
) -> RowStream:
    """Check a sparse matrix, which is streamed in canonical format."""

    def read() -> Iterator[csr_array]:
        for part in _parts(opened):
            with np.errstate(over="ignore"):
                rows = part.astype(np.float32, copy=False)
            rows.sum_duplicates()
            yield rows

    gaps, start = Gaps(file), 0
    height = max(1, _CELLS_AT_ONCE // len(features))
    n_stored = np.zeros(len(features), dtype=np.int64)
    for rows in read():
        n_stored += np.bincount(rows.indices, minlength=len(features))
        if not np.isfinite(rows.data).all():
            for above in range(0, rows.shape[0], height):
                gaps.count(rows[above : above + height].toarray(), start + above)
        start += rows.shape[0]
    gaps.check(features)
    return RowStream((start, len(features)), read, n_stored)


def _parts(opened: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
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
