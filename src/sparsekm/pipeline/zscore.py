"""Standardisation of features to mean 0 and standard deviation 1."""

from __future__ import annotations

import numpy as np

_CELLS_AT_ONCE = 2**18


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
