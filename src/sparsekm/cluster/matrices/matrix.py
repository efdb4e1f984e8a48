r"""Centred data in memory, and the sums over clusters that give the scores :math:`a_j`.

With :math:`S_{jk}` the sum of feature j over cluster k of a centred matrix and :math:`n_k` the size
of the cluster, the between-cluster sum of squares of feature j is

.. math:: a_j = \sum_k S_{jk}^2 / n_k - (\sum_k S_{jk})^2 / n ,

half of the paper's defining double sum (its Lemma 1). Every sum runs over the samples in ascending
order in float64: the bits depend on neither threads nor blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from sparsekm.cluster.matrices.dense_parts import feature_variances
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import one_blas_thread, run_in_slices, worth_a_thread

# Sums of squares of values up to this power of two, or down to its inverse, fit into float32.
MOST_POWER = 30


class FeatureMatrix:
    """The interface of dense, sparse and streamed matrices."""

    # The weights of samples, if they differ: (n_samples,), positive.
    sample_weight: np.ndarray | None = None
    n_samples: int
    n_features: int
    dtype: np.dtype
    means: np.ndarray  # (n_features,), float64
    constant: Any  # (n_features,), bool: which features have only one value
    largest: Any  # no value is farther from the mean of its feature
    rows: Any  # the samples as the kernels for few of them read them
    squares: Any  # (n_features,), float64: sums of squares about the means
    block: Any  # all samples as one block, if they are in memory
    # (features): the matrix of some features, ascending; itself if they are all.
    select: Any
    take: Any  # (samples): the matrix of some samples, with the same centring

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and features."""
        return self.n_samples, self.n_features

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Go through the centred values, block by block.

        Yields
        ------
        start : int
            The first sample of the block.
        columns : ndarray of shape (n_features, n_samples_of_block)
            Its centred values.
        """
        yield 0, self.block

    def in_unit(self) -> tuple[Any, float]:
        """Divide the values by a number, so that their squares do not overflow in single precision.

        Returns
        -------
        matrix : FeatureMatrix
            The divided matrix; a sparse matrix is returned unchanged.
        unit : float
            The number.
        """
        return self, 1.0

    def keep(self, features: np.ndarray) -> Any:
        """Select features.

        For a sparse matrix, the result of `select` can share memory with this matrix, and the
        result of `keep` never does. For other matrices, both are the same.

        Parameters
        ----------
        features : ndarray of int
            Their indices, ascending.

        Returns
        -------
        FeatureMatrix
            The matrix of these features.
        """
        return self.select(features)


class CentredMatrix(FeatureMatrix):
    """A data matrix in memory with its feature means removed.

    Centring keeps between-cluster sums of squares exact when the means are large compared with the
    spread. `columns` (n_features, n_samples) are the centred data, feature after feature in memory,
    in the dtype of `X`. With `copy` false, an `X` that is contiguous by columns is centred in
    place.
    """

    def __init__(self, X: np.ndarray, *, copy: bool = True) -> None:
        columns = np.ascontiguousarray(X.T)
        if copy and np.shares_memory(columns, X):
            columns = columns.copy()
        means, self.constant = average_features([columns], len(columns))
        subtract_means(columns, means)
        self._set(columns, means)

    def _set(self, columns, means) -> None:
        self.columns, self.means, self.dtype = columns, means, columns.dtype
        self.n_features, self.n_samples = columns.shape

    @classmethod
    def from_columns(cls, columns: np.ndarray, means: np.ndarray) -> CentredMatrix:
        """Take an array (n_features, n_samples) that is centred already, without a copy."""
        matrix = cls.__new__(cls)
        matrix._set(columns, means)
        return matrix

    @cached_property
    def constant(self) -> np.ndarray:
        """Which features are 0 everywhere."""
        return ~self.columns.any(axis=1)

    @cached_property
    def largest(self) -> float:
        """Largest absolute value; NaN if the means were beyond the range of the dtype."""
        return float(np.maximum(self.columns.max(), -self.columns.min()))

    @cached_property
    def rows(self) -> np.ndarray:
        """The same data, sample after sample; they are made at the first use."""
        return np.ascontiguousarray(self.columns.T)

    @cached_property
    def squares(self) -> np.ndarray:
        """The sum of squares of every feature."""
        return feature_variances(self.columns.T) * self.n_samples

    @property
    def block(self) -> np.ndarray:
        """All samples as one block."""
        return self.columns

    def select(self, features: np.ndarray) -> CentredMatrix:
        """Copy some features."""
        if len(features) == self.n_features:
            return self
        return self.from_columns(self.columns[features], self.means[features])

    def take(self, samples: np.ndarray) -> CentredMatrix:
        """Copy some samples."""
        columns = np.empty((self.n_features, len(samples)), self.dtype)
        np.take(self.columns, samples, axis=1, out=columns, mode="clip")
        return self.from_columns(columns, self.means)

    def in_unit(self) -> tuple[CentredMatrix, float]:
        """Divide by a power of two, which changes no bits; by 1 if float32 holds the squares."""
        power = int(np.frexp(self.largest)[1])
        if abs(power) <= MOST_POWER:
            return self, 1.0
        unit = 2.0**power
        return self.from_columns(self.columns / self.dtype.type(unit), self.means / unit), unit


def average_features(blocks: Iterable, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return feature means, and which features are constant, over blocks of columns in their order.

    The mean of a constant feature is exactly its value, because its scores must be 0.
    """
    totals, first = np.zeros((2, n_features))
    constant = np.ones(n_features, np.bool_)
    n_samples = 0
    for columns in blocks:
        if n_samples == 0:
            first[:] = columns[:, 0]
        n_samples += columns.shape[1]
        _add_columns(columns, totals, first, constant)
    return np.where(constant, first, totals / n_samples), constant


@compiled
def _add_columns(columns, totals, first, constant):
    p, n = columns.shape
    for j in range(p):
        column = columns[j]
        total = totals[j]
        same = constant[j]
        for i in range(n):
            total += column[i]
            if column[i] != first[j]:
                same = False
        totals[j] = total
        constant[j] = same


@compiled
def subtract_means(columns, means):
    """Subtract the mean of every feature from columns (n_features, n_samples), in place."""
    p, n = columns.shape
    for j in range(p):
        column = columns[j]
        mean = means[j]
        for i in range(n):
            column[i] = column[i] - mean


# A squared norm below this share of the largest consists of rounding errors.
ROUNDING = 1e-13


def embed_samples(columns: np.ndarray) -> np.ndarray:
    """Embed samples isometrically in (n_samples, rank): the pivoted Cholesky factor of products.

    If all features have the same weight, only the inner products of the samples matter.
    """
    exact = np.asarray(columns, dtype=np.float64)
    with one_blas_thread:
        products = exact.T @ exact
        least = ROUNDING * products.diagonal().max()
        factor, pivots, rank, _ = dpstrf(products, tol=least, lower=1)
    embedded = np.empty((len(products), rank), columns.dtype)
    # LAPACK counts from 1, and does not change values above the diagonal and beyond the rank.
    embedded[pivots - 1] = np.tril(factor)[:, :rank]
    return embedded


def cluster_sizes(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Count the samples of every cluster, shape (n_clusters,)."""
    return np.bincount(labels, minlength=n_clusters)


def matrix_sums(matrix: FeatureMatrix, labels, n_clusters, n_threads=1) -> np.ndarray:
    """Sum every feature over every cluster, float64 of shape (n_features, n_clusters)."""
    sums = np.zeros((matrix.n_features, n_clusters))
    for start, columns in matrix.blocks():
        add_to_sums(columns, labels[start : start + columns.shape[1]], sums, n_threads)
    return sums


def feature_scores(matrix: FeatureMatrix, labels, n_clusters, n_threads=1) -> np.ndarray:
    """Compute the scores a_j, shape (n_features,), of a centred matrix under a partition."""
    sums = matrix_sums(matrix, labels, n_clusters, n_threads)
    return scores_from_sums(sums, cluster_sizes(labels, n_clusters))


def add_to_sums(columns: Any, labels: np.ndarray, sums: np.ndarray, n_threads: int = 1) -> None:
    """Add every sample of a block to the sums (n_features, n_clusters) of its cluster, in place."""
    if not isinstance(columns, np.ndarray):
        columns.add_to_sums(labels, sums)
        return
    labels = labels.astype(np.int32, copy=False)
    run_in_slices(
        lambda start, stop: _sum_columns(columns, labels, start, stop, sums),
        columns.shape[0],
        n_threads,
        worth_a_thread(len(labels)),
    )


def move_between_sums(columns: Any, before, after, sums: np.ndarray, n_threads: int = 1) -> None:
    """Update cluster sums, in place, for the samples of a block that changed their cluster."""
    movers = np.flatnonzero(after != before)
    if not isinstance(columns, np.ndarray):
        columns.move_between_sums(movers, before, after, sums)
        return
    run_in_slices(
        lambda start, stop: _move_columns(columns, movers, before, after, start, stop, sums),
        columns.shape[0],
        n_threads,
        worth_a_thread(len(movers)),
    )


# With four features at a time, a label or a moved sample is looked up once for four sums. Each sum
# still runs over the samples in their order.


@compiled
def _sum_columns(columns, labels, start, stop, sums):
    whole = stop - (stop - start) % 4
    for j in range(start, whole, 4):
        x0, x1, x2, x3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        s0, s1, s2, s3 = sums[j], sums[j + 1], sums[j + 2], sums[j + 3]
        for i in range(labels.shape[0]):
            k = labels[i]
            s0[k] += x0[i]
            s1[k] += x1[i]
            s2[k] += x2[i]
            s3[k] += x3[i]
    for j in range(whole, stop):
        x0 = columns[j]
        s0 = sums[j]
        for i in range(labels.shape[0]):
            s0[labels[i]] += x0[i]


@compiled
def _move_columns(columns, movers, before, after, start, stop, sums):
    whole = stop - (stop - start) % 4
    for j in range(start, whole, 4):
        x0, x1, x2, x3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        s0, s1, s2, s3 = sums[j], sums[j + 1], sums[j + 2], sums[j + 3]
        for i in movers:
            a = before[i]
            b = after[i]
            s0[a] -= x0[i]
            s0[b] += x0[i]
            s1[a] -= x1[i]
            s1[b] += x1[i]
            s2[a] -= x2[i]
            s2[b] += x2[i]
            s3[a] -= x3[i]
            s3[b] += x3[i]
    for j in range(whole, stop):
        x0 = columns[j]
        s0 = sums[j]
        for i in movers:
            s0[before[i]] -= x0[i]
            s0[after[i]] += x0[i]


@compiled
def scores_from_sums(sums, sizes):
    """Compute the scores a_j, shape (n_features,), from cluster sums (n_features, n_clusters)."""
    p, n_clusters = sums.shape
    scores = np.empty(p)
    n = sizes.sum()
    for j in range(p):
        between = 0.0
        total = 0.0
        for k in range(n_clusters):
            if sizes[k] > 0:
                between += sums[j, k] * sums[j, k] / sizes[k]
            total += sums[j, k]
        scores[j] = max(between - total * total / n, 0.0)
    return scores
