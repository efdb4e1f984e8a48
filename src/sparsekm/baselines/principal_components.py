r"""Leading principal components, exactly, through the smaller Gram matrix.

With the centred data :math:`X = U S V^\top`, the columns of U are eigenvectors of
:math:`X X^\top` and those of V of :math:`X^\top X`: whichever of the two is smaller is decomposed.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from sparsekm.cluster.matrices.scatter import Block
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.runtime.one_blas_thread import one_blas_thread

# Features, or samples, that are turned into float64 at once.
BLOCK = 256


def principal_axes(columns: Block, n_components: int) -> np.ndarray:
    """Compute the directions of largest variance, float64 of shape (n_components, n_features).

    `columns` are centred data of shape (n_features, n_samples); `n_components` is at most the
    smaller of the two. The axes are orthonormal, by descending variance; the entry largest in
    absolute value is positive (the first of them if several tie). An axis beyond the rank of the
    data is zero.
    """
    n_features, n_samples = columns.shape
    sparse = isinstance(columns, SparseBlock)
    gram, combine = (_gram_stored, _combine_stored) if sparse else (_gram, _combine_samples)
    with one_blas_thread:
        if n_samples < n_features:
            values, vectors = _leading_eigenvectors(gram(columns), n_components)
            axes = np.array([combine(columns, vector) for vector in vectors])
        else:
            values, axes = _leading_eigenvectors(gram(columns, True), n_components)
    beyond_rank = values <= max(columns.shape) * np.finfo(columns.dtype).eps * values[0]
    axes[beyond_rank] = 0.0
    lengths = np.sqrt((axes**2).sum(axis=1))
    largest = axes[np.arange(n_components), np.abs(axes).argmax(axis=1)]
    scales = np.where(largest < 0, -1.0, 1.0) / np.where(beyond_rank, 1.0, lengths)
    return axes * scales[:, None]


def project(columns: Block, axes: np.ndarray) -> np.ndarray:
    """Project centred data of shape (n_features, n_samples) onto axes.

    The result is float64 of shape (n_samples, n_components). Each sample is summed separately in
    the same order, so that its bits do not depend on the other samples.
    """
    if isinstance(columns, SparseBlock):
        return columns.rows @ axes.T - axes @ columns.means
    scores = np.zeros((columns.shape[1], len(axes)))
    for column, loadings in zip(columns, axes.T, strict=True):
        scores += column.astype(np.float64)[:, None] * loadings
    return scores


def _gram(columns: np.ndarray, of_features: bool = False) -> np.ndarray:
    """Return the inner products of samples, or of features, summed block by block."""
    items = columns.T if of_features else columns
    total = np.zeros((items.shape[1], items.shape[1]))
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK].astype(np.float64)
        total += block.T @ block
    return total


def _gram_stored(columns: SparseBlock, of_features: bool = False) -> np.ndarray:
    """Return the same of a sparse block, from the products of its stored values."""
    rows, means = columns.rows.astype(np.float64), columns.means
    if of_features:
        return (rows.T @ rows).toarray() - columns.shape[1] * np.outer(means, means)
    along = rows @ means
    return (rows @ rows.T).toarray() - along[:, None] - along + means @ means


def _leading_eigenvectors(gram: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues, descending, and their eigenvectors as rows."""
    size = len(gram)
    values, vectors = eigh(gram, subset_by_index=[size - count, size - 1])
    return values[::-1], vectors.T[::-1].copy()


def _combine_stored(columns: SparseBlock, vector: np.ndarray) -> np.ndarray:
    return columns.rows.T @ vector - columns.means * vector.sum()


def _combine_samples(columns: np.ndarray, vector: np.ndarray) -> np.ndarray:
    blocks = [
        columns[start : start + BLOCK].astype(np.float64) @ vector
        for start in range(0, len(columns), BLOCK)
    ]
    return np.concatenate(blocks)
