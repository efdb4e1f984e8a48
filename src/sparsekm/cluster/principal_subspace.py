"""Samples in few dimensions that keep what matters to k-means on all features.

The principal components are the continuous solution of k-means (Ding & He 2004,
doi:10.1145/1015330.1015408): the best K clusters differ, nearly, in the first K - 1 of them only.
There a k-means costs a hundredth, so that many starts can be tried. The axes need not be exact:
they come from a sample of the data, by subspace iteration in loops of our own, and no bit depends
on the BLAS.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.compiled import compiled, compiled_loosely
from sparsekm.cluster.lloyd import ROW_BLOCK, add_products
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition, draw_samples
from sparsekm.cluster.scatter import Matrix
from sparsekm.cluster.threads import run_in_slices

ITERATIONS = 8
# Dimensions beyond the number of clusters: the last axes of an iteration are its worst.
EXTRA_AXES = 3
# What is left of a squared length when an axis is a combination of others.
ROUNDING = 1e-20


def reduce_features(
    X: Matrix, partition: KMeansPartition, weights: np.ndarray, rng: np.random.Generator
) -> CentredMatrix:
    """Project the weighted features onto as few axes as k-means needs.

    Parameters
    ----------
    X : CentredMatrix or StreamedMatrix
    partition : KMeansPartition
    weights : ndarray of shape (n_features,)
    rng : numpy.random.Generator
        Draws the samples that show the axes, and where their search starts.

    Returns
    -------
    CentredMatrix of shape (n_samples, n_axes)
        In memory. Features no more than `EXTRA_AXES` beyond the clusters stay what they are.
    """
    kept = np.flatnonzero(weights)
    scales = np.sqrt(weights[kept])
    matrix = X.select(kept)
    n_axes = partition.n_clusters + EXTRA_AXES
    if len(kept) <= n_axes:
        axes = np.eye(len(kept))
    else:
        sample = matrix.take(draw_samples(matrix, rng))
        columns = sample.columns * scales[:, None].astype(sample.dtype)
        weighted = CentredMatrix.from_columns(columns, sample.means)
        axes = principal_axes_of(weighted, n_axes, rng, partition.n_threads)
    return project(matrix, axes * scales, partition.n_threads)


def principal_axes_of(
    sample: CentredMatrix, n_axes: int, rng: np.random.Generator, n_threads: int = 1
) -> np.ndarray:
    """Approximate the directions of largest variance.

    Parameters
    ----------
    sample : CentredMatrix
    n_axes : int
    rng : numpy.random.Generator
        Draws the axes that the iteration starts from.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_axes, n_features), float64
        Orthonormal; axes beyond the rank of the data are zero.
    """
    axes = rng.standard_normal((n_axes, sample.n_features))
    for _ in range(ITERATIONS):
        orthonormalise(axes)
        scores = project(sample, axes, n_threads).columns
        _multiply(sample.columns, scores, axes, n_threads)
    orthonormalise(axes)
    return axes


def project(matrix: Matrix, axes: np.ndarray, n_threads: int = 1) -> CentredMatrix:
    """Project samples onto axes of shape (n_axes, n_features), block by block."""
    slopes = np.ascontiguousarray(axes.T, dtype=matrix.dtype)
    support = np.arange(matrix.n_features)
    scores = np.zeros((len(axes), matrix.n_samples), matrix.dtype)
    for first, columns in matrix.blocks():
        here = scores[:, first : first + columns.shape[1]]
        run_in_slices(
            lambda start, stop, columns=columns, here=here: _project_samples(
                columns, support, slopes, start, stop, here
            ),
            columns.shape[1],
            n_threads,
            ROW_BLOCK,
        )
    return CentredMatrix.from_columns(scores, np.zeros(len(axes)))


@compiled
def orthonormalise(axes):
    """Make rows orthonormal, in place and in their order; what is left of rounding becomes zero."""
    for a in range(axes.shape[0]):
        axis = axes[a]
        whole = np.sum(axis * axis)
        # Twice: once is not enough for rows that are nearly the same.
        for _ in range(2):
            for b in range(a):
                axis -= np.sum(axis * axes[b]) * axes[b]
        left = np.sum(axis * axis)
        if left <= ROUNDING * whole:
            axis[:] = 0.0
        else:
            axis /= np.sqrt(left)


def _multiply(columns, scores, axes, n_threads):
    run_in_slices(
        lambda start, stop: _multiply_features(columns, scores, start, stop, axes),
        columns.shape[0],
        n_threads,
    )


@compiled
def _project_samples(columns, support, slopes, start, stop, scores):
    block = np.empty((slopes.shape[1], ROW_BLOCK), columns.dtype)
    for first in range(start, stop, ROW_BLOCK):
        size = min(ROW_BLOCK, stop - first)
        block[:, :size] = 0
        add_products(columns, support, slopes, first, size, block)
        scores[:, first : first + size] = block[:, :size]


@compiled_loosely
def _multiply_features(columns, scores, start, stop, axes):
    for j in range(start, stop):
        column = columns[j]
        for a in range(axes.shape[0]):
            row = scores[a]
            total = 0.0
            for i in range(column.shape[0]):
                total += column[i] * row[i]
            axes[a, j] = total
