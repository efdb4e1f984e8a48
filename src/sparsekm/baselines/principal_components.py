r"""Leading principal components, exactly, through the smaller Gram matrix.

With the centred data :math:`X = U S V^\top`, the columns of U are eigenvectors of
:math:`X X^\top` and those of V of :math:`X^\top X`: whichever of the two is smaller is decomposed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from sparsekm.runtime.one_blas_thread import one_blas_thread

# Features, or samples, that are turned into float64 at once.
BLOCK = 256


def principal_axes(columns: np.ndarray, n_components: int) -> np.ndarray:
    """Compute the directions of largest variance.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_samples)
        Centred data, feature after feature.
    n_components : int
        At most the smaller of the two sizes.

    Returns
    -------
    ndarray of shape (n_components, n_features), float64
        Orthonormal, by descending variance; the entry largest in absolute value is positive (the
        first of them where several tie). An axis beyond the rank of the data is zero.
    """
    n_features, n_samples = columns.shape
    with one_blas_thread:
        if n_samples < n_features:
            values, vectors = _leading_eigenvectors(_gram(columns), n_components)
            axes = np.array([_combine_samples(columns, vector) for vector in vectors])
        else:
            values, axes = _leading_eigenvectors(_gram(columns.T), n_components)
    beyond_rank = values <= max(columns.shape) * np.finfo(columns.dtype).eps * values[0]
    axes[beyond_rank] = 0.0
    lengths = np.sqrt((axes**2).sum(axis=1))
    largest = axes[np.arange(n_components), np.abs(axes).argmax(axis=1)]
    scales = np.where(largest < 0, -1.0, 1.0) / np.where(beyond_rank, 1.0, lengths)
    return axes * scales[:, None]


def project(columns: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Project centred data of shape (n_features, n_samples) onto axes.

    Every sample is summed on its own in the same order, so that it gets the same bits in whatever
    company it stands.

    Returns
    -------
    ndarray of shape (n_samples, n_components), float64
    """
    scores = np.zeros((columns.shape[1], len(axes)))
    for column, loadings in zip(columns, axes.T, strict=True):
        scores += column.astype(np.float64)[:, None] * loadings
    return scores


def _gram(items: np.ndarray) -> np.ndarray:
    """Sum the outer products of the rows of `items`, block by block."""
    total = np.zeros((items.shape[1], items.shape[1]))
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK].astype(np.float64)
        total += block.T @ block
    return total


def _leading_eigenvectors(gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues, descending, and their eigenvectors as rows."""
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[size - count, size - 1])
    return values[::-1], vectors.T[::-1].copy()


def _combine_samples(columns: np.ndarray, vector: np.ndarray) -> np.ndarray:
    blocks = [
        columns[start : start + BLOCK].astype(np.float64) @ vector
        for start in range(0, len(columns), BLOCK)
    ]
    return np.concatenate(blocks)
