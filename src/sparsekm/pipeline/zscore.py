"""Standardisation of features to mean 0 and standard deviation 1; sparse ones stay uncentred."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sparsekm.io.row_stream import Block, RowStream

_CELLS_AT_ONCE = 2**18
_STORED_AT_ONCE = 2**22


@dataclass(frozen=True)
class Moments:
    """Mean and standard deviation (ddof = 1) of p features, both (p,), float64.

    `constant` marks those that do not vary beyond rounding, which have no z-score.
    """

    mean: np.ndarray
    deviation: np.ndarray
    constant: np.ndarray

    def scale(self, block: Block, rows: slice) -> Block:
        """Return the z-scores of some rows, sparse ones not centred; constant features as they are.

        With ddof = 1 the between-cluster sum of squares of a noise feature has expectation K - 1.
        """
        scale = np.where(self.constant, 1, self.deviation)
        if isinstance(block, np.ndarray):
            shift = np.where(self.constant, 0, self.mean)
            return ((block - shift) / scale).astype(np.float32)
        scaled = block.copy()
        scaled.data /= scale[block.indices]
        return scaled


def zscore(X: np.ndarray) -> Moments:
    """Turn an array into z-scores, in place, and return the moments that it had."""
    moments = measure_moments(RowStream.of(X))
    for rows, block in RowStream.of(X).blocks(_height(X.shape[1])):
        X[rows] = moments.scale(block, rows)
    return moments


def measure_moments(X: RowStream, offset: np.ndarray | None = None) -> Moments:
    """Compute means and standard deviations.

    `offset` was subtracted from the values of an array before; it serves to distinguish rounding
    from variation.
    """
    if X.is_sparse:
        return _measure_stored(X)
    n, p = X.shape
    height = _height(p)
    total, size = np.zeros(p), np.zeros(p)
    for _, block in X.blocks(height):
        total += block.sum(axis=0, dtype=np.float64)
        np.maximum(size, np.abs(block).max(axis=0), out=size)
    mean = total / n
    squares = np.zeros(p)
    for _, block in X.blocks(height):
        centred = block - mean
        squares += np.einsum("ij,ij->j", centred, centred)
    deviation = np.sqrt(squares / (n - 1))
    rounding = np.finfo(np.float32).eps * size
    if offset is not None:
        rounding = np.maximum(rounding, 8 * np.finfo(np.float64).eps * np.abs(offset))
    return Moments(mean, deviation, deviation <= rounding)


def _height(n_features: int) -> int:
    return max(1, _CELLS_AT_ONCE // n_features)


def _measure_stored(X: RowStream) -> Moments:
    n = X.shape[0]
    mean = _column_sums(X, lambda values, _: values) / n
    squares = _column_sums(X, lambda values, columns: (values - mean[columns]) ** 2)
    squares += (n - X.n_stored) * mean**2
    deviation = np.sqrt(squares / (n - 1))
    return Moments(mean, deviation, deviation <= np.finfo(np.float32).eps * np.abs(mean))


def _column_sums(X: RowStream, of: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Sum a function of the stored values and their columns over every feature: (p,), float64."""
    sums = np.zeros(X.shape[1])
    for values, columns in _stored_parts(X):
        weights = of(values.astype(np.float64), columns)
        sums += np.bincount(columns, weights=weights, minlength=X.shape[1])
    return sums


def _stored_parts(X: RowStream) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield stored values and their columns in parts of one size: sums depend on it by rounding."""
    values, columns = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int32)
    for _, block in X.blocks():
        values = np.concatenate([values, block.data])
        columns = np.concatenate([columns, block.indices])
        while len(values) >= _STORED_AT_ONCE:
            yield values[:_STORED_AT_ONCE], columns[:_STORED_AT_ONCE]
            values, columns = values[_STORED_AT_ONCE:], columns[_STORED_AT_ONCE:]
    if len(values):
        yield values, columns
