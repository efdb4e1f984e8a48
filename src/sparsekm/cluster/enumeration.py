"""Every partition, one after the other: the exact search on tiny data."""

from __future__ import annotations

from math import comb, factorial

import numpy as np

from sparsekm.cluster.climb import score, sum_rows, weighted_sum
from sparsekm.cluster.compiled import compiled
from sparsekm.cluster.weight_step import weigh_compiled

# Up to this many partitions (all of 10 samples in 3 clusters) are tried one by one.
ENUMERATION_LIMIT = 10_000


def count_partitions(n_samples: int, n_clusters: int) -> int:
    """Count the partitions of n samples into K non-empty clusters (Stirling, second kind)."""
    signed = sum(
        (-1) ** (n_clusters - k) * comb(n_clusters, k) * k**n_samples for k in range(n_clusters + 1)
    )
    return signed // factorial(n_clusters)


def best_partitions(
    rows: np.ndarray, n_clusters: int, code: int, bounds: np.ndarray, min_size: int
) -> np.ndarray:
    """Find the best partition for every sparsity by trying all.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features), float64
        Centred data.
    n_clusters : int
    code : int
        The weight step in its compiled form.
    bounds : ndarray of shape (n_sparsities,)
    min_size : int
        Smallest cluster allowed.

    Returns
    -------
    ndarray of shape (n_sparsities, n_samples), int32
        Of equally good partitions, the first in lexicographic order of their labels.
    """
    best = np.zeros((len(bounds), rows.shape[0]), np.int32)
    objectives = np.full(len(bounds), -np.inf)
    _try_all(rows, n_clusters, code, np.asarray(bounds, float), min_size, best, objectives)
    return best


@compiled
def _try_all(rows, n_clusters, code, bounds, min_size, best, objectives):
    n, p = rows.shape
    labels = np.zeros(n, np.int32)
    sums = np.empty((n_clusters, p))
    sizes = np.empty(n_clusters, np.int64)
    scores = np.empty(p)
    support = np.empty(p, np.int64)
    values = np.empty(p)
    while True:
        if labels.max() == n_clusters - 1:
            sum_rows(rows, labels, sums, sizes)
            if sizes.min() >= max(min_size, 1):
                score(sums, sizes, n, scores)
                for m in range(bounds.shape[0]):
                    kept = weigh_compiled(code, bounds[m], scores, support, values)
                    objective = weighted_sum(scores, support[:kept], values[:kept])
                    if objective > objectives[m]:
                        objectives[m] = objective
                        best[m] = labels
        if not _advance(labels, n_clusters):
            return


@compiled
def _advance(labels, n_clusters):
    """Step to the next restricted growth string; return False after the last."""
    for i in range(labels.shape[0] - 1, 0, -1):
        if labels[i] < n_clusters - 1 and labels[i] <= labels[:i].max():
            labels[i] += 1
            labels[i + 1 :] = 0
            return True
    return False
