r"""Cluster sums, cluster means and the scores :math:`a_j`, from labels alone.

With :math:`S_{jk}` the sum of feature j over cluster k of a centred matrix and :math:`n_k` the size
of the cluster, the between-cluster sum of squares of feature j is

.. math:: a_j = \sum_k S_{jk}^2 / n_k - (\sum_k S_{jk})^2 / n ,

half of the paper's defining double sum (its Lemma 1). Every sum runs over the samples in ascending
order in float64: the bits depend on neither threads nor blocks.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.containers import StreamedMatrix
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock, SparseMatrix
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import run_in_slices, worth_a_thread

MatrixInMemory = CentredMatrix | SparseMatrix
Matrix = MatrixInMemory | StreamedMatrix
Block = np.ndarray | SparseBlock


def cluster_sizes(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Count the samples of every cluster, shape (n_clusters,)."""
    return np.bincount(labels, minlength=n_clusters)


def matrix_sums(
    matrix: Matrix, labels: np.ndarray, n_clusters: int, n_threads: int = 1
) -> np.ndarray:
    """Sum every feature over every cluster, float64 of shape (n_features, n_clusters)."""
    sums = np.zeros((matrix.n_features, n_clusters))
    for start, columns in matrix.blocks():
        add_to_sums(columns, labels[start : start + columns.shape[1]], sums, n_threads)
    return sums


def scores_from_sums(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Compute the scores a_j, shape (n_features,), from cluster sums (n_features, n_clusters)."""
    scores = np.empty(sums.shape[0])
    _score_sums(sums, sizes, scores)
    return scores


def feature_scores(
    matrix: Matrix, labels: np.ndarray, n_clusters: int, n_threads: int = 1
) -> np.ndarray:
    """Compute the scores a_j, shape (n_features,), of a centred matrix under a partition."""
    sums = matrix_sums(matrix, labels, n_clusters, n_threads)
    return scores_from_sums(sums, cluster_sizes(labels, n_clusters))


def add_to_sums(columns: Block, labels: np.ndarray, sums: np.ndarray, n_threads: int = 1) -> None:
    """Add every sample of a block to the sums (n_features, n_clusters) of its cluster, in place."""
    if isinstance(columns, SparseBlock):
        columns.add_to_sums(labels, sums)
        return
    run_in_slices(
        lambda start, stop: _sum_columns(columns, labels, start, stop, sums),
        columns.shape[0],
        n_threads,
        worth_a_thread(len(labels)),
    )


def move_between_sums(columns: Block, before, after, sums: np.ndarray, n_threads: int = 1) -> None:
    """Update cluster sums, in place, for the samples of a block that changed their cluster."""
    movers = np.flatnonzero(after != before)
    if isinstance(columns, SparseBlock):
        columns.move_between_sums(movers, before, after, sums)
        return
    run_in_slices(
        lambda start, stop: _move_columns(columns, movers, before, after, start, stop, sums),
        columns.shape[0],
        n_threads,
        worth_a_thread(len(movers)),
    )


# Four features at a time: a label or a mover is then looked up once for four sums. Each sum still
# runs over the samples in their order.


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
def _sum_rows(rows, labels, totals):
    for i in range(rows.shape[0]):
        total = totals[labels[i]]
        for j in range(rows.shape[1]):
            total[j] += rows[i, j]


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
def _score_sums(sums, sizes, scores):
    p, n_clusters = sums.shape
    n = 0
    for k in range(n_clusters):
        n += sizes[k]
    for j in range(p):
        between = 0.0
        total = 0.0
        for k in range(n_clusters):
            if sizes[k] > 0:
                between += sums[j, k] * sums[j, k] / sizes[k]
            total += sums[j, k]
        scores[j] = max(between - total * total / n, 0.0)


ROWS_AT_ONCE = 4096


def cluster_centers(X: np.ndarray | csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average every cluster, float64 of shape (n_clusters, n_features); an empty one has NaN."""
    sizes = cluster_sizes(labels, n_clusters).astype(float)
    sizes[sizes == 0] = np.nan
    if issparse(X):
        sums = np.zeros((X.shape[1], n_clusters))
        add_to_sums(SparseBlock(X, np.zeros(X.shape[1])), labels, sums)
    else:
        totals = np.zeros((n_clusters, X.shape[1]))
        # An array on disk is read once, row after row.
        height = ROWS_AT_ONCE if isinstance(X, np.memmap) else max(1, len(X))
        for start in range(0, len(X), height):
            rows, own = np.asarray(X[start : start + height]), labels[start : start + height]
            if rows.flags.c_contiguous:
                _sum_rows(rows, own, totals)
            else:
                add_to_sums(rows.T, own, totals.T)
        sums = np.ascontiguousarray(totals.T)
    return (sums / sizes).T
