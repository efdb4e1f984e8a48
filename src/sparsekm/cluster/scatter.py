r"""Cluster sums and the scores :math:`a_j`, from labels alone.

With :math:`S_{jk}` the sum of feature j over cluster k of a centred matrix and :math:`n_k` the size
of the cluster, the between-cluster sum of squares of feature j is

.. math:: a_j = \sum_k S_{jk}^2 / n_k - (\sum_k S_{jk})^2 / n ,

which is half of the paper's defining double sum (its Lemma 1). Every sum runs over the samples in
ascending order in float64, one feature at a time, so the bits do not depend on the number of
threads, on the BLAS, or on how the rows were cut into blocks.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.compiled import compiled
from sparsekm.cluster.threads import run_in_slices


def cluster_sums(
    columns: np.ndarray, labels: np.ndarray, n_clusters: int, n_threads: int = 1
) -> np.ndarray:
    """Sum every feature over every cluster.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_samples)
        Data, feature after feature.
    labels : ndarray of shape (n_samples,), int32
        Labels in ``range(n_clusters)``.
    n_clusters : int
        Number of clusters.
    n_threads : int
        Threads to share the features among.

    Returns
    -------
    ndarray of shape (n_features, n_clusters), float64
    """
    sums = np.empty((columns.shape[0], n_clusters))
    run_in_slices(
        lambda start, stop: _sum_columns(columns, labels, start, stop, sums),
        columns.shape[0],
        n_threads,
    )
    return sums


def cluster_sizes(labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Count the samples of every cluster, shape (n_clusters,)."""
    return np.bincount(labels, minlength=n_clusters)


def scores_from_sums(sums: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Compute the scores a_j, shape (n_features,), from cluster sums (n_features, n_clusters)."""
    scores = np.empty(sums.shape[0])
    _score_sums(sums, sizes, scores)
    return scores


def feature_scores(
    columns: np.ndarray, labels: np.ndarray, n_clusters: int, n_threads: int = 1
) -> np.ndarray:
    """Compute the scores a_j of a centred matrix under a partition.

    Parameters are those of `cluster_sums`; returns an ndarray of shape (n_features,), float64.
    """
    sums = cluster_sums(columns, labels, n_clusters, n_threads)
    return scores_from_sums(sums, cluster_sizes(labels, n_clusters))


@compiled
def _sum_columns(columns, labels, start, stop, sums):
    n = columns.shape[1]
    n_clusters = sums.shape[1]
    for j in range(start, stop):
        column = columns[j]
        total = sums[j]
        for k in range(n_clusters):
            total[k] = 0.0
        for i in range(n):
            total[labels[i]] += column[i]


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
