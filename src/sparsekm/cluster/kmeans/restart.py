"""Start afresh on other features than those kept.

Rounds of climbing rarely leave the features they keep: the partition is the best for these, and
these are the best for the partition. The features that tell two of the clusters apart are others.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.climb import fill_short_clusters, pack_kept, sum_rows
from sparsekm.cluster.kmeans.exchange import FEW_SWEEPS, exchange_until_stable
from sparsekm.cluster.kmeans.seeding import nearest_seeds
from sparsekm.runtime.compiled import compiled


@compiled
def restart(rows, labels, n_clusters, weight_step, min_size, draws):
    """Run k-means on the features that tell two random clusters apart.

    Parameters
    ----------
    rows : float64 array (n_samples, n_features)
    labels : int32 array (n_samples,)
        The clusters to draw from; overwritten.
    n_clusters : int
    weight_step : CompiledStep
    min_size : int
    draws : float array (2 * n_clusters,)
        Uniform numbers in [0, 1): which clusters are drawn, and the seeds.
    """
    p = rows.shape[1]
    scores = np.empty(p)
    sums = np.empty((n_clusters, p))
    sizes = np.empty(n_clusters, np.int64)
    fill_short_clusters(rows, labels, sizes, n_clusters, min_size)
    sum_rows(rows, labels, sums, sizes)
    order = np.argsort(draws[:n_clusters])
    a, b = order[0], order[min(1, n_clusters - 1)]
    for j in range(p):
        scores[j] = (sums[a, j] / sizes[a] - sums[b, j] / sizes[b]) ** 2
    packed = pack_kept(rows, scores, weight_step)
    nearest_seeds(packed, n_clusters, draws[n_clusters:], labels)
    exchange_until_stable(packed, labels, n_clusters, min_size, FEW_SWEEPS, 0.0)
