"""A sparse matrix, centred without being made dense: only stored values are read.

Centring adds the same to all samples of a cluster, so sums, norms and distances follow from the
stored values and a correction by the feature means. Sums run over the samples in ascending
order, in float64.
"""

from __future__ import annotations

import mmap
from copy import copy
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.dense_parts import feature_variances, stored_bytes
from sparsekm.cluster.matrices.matrix import (
    CentredMatrix,
    FeatureMatrix,
    add_to_sums,
    cluster_sizes,
    subtract_means,
)
from sparsekm.cluster.matrices.sample_rows import SparseRows, sparse_rows
from sparsekm.runtime.compiled import compiled


@compiled
def summarise_columns(data, indices, indptr, totals, counts, first, same):
    """Write the sum, count and first value of every column, and whether all values are equal.

    Returns the largest absolute value.
    """
    largest = 0.0
    for q in range(indptr[0], indptr[-1]):
        j = indices[q]
        x = np.float64(data[q])
        if counts[j] == 0:
            first[j] = x
        elif x != first[j]:
            same[j] = False
        totals[j] += x
        counts[j] += 1
        largest = max(largest, abs(x))
    return largest


@compiled
def sum_samples(data, indices, indptr, labels, sums):
    """Add every sample to the sums (n_features, n_clusters) of its cluster."""
    # The sums of one cluster for the features that a sample stores are close in memory.
    by_cluster = np.ascontiguousarray(sums.T)
    for i in range(len(labels)):
        own = by_cluster[labels[i]]
        for q in range(indptr[i], indptr[i + 1]):
            own[indices[q]] += data[q]
    sums[:] = by_cluster.T


@compiled
def move_samples(data, indices, indptr, movers, before, after, sums):
    """Take samples out of the sums of one cluster and add them to those of another."""
    for i in movers:
        a = before[i]
        b = after[i]
        for q in range(indptr[i], indptr[i + 1]):
            x = data[q]
            row = sums[indices[q]]
            row[a] -= x
            row[b] += x


@compiled
def add_distances(data, indices, indptr, points, values, labels, distances):
    """Add the contributions of stored values to the distances of zeros to points."""
    for i in range(len(distances)):
        k = labels[i]
        total = distances[i]
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            x = np.float64(data[q])
            total += values[j] * x * (x - 2.0 * points[j, k])
        distances[i] = total


@compiled
def copy_columns(data, indices, indptr, places, new_data, new_indices, new_indptr):
    """Copy the stored values of features with a new position; it is negative for the others.

    The arrays of values and indices are one longer than the copied part.
    """
    end = new_indptr[0]
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1]):
            place = places[indices[q]]
            new_data[end] = data[q]
            new_indices[end] = place
            # There is no branch here, because it would be mispredicted.
            end += place >= 0
        new_indptr[i + 1] = end


# Features with at least this share of stored values are faster to read as dense arrays.
DENSE_SHARE = 0.4
# Searches of few samples read them as dense arrays if there are few values, or if this share is
# stored and the dense array in float64 takes no more memory than the stored values.
FEW_VALUES = 2**20
SEARCHED_SHARE = 0.05
MOST_DENSE_BYTES = 2**28
# The number of samples that are copied, or read from disk, at a time.
SAMPLES_AT_ONCE = 4096


class SparseBlock:
    """Some samples of a sparse matrix, centred implicitly by subtracting `means` from each.

    ``numpy.asarray`` makes an array (n_features, n_samples) of it; `rows` are samples as stored.
    """

    def __init__(self, rows: csr_array, means: np.ndarray) -> None:
        self.rows, self.means, self.dtype = rows, means, rows.dtype
        self.shape = len(means), rows.shape[0]
        self.stored = rows.data, rows.indices, rows.indptr

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        columns = self.rows.T.toarray(order="C")
        subtract_means(columns, self.means)
        return columns if dtype is None else columns.astype(dtype, copy=False)

    def __getitem__(self, places: tuple[slice, slice]) -> SparseBlock:
        """Return a slice of the samples, with all features."""
        return SparseBlock(self.rows[places[1]], self.means)

    def add_to_sums(self, labels: np.ndarray, sums: np.ndarray) -> None:
        """Add every sample to the sums (n_features, n_clusters) of its cluster, in place."""
        sum_samples(*self.stored, labels, sums)
        sums -= self.means[:, None] * np.bincount(labels, minlength=sums.shape[1])

    def move_between_sums(self, movers, before, after, sums: np.ndarray) -> None:
        """Move samples from the sums of one cluster to those of another, in place."""
        move_samples(*self.stored, movers, before, after, sums)
        n_clusters = sums.shape[1]
        gained = np.bincount(after[movers], minlength=n_clusters)
        gained -= np.bincount(before[movers], minlength=n_clusters)
        sums -= self.means[:, None] * gained

    def divide(self, scales: np.ndarray) -> SparseBlock:
        """Return the block with every feature divided by its scale; the dtype stays."""
        data, indices, indptr = self.stored
        values = data / scales.astype(self.dtype)[indices]
        rows = csr_array((values, indices, indptr), self.rows.shape)
        return SparseBlock(rows, self.means / scales)

    def add_distances(self, values, centers, labels, distances: np.ndarray) -> None:
        """Add the weighted squared distances of the samples to their centres, in place."""
        points = self.means[:, None] + centers
        distances += (values @ points**2)[labels]
        add_distances(*self.stored, points, values, labels, distances)


Block = np.ndarray | SparseBlock


class SparseMatrix(FeatureMatrix):
    """A sparse data matrix in canonical format, not changed, with its means removed implicitly.

    A few samples, and features with many stored values, are returned as dense arrays, bit-identical
    to those of the dense matrix.
    """

    def __init__(self, X: csr_array) -> None:
        self.n_samples, self.n_features = X.shape
        self.dtype = X.dtype
        totals, first = np.zeros((2, self.n_features))
        self._counts = np.zeros(self.n_features, np.int64)
        same = np.ones(self.n_features, np.bool_)
        largest = summarise_columns(X.data, X.indices, X.indptr, totals, self._counts, first, same)
        constant = same & ((self._counts == self.n_samples) | (first == 0))
        # The mean of a constant feature is exactly its value, not a rounded quotient.
        self.means = np.where(constant, first, totals / self.n_samples)
        self.largest, self.constant = 2.0 * largest, constant
        if first[constant].any():
            # Its scores are exactly 0 if it is stored as centred.
            X = csr_array((X.data.copy(), X.indices, X.indptr), X.shape)
            X.data[constant[X.indices]] = 0
        self._rows = X
        self._release()
        self._shift = np.where(constant, 0.0, self.means)

    @property
    def block(self) -> SparseBlock:
        """All samples; constant features are 0."""
        return SparseBlock(self._rows, self._shift)

    def select(self, features: np.ndarray) -> CentredMatrix | SparseMatrix:
        """Copy some features; dense if faster and no larger."""
        if len(features) == self.n_features:
            return self
        n_values, counts = self.n_samples * len(features), self._counts[features]
        block = SparseBlock(self._copy_columns(features), self._shift[features])
        means = self.means[features]
        fits = n_values * self.dtype.itemsize <= stored_bytes(self._rows)
        if fits and counts.sum() >= DENSE_SHARE * n_values:
            return CentredMatrix.from_columns(np.asarray(block), means)
        return self._derive(
            n_features=len(features),
            means=means,
            constant=self.constant[features],
            _rows=block.rows,
            _shift=block.means,
            _counts=counts,
        )

    def keep(self, features: np.ndarray) -> SparseMatrix:
        """Return the sparse matrix of some features, ascending, as if X had only these."""
        return SparseMatrix(self._copy_columns(features))

    def take(self, samples: np.ndarray) -> CentredMatrix | SparseMatrix:
        """Copy some samples; dense if faster."""
        rows = self._rows[samples]
        n_values = len(samples) * self.n_features
        dense_enough = rows.nnz >= SEARCHED_SHARE * n_values and n_values * 8 <= MOST_DENSE_BYTES
        if n_values <= FEW_VALUES or dense_enough:
            columns = np.asarray(SparseBlock(rows, self._shift))
            return CentredMatrix.from_columns(columns, self.means)
        counts = np.bincount(rows.indices, minlength=self.n_features)
        return self._derive(n_samples=len(samples), _rows=rows, _counts=counts)

    def _derive(self, **others: Any) -> SparseMatrix:
        derived = copy(self)
        derived.__dict__.update(others)
        return derived

    @property
    def squares(self) -> np.ndarray:
        """The sum of squares of every feature about its mean."""
        return feature_variances(self._rows) * self.n_samples

    @property
    def rows(self) -> SparseRows:
        """The samples as kernels read them."""
        X, full = self._rows, self._counts == self.n_samples
        # One dtype of each array, so that kernels are compiled once.
        data = X.data.astype(np.float64)
        if full.any():
            data -= np.where(full, self._shift, 0.0)[X.indices]
        return sparse_rows(data, X.indices.astype(np.int32), X.indptr.astype(np.int64), self.shape)

    def _copy_columns(self, features: np.ndarray) -> csr_array:
        """Copy the stored values of some features, block by block."""
        rows, n_stored = self._rows, int(self._counts[features].sum())
        data, indices = (np.empty(n_stored + 1, part.dtype) for part in (rows.data, rows.indices))
        indptr, places = np.zeros_like(rows.indptr), np.full(self.n_features, -1, np.int32)
        places[features] = np.arange(len(features))
        for start in range(0, self.n_samples, SAMPLES_AT_ONCE):
            these = slice(start, start + SAMPLES_AT_ONCE + 1)
            old = rows.data, rows.indices, rows.indptr[these]
            copy_columns(*old, places, data, indices, indptr[these])
            self._release()
        return csr_array((data[:-1], indices[:-1], indptr), (self.n_samples, len(features)))

    def _release(self) -> None:
        """Release the pages of a mapped file; they are read again when needed."""
        for values in (self._rows.data, self._rows.indices):
            while isinstance(values, np.ndarray):
                values = values.base
            if isinstance(values, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                values.madvise(mmap.MADV_DONTNEED)


def as_matrix(X: np.ndarray | csr_array, *, copy: bool = True) -> CentredMatrix | SparseMatrix:
    """Return checked data in the form that the engine needs; `copy` as in `CentredMatrix`."""
    return SparseMatrix(X) if issparse(X) else CentredMatrix(X, copy=copy)


def centred_block(X: np.ndarray | csr_array, means: np.ndarray) -> np.ndarray | SparseBlock:
    """Return checked data as one block, minus the means of their features."""
    if issparse(X):
        return SparseBlock(X, means)
    return np.ascontiguousarray((X - means).T, dtype=X.dtype)


def cluster_centers(X: np.ndarray | csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average every cluster, float64 of shape (n_clusters, n_features); an empty one has NaN."""
    sizes = cluster_sizes(labels, n_clusters).astype(float)
    sizes[sizes == 0] = np.nan
    sums = np.zeros((X.shape[1], n_clusters))
    if issparse(X):
        sum_samples(X.data, X.indices, X.indptr, labels, sums)
        return (sums / sizes).T
    height = SAMPLES_AT_ONCE if isinstance(X, np.memmap) else max(1, len(X))
    for start in range(0, len(X), height):
        rows = slice(start, start + height)
        add_to_sums(np.asarray(X[rows]).T, labels[rows], sums)
    return (sums / sizes).T
