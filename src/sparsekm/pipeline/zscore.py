"""Standardisation of features to mean 0 and standard deviation 1; sparse ones stay uncentred."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array

_CELLS_AT_ONCE = 2**18
_STORED_AT_ONCE = 2**22


def zscore(X: np.ndarray, offset: np.ndarray | None = None) -> np.ndarray:
    """Centre every feature and divide it by its standard deviation (ddof = 1), in place.

    With ddof = 1 the between-cluster sum of squares of a noise feature has expectation K - 1.
    `offset` was subtracted from the values before; it serves to distinguish rounding from
    variation. The result, of shape (p,), marks the features that do not vary beyond rounding; these
    have no z-score and are left unchanged.
    """
    n, p = X.shape
    n_at_once = max(1, _CELLS_AT_ONCE // p)
    blocks = [slice(start, start + n_at_once) for start in range(0, n, n_at_once)]
    total, size = np.zeros(p), np.zeros(p)
    for rows in blocks:
        total += X[rows].sum(axis=0, dtype=np.float64)
        np.maximum(size, np.abs(X[rows]).max(axis=0), out=size)
    mean = total / n
    squares = np.zeros(p)
    for rows in blocks:
        centred = X[rows] - mean
        squares += np.einsum("ij,ij->j", centred, centred)
    deviation = np.sqrt(squares / (n - 1))
    rounding = np.finfo(np.float32).eps * size
    if offset is not None:
        rounding = np.maximum(rounding, 8 * np.finfo(np.float64).eps * np.abs(offset))
    constant = deviation <= rounding
    shift, scale = np.where(constant, 0, mean), np.where(constant, 1, deviation)
    for rows in blocks:
        X[rows] = (X[rows] - shift) / scale
    return constant


def scale_stored(X: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Divide every feature by its standard deviation (ddof = 1), in place, without centring it.

    Returns which features are constant, bool of shape (p,), and the means after the division,
    float64 of shape (p,): less these, X holds the `zscore`. Constant features are left unchanged.
    """
    n = X.shape[0]
    mean = column_sums(X, lambda values, _: values) / n
    squares = column_sums(X, lambda values, columns: (values - mean[columns]) ** 2)
    n_stored = column_sums(X, lambda values, _: np.ones(len(values)))
    squares += (n - n_stored) * mean**2
    deviation = np.sqrt(squares / (n - 1))
    constant = deviation <= np.finfo(np.float32).eps * np.abs(mean)
    scale = np.where(constant, 1, deviation)
    for part in stored_parts(X):
        X.data[part] /= scale[X.indices[part]]
    return constant, mean / scale


def column_sums(X: csr_array, of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Sum a function of the stored values and their columns over every feature: (p,), float64."""
    sums = np.zeros(X.shape[1])
    for part in stored_parts(X):
        columns = X.indices[part]
        values = of(X.data[part].astype(np.float64), columns)
        sums += np.bincount(columns, weights=values, minlength=X.shape[1])
    return sums


def stored_parts(X: csr_array) -> Iterator[slice]:
    """Cut the stored values of a sparse matrix into parts."""
    for start in range(0, X.nnz, _STORED_AT_ONCE):
        yield slice(start, min(start + _STORED_AT_ONCE, X.nnz))
