"""Merge two clusters and split a third: a move that no sample can begin alone.

k-means often ends with two clusters of the data in one and another one in two. Every single sample
then lies where it should; only a cluster that moves as a whole mends it (Ueda et al. 2000,
doi:10.1162/089976600300015088; Ismkhan 2018, doi:10.1016/j.patcog.2018.02.015). What a merger
loses is known from the centres, what a split gains from a k-means inside the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.partition_step import ROUGH_SWEEPS, KMeansPartition
from sparsekm.cluster.scatter import cluster_sizes, matrix_sums

# Mergers and splits tried, the most promising first, before a partition is left as it is.
ATTEMPTS = 2
# A gain below this share of the objective is not worth another move: on many samples k-means ends
# when a sweep gains a third of that, and would go on a little after any move.
SMALLEST_GAIN = 1e-4


def merge_and_split(
    X: CentredMatrix, partition: KMeansPartition, labels: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Merge and split clusters, each time followed by k-means, while that gains.

    Parameters
    ----------
    X : CentredMatrix
        Few dimensions make it cheap.
    partition : KMeansPartition
    labels : ndarray of shape (n_samples,), int32
    rng : numpy.random.Generator
        Draws the seeds of the splits.

    Returns
    -------
    ndarray of shape (n_samples,), int32
        With a between-cluster sum of squares, all features weighing the same, no lower than that
        of `labels`.
    """
    equal = np.ones(X.n_features)
    labels = partition.refine(X, equal, labels)
    best = np.sum(partition.scores(X, labels))
    # Of two clusters none is left to split.
    improved = partition.n_clusters > 2
    while improved:
        improved = False
        for candidate in _candidates(X, partition, labels, rng):
            refined = partition.refine(X, equal, candidate)
            value = np.sum(partition.scores(X, refined))
            if value > best * (1.0 + SMALLEST_GAIN):
                labels, best, improved = refined, value, True
                break
    return labels


def _candidates(X, partition, labels, rng) -> Iterator[np.ndarray]:
    """Yield partitions with two clusters merged and a third one split, those of most gain first."""
    sizes = cluster_sizes(labels, partition.n_clusters)
    gains, halves = _split_each(X, partition, labels, sizes, rng)
    first, second, losses = _merge_pairs(X, labels, sizes)
    # A pair excludes two splits, so no other than these can be among the best.
    splits = np.sort(np.argsort(-gains, kind="stable")[: ATTEMPTS + 2])
    net = gains[splits] - losses[:, None]
    net[(first[:, None] == splits) | (second[:, None] == splits)] = -np.inf
    for position in np.argsort(-net, axis=None, kind="stable")[:ATTEMPTS]:
        pair, place = np.unravel_index(position, net.shape)
        split = splits[place]
        if net[pair, place] > -np.inf:
            moved = labels.copy()
            moved[labels == second[pair]] = first[pair]
            moved[halves[split]] = second[pair]
            yield moved


def _split_each(X, partition, labels, sizes, rng):
    """Return what each cluster gains in two parts, and the samples of one of them.

    A cluster too small for two parts gains minus infinity.
    """
    halving = KMeansPartition(
        2, partition.min_size, max_iter=ROUGH_SWEEPS, n_threads=partition.n_threads
    )
    equal = np.ones(X.n_features)
    gains, halves = np.full(len(sizes), -np.inf), {}
    for k in np.flatnonzero(sizes >= 2 * partition.min_size):
        members = np.flatnonzero(labels == k)
        samples = X.take(members)
        parts = halving.start(samples, equal, rng)
        gains[k] = np.sum(halving.scores(samples, parts))
        halves[k] = members[parts == 1]
    return gains, halves


def _merge_pairs(X, labels, sizes):
    """Return all pairs of clusters, and what the objective loses when they become one."""
    centers = (matrix_sums(X, labels, len(sizes)) / np.maximum(sizes, 1)).T
    first, second = np.triu_indices(len(sizes), 1)
    # One cluster after the other: with many of them all differences at once would not fit.
    rows = [np.sum((center - centers[k + 1 :]) ** 2, axis=1) for k, center in enumerate(centers)]
    distances = np.concatenate(rows)
    joint = np.maximum(sizes[first] + sizes[second], 1)
    return first, second, distances * sizes[first] * sizes[second] / joint
