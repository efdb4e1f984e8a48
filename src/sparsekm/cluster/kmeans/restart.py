"""Start afresh on other features than those kept.

Rounds of climbing rarely leave the features they keep: the partition is the best for these, and
these are the best for the partition. The features that tell a few of the clusters apart are others.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.climb import fill_short_clusters, pack_kept, score, sum_rows
from sparsekm.cluster.kmeans.exchange import exchange_until_stable
from sparsekm.cluster.kmeans.seeding import nearest_seeds
from sparsekm.runtime.compiled import compiled

# The share of the clusters, and the sweeps of the k-means on the features that tell them apart.
SHARE_OF_CLUSTERS = 1 / 3
SWEEPS = 4


@compiled
def restart(rows, labels, n_clusters, weight_step, min_size, draws):
    """Run k-means on the features that tell a random third of the clusters apart.

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
    n_drawn = max(2, int(np.rint(SHARE_OF_CLUSTERS * n_clusters)))
    drawn = np.argsort(draws[:n_clusters])[:n_drawn]
    sums = sums[drawn]
    sizes = sizes[drawn]
    mean = sums.sum(axis=0) / sizes.sum()
    for k in range(n_drawn):
        sums[k] -= sizes[k] * mean
    score(sums, sizes, sizes.sum(), scores)
    packed = pack_kept(rows, scores, weight_step)
    nearest_seeds(packed, n_clusters, draws[n_clusters:], labels)
    exchange_until_stable(packed, labels, n_clusters, min_size, SWEEPS, 0.0)
