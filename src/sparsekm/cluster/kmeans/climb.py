"""The compiled local search on few samples, and the partitions that it starts from.

One round takes the weight step at the current partition and then *one* sweep of exchange moves
under those weights, instead of a whole k-means between two weight steps. Where sweeps gain little,
clusters merge and split. Nothing lowers the objective.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.exchange import (
    FEW_SWEEPS,
    centre,
    exchange_sweep,
    exchange_until_stable,
    merge_and_split,
    repair_sizes,
)
from sparsekm.cluster.matrices.sample_rows import (
    add_row,
    distance,
    new_points,
    pack,
    replace_features,
    set_norm,
)
from sparsekm.runtime.compiled import compiled


@compiled
def climb(rows, labels, n_clusters, weight_step, min_size, gain):
    """Improve `labels` in place; return the objective.

    `rows` are an array of float64 or SparseRows. Clusters short of samples are filled. `gain` is
    the share of the objective that a round must gain for another sweep, that must have been gained
    since clusters merged and split for them to do so again, and that each such move must gain.
    """
    n, p = rows.shape
    scores = np.empty(p)
    support = np.empty(p, np.int64)
    values = np.empty(p)
    sums = np.empty((n_clusters, p))
    sizes = np.empty(n_clusters, np.int64)
    before = np.empty_like(labels)
    held = support[:0]
    factor = np.float32(np.nan)
    packed = pack(rows, held, values[:0].astype(np.float32))
    fill_short_clusters(rows, labels, sizes, n_clusters, min_size)
    sum_rows(rows, labels, sums, sizes)
    score(sums, sizes, n, scores)
    before_round = 0.0
    # Of two clusters none is left to split.
    regrouped = 0.0 if n_clusters > 2 else np.inf
    while True:
        size = weight_step.weigh_into(scores, support, values)
        objective = weighted_sum(scores, support[:size], values[:size])
        settled = objective <= before_round * (1.0 + gain)
        due = objective > regrouped + gain * objective
        if settled and not due:
            return objective
        before_round = objective
        before[:] = labels
        kept = support[:size]
        factors = np.sqrt(values[:size]).astype(np.float32)
        # Few features change from round to round; where all count alike, only these are packed.
        before_factor = factor
        factor = factors[0] if factors.min() == factors.max() else np.float32(np.nan)
        if held.shape[0] == size and factor == before_factor:
            packed = replace_features(rows, kept, factors, held, packed)
        else:
            packed = pack(rows, kept, factors)
            held = kept.copy()
        if not settled:
            centers = new_points(packed, n_clusters)
            centre(packed, labels, centers, sizes)
            settled = exchange_sweep(packed, labels, centers, sizes, min_size) == 0
        if settled:
            if not due:
                return objective
            regrouped = objective
            sizes = merge_and_split(packed, labels, n_clusters, min_size, gain)
            if np.array_equal(labels, before):
                return objective
        shift(rows, before, labels, sums)
        score(sums, sizes, n, scores)


@compiled
def pack_kept(rows, scores, weight_step):
    """Return the features that scores (n_features,) let keep, packed by their weights."""
    support = np.empty(scores.shape[0], np.int64)
    values = np.empty(scores.shape[0])
    size = weight_step.weigh_into(scores, support, values)
    return pack(rows, support[:size], np.sqrt(values[:size]).astype(np.float32))


@compiled
def fill_short_clusters(rows, labels, sizes, n_clusters, min_size):
    """Count the clusters and, only where one is too small, repair it in the full space."""
    sizes[:] = 0
    for k in labels:
        sizes[k] += 1
    if sizes.min() < max(min_size, 1):
        centers = new_points(rows, n_clusters)
        repair_sizes(rows, labels, centers, sizes, min_size)


@compiled
def sum_rows(rows, labels, sums, sizes):
    """Write cluster sums (n_clusters, n_features) and sizes."""
    sums[:] = 0.0
    sizes[:] = 0
    for i in range(rows.shape[0]):
        sizes[labels[i]] += 1
        add_row(rows, i, sums[labels[i]], 1.0)


@compiled
def shift(rows, before, after, sums):
    """Update the cluster sums for the samples whose label changed."""
    for i in range(rows.shape[0]):
        if before[i] != after[i]:
            add_row(rows, i, sums[before[i]], -1.0)
            add_row(rows, i, sums[after[i]], 1.0)


@compiled
def score(sums, sizes, n, scores):
    """Write the scores a_j from cluster sums (n_clusters, n_features)."""
    scores[:] = 0.0
    everyone = np.zeros_like(scores)
    for k in range(sizes.shape[0]):
        inverse = 1.0 / sizes[k]
        total = sums[k]
        for j in range(scores.shape[0]):
            scores[j] += total[j] * total[j] * inverse
            everyone[j] += total[j]
    for j in range(scores.shape[0]):
        scores[j] = max(scores[j] - everyone[j] * everyone[j] / n, 0.0)


@compiled
def weighted_sum(scores, support, values):
    """Return the objective sum_j w_j a_j."""
    total = 0.0
    for q in range(support.shape[0]):
        total += scores[support[q]] * values[q]
    return total


@compiled
def nearest_seeds(packed, n_clusters, draws, labels):
    """Choose seeds by k-means++ and give every sample the label of its nearest one.

    `draws` (n_clusters,) are uniform in [0, 1); `labels` are overwritten.
    """
    n = packed.shape[0]
    distances = np.full(n, np.inf)
    point = new_points(packed, 1)[0]
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
        point[:] = 0.0
        add_row(packed, seed, point, 1.0)
        set_norm(packed, point)
        for i in range(n):
            d = distance(packed, i, point)
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
