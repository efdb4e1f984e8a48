"""Partitions of the same samples: their agreement, matching clusters, and their consensus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.runtime.threads import one_blas_thread


@one_blas_thread
def coassociation(labels: np.ndarray) -> np.ndarray:
    """Compute the share of partitions, (n_partitions, n_samples), that join two samples."""
    n_partitions, n_samples = labels.shape
    width = int(labels.max()) + 1
    places = labels + width * np.arange(n_partitions)[:, None]
    # Counts of partitions are exact in float32, and its product takes half the time.
    indicators = np.zeros((n_samples, width * n_partitions), np.float32)
    indicators[np.arange(n_samples), places] = 1
    return (indicators @ indicators.T).astype(np.float64) / len(labels)


def ambiguous_share(labels: np.ndarray) -> float:
    """Compute the share of pairs of samples that 10 % to 90 % of the partitions join.

    It is 0 if all partitions, (n_partitions, n_samples), agree on all pairs (Senbabaoglu,
    Michailidis & Li 2014, doi:10.1038/srep06207).

    Examples
    --------
    >>> round(ambiguous_share(np.array([[0, 0, 1], [0, 1, 1]])), 3)
    0.667
    """
    together = coassociation(labels)[np.triu_indices(labels.shape[1], 1)]
    return float(((together > 0.1) & (together < 0.9)).mean())


def consensus_partition(
    labels: np.ndarray, n_clusters: int, *, seed: int = 0, min_cluster_size: int = 1
) -> np.ndarray:
    """Cluster the rows of the co-association; return int32 labels (n_samples,).

    There are fewer clusters if the partitions, counted from 0, distinguish fewer groups.
    """
    groups, group = np.unique(labels, axis=1, return_inverse=True)
    if groups.shape[1] <= n_clusters:
        return group.astype(np.int32)
    estimator = KMeans(n_clusters, min_cluster_size=min_cluster_size, random_state=seed)
    return estimator.fit(coassociation(labels)).labels_


def agreement(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute the adjusted Rand index of a partition with each of `others` (n_others, n_samples).

    If `labels` has the shape of `others`, each partition is compared with its own row.

    Examples
    --------
    >>> agreement(np.array([0, 0, 1, 1]), np.array([[1, 1, 0, 0], [0, 1, 0, 1]])).round(2).tolist()
    [1.0, -0.5]
    """
    labels, others = np.asarray(labels), np.asarray(others)
    n_others, n_samples = others.shape
    n_theirs, n_own = int(others.max()) + 1, int(labels.max()) + 1
    codes = (np.arange(n_others)[:, None] * n_theirs + others) * n_own + labels
    tables = np.bincount(codes.ravel(), minlength=n_others * n_theirs * n_own)
    tables = tables.reshape(n_others, n_theirs, n_own).astype(np.float64)

    def pairs(counts, axis):
        return (counts * (counts - 1)).sum(axis=axis) / 2

    both = pairs(tables, (1, 2))
    theirs, mine = pairs(tables.sum(axis=2), 1), pairs(tables.sum(axis=1), 1)
    total = max(1.0, n_samples * (n_samples - 1) / 2)
    chance, largest = theirs * mine / total, (theirs + mine) / 2
    same = largest == chance
    return np.where(same, 1.0, (both - chance) / np.where(same, 1.0, largest - chance))


def sample_reproducibility(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute, for each sample, the share of matched partitions that assign it to its cluster."""
    return np.mean([match_clusters(labels, other) == labels for other in others], axis=0)


def cluster_overlaps(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute the mean Jaccard overlap of each cluster with its match in other partitions.

    The overlap is the number of samples in both, divided by the number in either (Hennig 2007,
    doi:10.1016/j.csda.2006.11.025).

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 0, 1, 1])
    >>> cluster_overlaps(labels, np.array([[1, 1, 1, 0, 0, 0]])).round(3).tolist()
    [0.75, 0.667]
    """
    numbers, overlaps = np.arange(int(labels.max()) + 1)[:, None], []
    for other in others:
        own, theirs = labels == numbers, match_clusters(labels, other) == numbers
        overlaps.append((own & theirs).sum(axis=1) / (own | theirs).sum(axis=1))
    return np.mean(overlaps, axis=0)


def match_clusters(
    labels: np.ndarray, other: np.ndarray, samples: Any = slice(None), *, mostly: bool = False
) -> np.ndarray:
    """Rename the clusters of another partition after their matches; -1 if there is no match.

    The result is int32. Only some `samples` count; by default all do. With `mostly`, two clusters
    match only if they share more than half of the samples of each.
    """
    n_own, n_theirs = int(labels.max()) + 1, int(other.max()) + 1
    mine, their = labels[samples].astype(np.int64), other[samples]
    codes = (mine * n_theirs + their)[their >= 0]
    counts = np.bincount(codes, minlength=n_own * n_theirs).reshape(n_own, n_theirs)
    own, theirs = linear_sum_assignment(-counts)
    # The last label stands for no cluster.
    match = np.full(n_theirs + 1, -1, np.int32)
    match[theirs] = own
    if mostly:
        larger = np.maximum(counts.sum(axis=1)[own], counts.sum(axis=0)[theirs])
        match[theirs[2 * counts[own, theirs] <= larger]] = -1
    return match[other]


class FoldFit(NamedTuple):
    """A partition of all samples, found without those that a fold leaves out.

    It is not a `Fit`, whose labels, weights and scores belong to the same samples.
    """

    drawn: np.ndarray  # (n_drawn,): samples that were fitted, ascending
    left_out: np.ndarray  # (n_left_out,)
    labels: np.ndarray  # (n,): the nearest cluster; once clusters are named, -1 if it has no match
    kept: np.ndarray  # (n_kept,): features of non-zero weight
    screened: np.ndarray  # the features that ranked first, among which fits chose

    def agreement(self, labels: np.ndarray) -> float:
        """Compute the adjusted Rand index with another partition on the samples drawn."""
        return float(agreement(labels[self.drawn], self.labels[None, self.drawn])[0])

    def name_after(self, labels: np.ndarray) -> FoldFit:
        """Name the clusters after those of a result with which they share most of the drawn."""
        named = match_clusters(labels, self.labels, self.drawn, mostly=True)
        return self._replace(labels=named)

    def join(self, cluster_of: np.ndarray) -> FoldFit:
        """Return the fit with each cluster renamed as the one that it is merged into."""
        return self._replace(labels=np.where(self.labels < 0, -1, cluster_of[self.labels]))

    def complete(self, X: np.ndarray | csr_array) -> FoldFit:
        """Assign drawn samples whose cluster has no match to the nearest cluster that has one."""
        labels, own = self.labels.copy(), self.labels[self.drawn]
        known = own >= 0
        if known.any():
            part = as_dense(X[:, self.kept])[self.drawn]
            centers = cluster_centers(part[known], own[known], int(own.max()) + 1)
            distances = np.square(part[~known, None] - centers).sum(axis=2)
            nearest = np.nan_to_num(distances, nan=np.inf).argmin(axis=1)
            labels[self.drawn[~known]] = nearest
        return self._replace(labels=labels)


def place_left_out(folds: Sequence[FoldFit], n_samples: int, n_clusters: int) -> np.ndarray:
    """Return the cluster to which most folds without a sample assign it; -1 if there is none."""
    counts = np.zeros((n_samples, n_clusters), np.int64)
    for fold in folds:
        own = fold.labels[fold.left_out]
        np.add.at(counts, (fold.left_out[own >= 0], own[own >= 0]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1).astype(np.int32)
