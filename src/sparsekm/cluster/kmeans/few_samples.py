r"""Moves on few samples: one sample changes its cluster, or clusters merge and split.

Moving sample i from its cluster A to B lowers the within-cluster sum of squares by
:math:`\frac{n_A}{n_A - 1} d_{iA}^2 - \frac{n_B}{n_B + 1} d_{iB}^2` (Hartigan & Wong 1979,
doi:10.2307/2346830). If one cluster covers two, and another is split in two, whole clusters have to
move (Ueda et al. 2000, doi:10.1162/089976600300015088).

Data are *packed*: the kept features only, each scaled by the square root of its weight, sample
after sample. During the search float32 is precise enough; the result is refined in float64.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.matrices.sample_rows import (
    add_row,
    distance,
    least_gain,
    measure_block,
    move_mean,
    new_points,
    pack,
    replace_features,
    set_norm,
    swap_terms,
)
from sparsekm.runtime.compiled import compiled

# Sweeps of an intermediate partition, which need not converge.
FEW_SWEEPS = 4
# The number of samples whose distances are computed at once.
BLOCK = 16
# A sweep that gains a smaller share of the objective may have gained only rounding.
ROUNDING = 1e-12


@compiled
def centre(packed, labels, centers, sizes, changed):
    """Write the means and sizes of the clusters that `changed`."""
    for k in range(sizes.shape[0]):
        if changed[k]:
            sizes[k] = 0
            centers[k] = 0.0
    for i in range(packed.shape[0]):
        k = np.int64(labels[i])
        if changed[k]:
            sizes[k] += 1
            add_row(packed, i, centers, k, 1.0)
    for k in range(sizes.shape[0]):
        if changed[k] and sizes[k] > 0:
            for q in range(centers.shape[1]):
                centers[k, q] /= sizes[k]
        set_norm(packed, centers, k)


@compiled
def exchange_sweep(packed, labels, centers, sizes, min_size, distances, changed):
    """Offer every sample, in order, its best move once; return the number of moves.

    A sample of a cluster that may not become smaller is swapped with another one instead.
    `distances` (n_samples, n_clusters) are computed block by block, and only to centres that
    `changed` since the last sweep. If a centre has moved in the meantime, a move must still gain.
    """
    n = packed.shape[0]
    n_clusters = sizes.shape[0]
    unknown = changed.copy()
    changed[:] = False
    moved = np.zeros(n_clusters, np.bool_)
    enough = 1.0 - least_gain(packed)
    moves = 0
    leaves, joins = np.empty(n_clusters), np.empty(n_clusters)
    set_prices(sizes, leaves, joins)
    for first in range(0, n, BLOCK):
        last = min(n, first + BLOCK)
        changed |= moved
        unknown |= moved
        measure_block(packed, first, last, centers, distances[first:last], unknown)
        moved[:] = False
        for i in range(first, last):
            a = np.int64(labels[i])
            if sizes[a] <= min_size:
                other = swap(packed, labels, centers, sizes, i) if sizes[a] > 1 else a
                if other != a:
                    moved[a] = moved[other] = True
                    moves += 1
                continue
            here = distances[i]
            own = here[a]
            best = own * leaves[a] * enough
            target = a
            here[a] = np.inf
            cheaper = 0
            for b in range(n_clusters):
                cheaper += here[b] * joins[b] < best
            if cheaper > 0:
                for b in range(n_clusters):
                    join = here[b] * joins[b]
                    if join < best:
                        best = join
                        target = b
            here[a] = own
            if target == a:
                continue
            if moved[a] or moved[target]:
                leave = distance(packed, i, centers, a) * leaves[a]
                join = distance(packed, i, centers, target) * joins[target]
                if join >= leave * enough:
                    continue
            move(packed, i, centers, sizes, a, target)
            labels[i] = target
            moved[a] = moved[target] = True
            moves += 1
            set_prices(sizes, leaves, joins)
    changed |= moved
    return moves


@compiled
def set_prices(sizes, leaves, joins):
    """Write the costs of leaving and joining each cluster, in squared distances to its centre."""
    for k in range(sizes.shape[0]):
        leaves[k] = sizes[k] / max(sizes[k] - 1.0, 1.0)
        joins[k] = sizes[k] / (sizes[k] + 1.0)


@compiled
def move(packed, i, centers, sizes, a, b):
    """Move a sample from the mean of cluster a to the mean of cluster b."""
    sizes[a] -= 1
    sizes[b] += 1
    move_mean(packed, i, centers, a, sizes[a], -1.0)
    move_mean(packed, i, centers, b, sizes[b], 1.0)


@compiled
def swap(packed, labels, centers, sizes, i):
    """Swap sample i with the sample of another cluster that gains most; return its new cluster.

    Let sample j of cluster b replace i of cluster a, and let d be their difference. The
    between-cluster sum of squares increases by 2 (c_a - c_b) d + (1 / n_a + 1 / n_b) |d|^2.
    """
    a = np.int64(labels[i])
    here = np.empty(sizes.shape[0])
    for k in range(sizes.shape[0]):
        here[k] = distance(packed, i, centers, k)
    point = new_points(packed, 1)
    add_row(packed, i, point, 0, 1.0)
    set_norm(packed, point, 0)
    alongs, squares = np.zeros(packed.shape[0]), np.zeros(packed.shape[0])
    swap_terms(packed, labels, point, centers, a, here, alongs, squares)
    best, partner = 0.0, i
    for j in range(packed.shape[0]):
        spread = squares[j] * (1.0 / sizes[a] + 1.0 / sizes[labels[j]])
        gain = alongs[j] + spread
        if gain > best and gain > least_gain(packed) * spread:
            best = gain
            partner = j
    b = np.int64(labels[partner])
    if b != a:
        move(packed, i, centers, sizes, a, b)
        move(packed, partner, centers, sizes, b, a)
    labels[i], labels[partner] = b, a
    return b


@compiled
def exchange_until_stable(packed, labels, n_clusters, min_size, max_sweeps, tol):
    """Sweep until a sweep gains no more than the share `tol` or rounding; return the sweeps."""
    centers = new_points(packed, n_clusters)
    sizes = np.empty(n_clusters, np.int64)
    repair_sizes(packed, labels, centers, sizes, min_size)
    objective = between_clusters(packed, centers, sizes)
    distances = np.empty((packed.shape[0], n_clusters))
    changed = np.ones(n_clusters, np.bool_)
    for sweep in range(max_sweeps):
        if exchange_sweep(packed, labels, centers, sizes, min_size, distances, changed) == 0:
            return sweep + 1
        # The means are computed anew in each sweep, so that rounding does not accumulate.
        centre(packed, labels, centers, sizes, changed)
        # Moves among identical samples only gain rounding, and could go back and forth.
        gained = between_clusters(packed, centers, sizes)
        if gained <= objective * (1.0 + max(tol, ROUNDING)):
            return sweep + 1
        objective = gained
    return max_sweeps


@compiled
def between_clusters(packed, centers, sizes):
    """Between-cluster sum of squares."""
    total = 0.0
    n, s = packed.shape
    for q in range(s):
        mean = 0.0
        for k in range(sizes.shape[0]):
            mean += sizes[k] * centers[k, q] / n
        for k in range(sizes.shape[0]):
            total += sizes[k] * centers[k, q] * centers[k, q]
        total -= n * mean * mean
    return total


@compiled
def repair_sizes(packed, labels, centers, sizes, min_size):
    """Fill clusters below `min_size` with the samples farthest from their own mean."""
    everyone = np.ones(sizes.shape[0], np.bool_)
    centre(packed, labels, centers, sizes, everyone)
    if sizes.min() >= min_size:
        return
    for k in range(sizes.shape[0]):
        while sizes[k] < min_size:
            chosen = np.int64(-1)
            largest = -1.0
            for i in range(packed.shape[0]):
                a = np.int64(labels[i])
                if a != k and sizes[a] > min_size:
                    d = distance(packed, i, centers, a)
                    if d > largest:
                        chosen = i
                        largest = d
            a = np.int64(labels[chosen])
            move(packed, chosen, centers, sizes, a, k)
            labels[chosen] = k
    centre(packed, labels, centers, sizes, everyone)


@compiled
def merge_and_split(packed, labels, n_clusters, min_size, gain):
    """Merge and split non-empty clusters while that gains more than `gain`; return their sizes."""
    n = packed.shape[0]
    centers = new_points(packed, n_clusters)
    sizes = np.empty(n_clusters, np.int64)
    # No sample has a half yet. Without a value, the first split would depend on freed memory.
    halves = np.full(n, -1, np.int8)
    before = np.empty_like(labels)
    distances = np.empty((n, n_clusters))
    changed = np.ones(n_clusters, np.bool_)
    centre(packed, labels, centers, sizes, changed)
    objective = between_clusters(packed, centers, sizes)
    while True:
        gains = split_each(packed, labels, centers, sizes, min_size, halves)
        first, second, third = best_move(centers[:, : packed.shape[1]], sizes, gains)
        if third < 0:
            return sizes
        before[:] = labels
        for i in range(n):
            if labels[i] == second:
                labels[i] = first
            elif labels[i] == third and halves[i] == 1:
                labels[i] = second
        changed[first] = changed[second] = changed[third] = True
        for _ in range(FEW_SWEEPS):
            centre(packed, labels, centers, sizes, changed)
            if exchange_sweep(packed, labels, centers, sizes, min_size, distances, changed) == 0:
                break
        centre(packed, labels, centers, sizes, changed)
        gained = between_clusters(packed, centers, sizes)
        if gained <= objective * (1.0 + gain):
            if gained < objective:
                labels[:] = before
                changed[:] = True
                centre(packed, labels, centers, sizes, changed)
            return sizes
        objective = gained


@compiled
def split_each(packed, labels, centers, sizes, min_size, halves):
    """Write into which half of its cluster each sample goes; return the gain of each split.

    The halves start from the sample farthest from the centre and the sample farthest from that one.
    """
    n_clusters = centers.shape[0]
    gains = np.full(n_clusters, -np.inf)
    pair = new_points(packed, 2)
    sums = new_points(packed, 2)
    own = packed.shape[1]
    counts = np.empty(2, np.int64)
    for k in range(n_clusters):
        if sizes[k] < 2 * min_size:
            continue
        members = np.flatnonzero(labels == k)
        for half in range(2):
            far_from, at = (centers, k) if half == 0 else (pair, 0)
            seed = farthest(packed, members, far_from, at)
            pair[half] = 0.0
            add_row(packed, seed, pair, half, 1.0)
            set_norm(packed, pair, half)
        for _ in range(FEW_SWEEPS):
            sums[:] = 0.0
            counts[:] = 0
            changed = 0
            for i in members:
                half = 1 if distance(packed, i, pair, 1) < distance(packed, i, pair, 0) else 0
                if half != halves[i]:
                    changed += 1
                halves[i] = half
                counts[half] += 1
                add_row(packed, i, sums, half, 1.0)
            if min(counts[0], counts[1]) == 0:
                break
            for half in range(2):
                for q in range(pair.shape[1]):
                    pair[half, q] = sums[half, q] / counts[half]
                set_norm(packed, pair, half)
            if changed == 0:
                break
        if min(counts[0], counts[1]) >= min_size:
            apart = distance(pair[:, :own], 0, pair[:, :own], 1)
            gains[k] = apart * counts[0] * counts[1] / sizes[k]
    return gains


@compiled
def farthest(packed, members, points, k):
    """Return which of the members is farthest from a point."""
    chosen = members[0]
    largest = -1.0
    for i in members:
        away = distance(packed, i, points, k)
        if away > largest:
            largest = away
            chosen = i
    return chosen


@compiled
def best_move(centers, sizes, gains):
    """Return the pair to merge and the cluster to split that gain most, or -1 if nothing gains."""
    n_clusters = centers.shape[0]
    best, largest = 0.0, gains.max()
    first = second = third = -1
    for a in range(n_clusters):
        for b in range(a + 1, n_clusters):
            apart = distance(centers, a, centers, b)
            loss = apart * sizes[a] * sizes[b] / (sizes[a] + sizes[b])
            if largest - loss <= best:
                continue
            for k in range(n_clusters):
                if k not in (a, b) and gains[k] - loss > best:
                    best = gains[k] - loss
                    first, second, third = a, b, k
    return first, second, third


@compiled
def climb(rows, columns, labels, n_clusters, weight_step, min_size, gain):
    """Improve `labels` in place by alternating weight steps and sweeps; return the objective.

    When a sweep gains no more than the share `gain`, clusters merge and split. `columns` are the
    same data, feature after feature, or `rows` again if they are sparse.
    """
    n, p = rows.shape
    scores = np.empty(p)
    before = np.empty(n, np.int32)
    held = np.empty(0, np.int64)
    factor = np.float32(np.nan)
    packed = pack(rows, held, np.empty(0, np.float32))
    sums, sizes = sum_clusters(rows, labels, n_clusters, min_size)
    score(sums, sizes, n, scores)
    distances = np.empty((n, n_clusters))
    changed = np.empty(n_clusters, np.bool_)
    before_round = 0.0
    # With two clusters, none would be left to split.
    regrouped = 0.0 if n_clusters > 2 else np.inf
    while True:
        kept, values = weight_step.choose(scores)
        objective = (scores[kept] * values).sum()
        settled = objective <= before_round * (1.0 + gain)
        due = objective > regrouped + gain * objective
        if settled and not due:
            return objective
        before_round = objective
        before[:] = labels
        factors = np.sqrt(values).astype(np.float32)
        # Few features change from round to round. If all kept features have the same weight, only
        # the changed ones are packed again.
        before_factor = factor
        factor = factors[0] if (factors == factors[0]).all() else np.float32(np.nan)
        if len(held) == len(kept) and factor == before_factor:
            packed = replace_features(columns, kept, factors, held, packed)
        else:
            packed = pack(rows, kept, factors)
            held = kept
        if not settled:
            centers = means_of(packed, sums, sizes, held, factors)
            changed[:] = True
            moves = exchange_sweep(packed, labels, centers, sizes, min_size, distances, changed)
            settled = moves == 0
        if settled:
            if not due:
                return objective
            regrouped = objective
            sizes = merge_and_split(packed, labels, n_clusters, min_size, gain)
            if (labels == before).all():
                return objective
        shift(rows, before, labels, sums)
        score(sums, sizes, n, scores)


@compiled
def sum_clusters(rows, labels, n_clusters, min_size):
    """Fill clusters that are too small, by all features; return the cluster sums and sizes."""
    sizes = np.bincount(labels, minlength=n_clusters)
    if sizes.min() < min_size:
        repair_sizes(rows, labels, new_points(rows, n_clusters), sizes, min_size)
    sums = np.zeros((n_clusters, rows.shape[1]))
    for i in range(rows.shape[0]):
        add_row(rows, i, sums, np.int64(labels[i]), 1.0)
    return sums, sizes


@compiled
def means_of(packed, sums, sizes, held, factors):
    """Return the packed means of clusters from the sums of all features.

    Position q holds the feature ``held[q]``, times its factor.
    """
    centers = new_points(packed, sizes.shape[0])
    for k in range(sizes.shape[0]):
        for q in range(held.shape[0]):
            centers[k, q] = sums[k, held[q]] / sizes[k] * factors[q]
        set_norm(packed, centers, k)
    return centers


@compiled
def shift(rows, before, after, sums):
    """Update the cluster sums for the samples whose label changed."""
    for i in range(rows.shape[0]):
        if before[i] != after[i]:
            add_row(rows, i, sums, np.int64(before[i]), -1.0)
            add_row(rows, i, sums, np.int64(after[i]), 1.0)


@compiled
def score(sums, sizes, n, scores):
    """Write the scores a_j from cluster sums (n_clusters, n_features)."""
    scores[:] = 0.0
    everyone = np.zeros(scores.shape[0])
    for k in range(sizes.shape[0]):
        scores += sums[k] * sums[k] * (1.0 / sizes[k])
        everyone += sums[k]
    scores[:] = np.maximum(scores - everyone * everyone / n, 0.0)
