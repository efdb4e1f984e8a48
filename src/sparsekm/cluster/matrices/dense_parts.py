"""Moments of checked data, dense or sparse, and parts that are small enough to be dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

# NumPy's variance makes a copy in float64, so it gets this number of features at a time.
FEATURES_AT_ONCE = 1024
# The running mean of log variances covers this share of the features.
WINDOW = 0.1


def as_dense(part: np.ndarray | csr_array) -> np.ndarray:
    """Return a few samples, or a few features, as an array."""
    return part.toarray() if issparse(part) else part


def take_rows(rows: np.ndarray | None, *arrays: Any) -> tuple[Any, ...]:
    """Return some rows of each array, or all if `rows` is None; None stays None."""
    return tuple(of if rows is None or of is None else of[rows] for of in arrays)


def stored_bytes(X: np.ndarray | csr_array) -> int:
    """Return the memory of the data."""
    return X.data.nbytes + X.indices.nbytes if issparse(X) else X.nbytes


def feature_means(X: np.ndarray | csr_array) -> np.ndarray:
    """Return the mean of every feature, shape (n_features,), float64."""
    return np.asarray(X.mean(axis=0, dtype=np.float64))


def feature_variances(X: np.ndarray | csr_array) -> np.ndarray:
    """Return the variance of every feature (ddof = 0), shape (n_features,), float64."""
    if issparse(X):
        # Not imported at the top: scikit-learn takes 70 MB, and a job that reads a table does not
        # need it.
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return mean_variance_axis(X.astype(np.float64, copy=False), axis=0)[1]
    variances = np.empty(X.shape[1])
    for start in range(0, X.shape[1], FEATURES_AT_ONCE):
        part = slice(start, start + FEATURES_AT_ONCE)
        variances[part] = X[:, part].var(axis=0, dtype=np.float64)
    return variances


def log_variances(variances: np.ndarray) -> np.ndarray:
    """Return the logarithms of variances, -inf for constant features."""
    with np.errstate(divide="ignore"):
        return np.log(variances)


def variance_beyond_trend(means: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return log variances minus their running mean over the features ordered by mean.

    The window holds a tenth of the features and is shortened at the ends. Constant features are
    left out and get -inf.

    Examples
    --------
    >>> variance_beyond_trend(np.arange(5.0), np.array([1.0, 1.0, np.exp(3), 1.0, 0.0]))
    array([ 0. , -1. ,  2. , -1.5, -inf])
    """
    logs = log_variances(variances)
    varies = np.flatnonzero(variances > 0)
    order = varies[np.argsort(means[varies], kind="stable")]
    half = max(1, int(WINDOW * len(order)) // 2)
    sums = np.concatenate([[0.0], np.cumsum(logs[order])])
    positions = np.arange(len(order))
    first = np.maximum(positions - half, 0)
    last = np.minimum(positions + half + 1, len(order))
    beyond = np.full(len(logs), -np.inf)
    beyond[order] = logs[order] - (sums[last] - sums[first]) / (last - first)
    return beyond
