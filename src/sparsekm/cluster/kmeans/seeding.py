"""Where searches start: k-means++ seeds."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.exchange import square_distance
from sparsekm.runtime.compiled import compiled


@compiled
def nearest_seeds(packed, n_clusters, draws, labels):
    """Choose seeds by k-means++ and give every sample the label of its nearest one.

    Parameters
    ----------
    packed : float64 array (n_samples, n_kept)
    n_clusters : int
    draws : float array (n_clusters,)
        Uniform numbers in [0, 1).
    labels : int32 array (n_samples,)
        Overwritten.
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
