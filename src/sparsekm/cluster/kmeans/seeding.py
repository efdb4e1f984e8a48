"""Where climbs start: from k-means++ seeds, and afresh on other features than those kept."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.climb import fill_short_clusters, pack_kept, sum_rows
from sparsekm.cluster.kmeans.exchange import (
    FEW_SWEEPS,
    exchange_until_stable,
    square_distance,
)
from sparsekm.runtime.compiled import compiled


@compiled
def nearest_seeds(packed, n_clusters, draws, labels):
    """Choose seeds by k-means++ and give every sample the label of its nearest one.

    `draws` (n_clusters,) are uniform in [0, 1); `labels` are overwritten.
    """
    n = packed.shape[0]
    distances = np.full(n, np.inf)
    seed = int(draws[0] * n)
    for k in range(n_clusters):
        if k > 0:
            total = distances.sum()
            target = draws[k] * total
            seed = n - 1
            for i in range(n):
                target -= distances[i]
                if target < 0.0:
                    seed = i
                    break
        for i in range(n):
            d = square_distance(packed[i], packed[seed])
            if d < distances[i]:
                distances[i] = d
                labels[i] = k


@compiled
def restart(rows, labels, n_clusters, weight_step, min_size, draws):
    """Run k-means on the features that tell two clusters apart, and write its labels.

    A climb rarely leaves the features it keeps: the partition is the best for these, and these are
    the best for the partition. `draws` (2 * n_clusters,) choose the two clusters and the seeds.
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
