"""Where searches start: k-means++ centres, and partitions by the neighbourhood of one feature."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.exchange import square_distance
from sparsekm.runtime.compiled import compiled


@compiled
def neighbouring_features(rows, feature, size):
    """Return the `size` features of largest absolute correlation with `feature`."""
    n, p = rows.shape
    inner = np.zeros(p)
    squares = np.zeros(p)
    for i in range(n):
        x = rows[i, feature]
        row = rows[i]
        for j in range(p):
            inner[j] += x * row[j]
            squares[j] += row[j] * row[j]
    for j in range(p):
        inner[j] = inner[j] * inner[j] / squares[j] if squares[j] > 0.0 else 0.0
    return np.argsort(-inner)[:size]


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


@compiled
def seed_by_neighbourhoods(rows, features, size, n_clusters, draws, first, last, starts):
    """Write the starts first to last: k-means++ on the features most correlated with one."""
    for b in range(first, last):
        kept = neighbouring_features(rows, features[b], size)
        packed = np.ascontiguousarray(rows[:, kept])
        nearest_seeds(packed, n_clusters, draws[b], starts[b])
