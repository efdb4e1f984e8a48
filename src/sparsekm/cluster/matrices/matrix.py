"""Data in memory as the engine wants them: centred, one contiguous block per feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.dense_parts import feature_variances
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import one_blas_thread


class FeatureMatrix:
    """What the matrices of this room share: dense in memory, sparse, and streamed."""

    # Of an estimator's data, where they differ: (n_samples,), positive.
    sample_weight: np.ndarray | None = None
    n_samples: int
    n_features: int
    dtype: np.dtype
    means: np.ndarray  # (n_features,), float64

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and features."""
        return self.n_samples, self.n_features

    @property
    def block(self) -> Any:
        """All samples as one block, if they are in memory."""
        raise NotImplementedError

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield the first sample and the columns of each block of samples."""
        yield 0, self.block


class CentredMatrix(FeatureMatrix):
    """A data matrix in memory with its feature means removed.

    Between-cluster sums of squares do not change under a shift, and centring keeps them exact when
    the means are large beside the spread. `columns` (n_features, n_samples) are the centred data,
    feature after feature in memory, in the dtype of `X`: choosing features is choosing rows of this
    array. With `copy` false, an `X` that is contiguous by columns is centred in place.
    """

    def __init__(self, X: np.ndarray, *, copy: bool = True) -> None:
        columns = np.ascontiguousarray(X.T)
        if copy and np.shares_memory(columns, X):
            columns = columns.copy()
        means, constant = average_features([columns], len(columns))
        subtract_means(columns, means)
        self._set(columns, means, constant)

    def _set(self, columns, means, constant=None) -> None:
        self.columns, self.means, self._constant = columns, means, constant
        self.n_features, self.n_samples = columns.shape
        self.dtype = columns.dtype

    @classmethod
    def from_columns(cls, columns: np.ndarray, means: np.ndarray) -> CentredMatrix:
        """Take an array (n_features, n_samples) that is centred already, without a copy."""
        matrix = cls.__new__(cls)
        matrix._set(columns, means)
        return matrix

    @property
    def constant(self) -> np.ndarray:
        """Which features take one value only, shape (n_features,), bool."""
        if self._constant is None:
            self._constant = ~self.columns.any(axis=1)
        return self._constant

    @property
    def largest(self) -> float:
        """Largest absolute value, NaN where the means were beyond the range of the dtype."""
        return float(np.maximum(self.columns.max(), -self.columns.min()))

    @cached_property
    def rows(self) -> np.ndarray:
        """The same data as float64, sample after sample; made when first asked for."""
        return np.ascontiguousarray(self.columns.T, dtype=np.float64)

    @cached_property
    def squares(self) -> np.ndarray:
        """The sum of squares of every feature, shape (n_features,), float64."""
        return feature_variances(self.columns.T) * self.n_samples

    @property
    def block(self) -> np.ndarray:
        """All samples as one block."""
        return self.columns

    def select(self, features: np.ndarray) -> CentredMatrix:
        """Return the matrix of some features, ascending; this one where those are all."""
        if len(features) == self.n_features:
            return self
        return self.from_columns(self.columns[features], self.means[features])

    def take(self, samples: np.ndarray) -> CentredMatrix:
        """Return the matrix of some samples, centred as they are."""
        columns = np.empty((self.n_features, len(samples)), self.dtype)
        np.take(self.columns, samples, axis=1, out=columns, mode="clip")
        return self.from_columns(columns, self.means)


def average_features(
    blocks: Iterable[np.ndarray], n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return feature means, and which features are constant, over blocks of columns in their order.

    The mean of a constant feature is that constant and not a rounded quotient: its scores must be
    zero and not the square of a rounding error.
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
    """Subtract from every column (n_features, n_samples) its mean, in place."""
    p, n = columns.shape
    for j in range(p):
        column = columns[j]
        mean = means[j]
        for i in range(n):
            column[i] = column[i] - mean


# Samples whose values of a feature are written together.
ROWS_AT_ONCE = 16


def dense_columns(X: np.ndarray | csr_array, samples: np.ndarray, features: np.ndarray):
    """Return some samples and features as an array, contiguous by columns."""
    if issparse(X):
        return np.asfortranarray(X[:, features].toarray()[samples])
    columns = np.empty((len(features), len(samples)), X.dtype)
    _take_columns(X, samples, features, columns)
    return columns.T


@compiled
def _take_columns(X, samples, features, columns):
    n = samples.shape[0]
    for first in range(0, n, ROWS_AT_ONCE):
        last = min(n, first + ROWS_AT_ONCE)
        for q in range(features.shape[0]):
            j = features[q]
            for i in range(first, last):
                columns[q, i] = X[samples[i], j]


# What is left of a squared norm when only rounding is left of it, as a share of the largest.
ROUNDING = 1e-13


def embed_samples(rows: np.ndarray) -> np.ndarray:
    """Embed samples, rows in float64, isometrically in (n_samples, rank).

    Where every feature counts alike only the inner products of the samples matter: the result is
    the pivoted Cholesky factor of ``rows @ rows.T``.
    """
    with one_blas_thread:
        products = rows @ rows.T
        least = ROUNDING * products.diagonal().max()
        factor, pivots, rank, _ = dpstrf(products, tol=least, lower=1)
    embedded = np.empty((len(rows), rank))
    # LAPACK counts from 1, and leaves what it was given above the diagonal and beyond the rank.
    embedded[pivots - 1] = np.tril(factor)[:, :rank]
    return embedded
