"""The matrix of a ``normalised.h5ad``: written by blocks of rows, and read by rows on demand.

In the file it is an array, or AnnData's ``csr_matrix``, without chunks, so that it can be mapped
into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.sparse import csr_array, vstack

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.hdf5_format import DamagedFileError, find_array, open_checked
from sparsekm.io.row_stream import RowStream

RULE = "normalise_expression (of an age) or normalise_matrix"
NUMBERS_AT_ONCE = 2**22
"""How many numbers of a matrix are processed together: 32 MB in double precision."""


def write_rows(opened: h5py.File, name: str, X: RowStream) -> None:
    """Write a matrix block by block, a sparse one with columns ascending in a row, none twice."""
    if not X.is_sparse:
        array = opened.create_dataset(name, X.shape, np.float32)
        array.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        for rows, block in X.blocks():
            array[rows] = block
        return
    group = opened.create_group(name)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
    group.attrs["shape"] = X.shape
    n_stored = int(X.n_stored.sum())
    width = _index_type(X)
    data = group.create_dataset("data", (n_stored,), np.float32)
    indices = group.create_dataset("indices", (n_stored,), width)
    starts = np.zeros(X.shape[0] + 1, dtype=width)
    for rows, block in X.blocks():
        first = starts[rows.start]
        starts[rows.start + 1 : rows.stop + 1] = first + block.indptr[1:].astype(width)
        stored = slice(int(first), int(starts[rows.stop]))
        data[stored], indices[stored] = block.data, block.indices
    group["indptr"] = starts


def file_bytes(X: RowStream) -> int:
    """Return how many bytes of a file a matrix takes, apart from the starts of its rows."""
    if X.is_sparse:
        return int(X.n_stored.sum()) * (4 + np.dtype(_index_type(X)).itemsize)
    return 4 * X.shape[0] * X.shape[1]


def _index_type(X: RowStream) -> type:
    return np.int32 if max(X.n_stored.sum(), *X.shape) < 2**31 else np.int64


class StoredRows:
    """A matrix in an open file, not yet read, after checks of what the file declares.

    `nbytes` is its size, in the file and in memory.
    """

    def __init__(self, opened: h5py.File, name: str, rule: str) -> None:
        self._opened, self._name, self._rule = opened, name, rule
        group = opened.get(name)
        self.is_sparse = isinstance(group, h5py.Group)
        if not self.is_sparse:
            self._array = find_array(opened, name, kind="f", shape=(None, None), rule=rule)
            self.shape, self.nbytes = self._array.shape, self._array.nbytes
            return
        shape = np.ravel(group.attrs.get("shape", ()))
        if group.attrs.get("encoding-type") != "csr_matrix" or shape.size != 2:
            raise self._damaged("is not a csr_matrix")
        self.shape = (int(shape[0]), int(shape[1]))
        self._data = find_array(group, "data", kind="f", shape=(None,), rule=rule)
        self._indices = find_array(group, "indices", kind="i", shape=self._data.shape, rule=rule)
        starts = find_array(group, "indptr", kind="i", shape=(self.shape[0] + 1,), rule=rule)
        self.nbytes = self._data.nbytes + self._indices.nbytes + starts.nbytes
        self._starts = starts[()]
        if self._starts[0] != 0 or self._starts[-1] != len(self._data):
            raise self._damaged("has rows that do not add up")
        if (np.diff(self._starts) < 0).any():
            raise self._damaged("has rows of negative length")

    def read(self, *, in_memory: bool = True) -> np.ndarray | csr_array:
        """Return the whole matrix as float32.

        An array is read into memory or mapped, a sparse matrix is always mapped: a job often needs
        only a sample of its rows, and the system keeps in memory what is used again. Values are
        checked; those of a mapped array are checked when they are first used.
        """
        if self.is_sparse:
            for start, stop in self._blocks():
                self._check_values(self.read_some(start, stop).data)
            data = _map(self._data).astype(np.float32, copy=False)
            return csr_array((data, _map(self._indices), self._starts), shape=self.shape)
        if not in_memory:
            return _map(self._array)
        X = self._array[()].astype(np.float32, copy=False)
        self._check_values(X)
        return X

    def read_some(self, start: int, stop: int) -> np.ndarray | csr_array:
        """Read consecutive rows."""
        if not self.is_sparse:
            return self._array[start:stop]
        starts = self._starts[start : stop + 1]
        stored = slice(int(starts[0]), int(starts[-1]))
        indices = self._indices[stored]
        if indices.size and not (indices.min() >= 0 and indices.max() < self.shape[1]):
            raise self._damaged(f"should have columns in [0, {self.shape[1]})")
        parts = self._data[stored], indices, starts - starts[0]
        rows = csr_array(parts, shape=(stop - start, self.shape[1]))
        if not rows.has_canonical_format:
            raise self._damaged("has columns out of order")
        return rows

    def take(self, rows: np.ndarray) -> np.ndarray | csr_array:
        """Read some rows, ascending, as float32."""
        parts = []
        for start, stop in self._blocks():
            first, last = np.searchsorted(rows, [start, stop])
            if first < last:
                part = self.read_some(start, stop)[rows[first:last] - start]
                self._check_values(part.data if self.is_sparse else part)
                parts.append(part.astype(np.float32, copy=False))
        return vstack(parts, format="csr") if self.is_sparse else np.concatenate(parts)

    def _blocks(self) -> Iterator[tuple[int, int]]:
        """Yield where blocks of rows start and stop, each with few enough values."""
        n_samples, n_features = self.shape
        starts = self._starts if self.is_sparse else np.arange(n_samples + 1) * n_features
        start = 0
        while start < n_samples:
            most = starts[start] + NUMBERS_AT_ONCE
            stop = max(start + 1, int(np.searchsorted(starts, most, side="right")) - 1)
            yield start, stop
            start = stop

    def _check_values(self, values: np.ndarray) -> None:
        # NaN and infinity carry through sums of the extremes, without a second array.
        if values.size and not np.isfinite([values.min(), values.max()]).all():
            raise self._damaged("contains NaN or infinity")

    def _damaged(self, problem: str) -> DamagedFileError:
        return DamagedFileError(self._opened.filename, f"{self._name} {problem}", self._rule)


def _map(stored: h5py.Dataset) -> np.ndarray:
    """Map an array of a file into memory, where what is written stays; read one cut into chunks."""
    offset = stored.id.get_offset()
    if offset is None:
        return stored[()]
    return np.memmap(stored.file.filename, stored.dtype, "c", offset, stored.shape)


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
                values[above - start : below - start] = self._centre(stored.read_some(above, below))
        return values

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read some rows, ascending."""
        with open_checked(self._file, RULE) as opened:
            return self._centre(StoredRows(opened, "X", RULE).take(rows))

    def _centre(self, part: np.ndarray | csr_array) -> np.ndarray:
        chosen = as_dense(part[:, self._columns])
        if self._center is not None:
            chosen = chosen - self._center[self._columns]
        return chosen.astype(np.float32, copy=False)

    def select(self, columns: np.ndarray) -> RowSource:
        """Select columns, in memory if they are small enough, otherwise as another `MatrixFile`."""
        chosen = object.__new__(MatrixFile)
        chosen.__dict__.update(self.__dict__)
        chosen._columns = np.asarray(columns, dtype=np.intp)
        chosen.shape = (self.shape[0], chosen._columns.size)
        return chosen[:] if chosen.shape[0] * chosen.shape[1] <= NUMBERS_AT_ONCE else chosen


RowSource = np.ndarray | MatrixFile
"""A matrix of shape (n, p), in memory or not: ``source[start:stop]`` returns an array."""
