"""Reading values in blocks, as float32, and recording missing ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from sparsekm.io.readers.raw_matrix import MOST_LISTED, MatrixError, held_bytes, listed

_CELLS_AT_ONCE = 2**21
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
        if block.dtype != np.float32:
            with np.errstate(over="ignore", invalid="ignore"):
                block = (block.astype(np.float64) - self.offset).astype(np.float32)
        self._gaps.count(block, self.n_rows)
        self.n_rows += len(block)
        return block

    def finish(self, *, can_ignore: bool = False) -> np.ndarray:
        """Check that all values were finite and return the offset, shape (p,).

        `can_ignore` tells whether the setting `ignore` can leave out columns.
        """
        self._gaps.check(self.features, can_ignore=can_ignore)
        return np.zeros(len(self.features)) if self.offset is None else self.offset


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


def collect_rows(
    file: object, source: Any, features: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Read a matrix block by block as float32, and return it with the subtracted offset.

    Parameters
    ----------
    source : array, csr_array or HDF5 data set of shape (n, p)
        A sparse one stays so, with an offset of 0, if it takes less memory that way.
    """
    n_stored = source.nnz if sparse.issparse(source) else None
    if held_bytes(*source.shape, n_stored) < held_bytes(*source.shape):
        return _collect_stored(file, source, features), np.zeros(source.shape[1])
    X = np.empty(source.shape, dtype=np.float32)
    collector = BlockCollector(file, features)
    n_at_once = _rows_at_once(source)
    for start in range(0, len(X), n_at_once):
        rows = source[start : start + n_at_once]
        X[start : start + n_at_once] = collector.convert(
            rows.toarray() if sparse.issparse(rows) else rows
        )
    return X, collector.finish()


def _collect_stored(
    file: object, source: sparse.csr_array, features: Sequence[str]
) -> sparse.csr_array:
    """Return a sparse matrix as float32, in canonical format."""
    with np.errstate(over="ignore"):
        data = source.data.astype(np.float32, copy=False)
    width = np.int32 if max(source.nnz, *source.shape) < 2**31 else np.int64
    indices, indptr = (part.astype(width, copy=False) for part in (source.indices, source.indptr))
    X = sparse.csr_array((data, indices, indptr), shape=source.shape)
    X.sum_duplicates()
    if not np.isfinite(X.data).all():
        gaps = Gaps(file)
        n_at_once = _rows_at_once(X)
        for start in range(0, X.shape[0], n_at_once):
            gaps.count(X[start : start + n_at_once].toarray(), start)
        gaps.check(features)
    return X


def _rows_at_once(source: Any) -> int:
    n_at_once = max(1, _CELLS_AT_ONCE // source.shape[1])
    chunks = getattr(source, "chunks", None)
    if chunks is None:
        return n_at_once
    # Whole chunks, since a chunk that is cut would be read and decompressed twice.
    in_chunk = min(chunks[0], source.shape[0])
    whole = -(-n_at_once // in_chunk) * in_chunk
    return whole if whole * source.shape[1] <= _LARGEST_CHUNKS_CELLS else n_at_once
