"""Merge two clusters and split a third: a move that no sample can begin alone.

k-means often ends with two clusters of the data in one and another one in two. Every single sample
then lies where it should; only clusters that move as a whole mend it (Ueda et al. 2000,
doi:10.1162/089976600300015088). What a merger loses is known from the centres, what a split gains
from a k-means inside the cluster.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.exchange import (
    FEW_SWEEPS,
    between_clusters,
    centre,
    exchange_sweep,
    square_distance,
)
from sparsekm.runtime.compiled import compiled


@compiled
def merge_and_split(packed, labels, n_clusters, min_size, gain):
    """Merge and split clusters while that gains, with a few sweeps after every move; return sizes.

    `labels`, of which no cluster may be empty, are overwritten. A move that gains no more than the
    share `gain` of the objective is the last.
    """
    n, s = packed.shape
    centers = np.empty((n_clusters, s))
    sizes = np.empty(n_clusters, np.int64)
    halves = np.empty(n, np.int8)
    before = np.empty_like(labels)
    centre(packed, labels, centers, sizes)
    objective = between_clusters(centers, sizes)
    while True:
        gains = split_each(packed, labels, centers, sizes, min_size, halves)
        first, second, third = best_move(centers, sizes, gains)
        if third < 0:
            return sizes
        before[:] = labels
        for i in range(n):
            if labels[i] == second:
                labels[i] = first
            elif labels[i] == third and halves[i] == 1:
                labels[i] = second
        for _ in range(FEW_SWEEPS):
            centre(packed, labels, centers, sizes)
            if exchange_sweep(packed, labels, centers, sizes, min_size) == 0:
                break
        centre(packed, labels, centers, sizes)
        gained = between_clusters(centers, sizes)
        if gained <= objective * (1.0 + gain):
            if gained < objective:
                labels[:] = before
                centre(packed, labels, centers, sizes)
            return sizes
        objective = gained


@compiled
def split_each(packed, labels, centers, sizes, min_size, halves):
    """Write into which half of its cluster each sample goes; return what each split gains.

    The halves grow from the sample farthest from the centre and the one farthest from that.
    A cluster too small for two halves gains minus infinity.
    """
    n_clusters, s = centers.shape
    gains = np.full(n_clusters, -np.inf)
    order = np.argsort(labels, kind="mergesort")
    stop = 0
    pair = np.empty((2, s))
    sums = np.empty((2, s))
    counts = np.empty(2, np.int64)
    for k in range(n_clusters):
        start = stop
        stop = start + sizes[k]
        if sizes[k] < 2 * max(min_size, 1):
            continue
        members = order[start:stop]
        pair[0] = packed[farthest(packed, members, centers[k])]
        pair[1] = packed[farthest(packed, members, pair[0])]
        for _ in range(FEW_SWEEPS):
            sums[:] = 0.0
            counts[:] = 0
            changed = 0
            for i in members:
                x = packed[i]
                half = 1 if square_distance(x, pair[1]) < square_distance(x, pair[0]) else 0
                if half != halves[i]:
                    changed += 1
                halves[i] = half
                counts[half] += 1
                for q in range(s):
                    sums[half, q] += x[q]
            if counts.min() == 0:
                break
            for half in range(2):
                for q in range(s):
                    pair[half, q] = sums[half, q] / counts[half]
            if changed == 0:
                break
        if counts.min() >= max(min_size, 1):
            apart = square_distance(pair[0], pair[1])
            gains[k] = apart * counts[0] * counts[1] / sizes[k]
    return gains


@compiled
def farthest(packed, members, point):
    """Return which of the members is farthest from a point."""
    chosen = members[0]
    largest = -1.0
    for i in members:
        distance = square_distance(packed[i], point)
        if distance > largest:
            largest = distance
            chosen = i
    return chosen


@compiled
def best_move(centers, sizes, gains):
    """Return the pair to merge and the cluster to split that gain most, or -1 where none gains."""
    n_clusters = centers.shape[0]
    best = 0.0
    first = second = third = -1
    for a in range(n_clusters):
        for b in range(a + 1, n_clusters):
            apart = square_distance(centers[a], centers[b])
            loss = apart * sizes[a] * sizes[b] / (sizes[a] + sizes[b])
            for k in range(n_clusters):
                if k not in (a, b) and gains[k] - loss > best:
                    best = gains[k] - loss
                    first, second, third = a, b, k
    return first, second, third
