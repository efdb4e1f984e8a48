"""The consensus of many partitions of the same samples.

The co-association of two samples is the share of the partitions in which they are together;
k-means on its rows gives the consensus (Fred & Jain 2005, doi:10.1109/TPAMI.2005.113).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from sparsekm.cluster.estimators import KMeans
from sparsekm.runtime.threads import one_blas_thread


@one_blas_thread
def coassociation(labels: np.ndarray) -> np.ndarray:
    """Compute the share of partitions in which two samples are together.

    `labels` has the shape (n_partitions, n_samples). The result, (n_samples, n_samples), is
    symmetric, with ones on the diagonal.
    """
    # Numbers of partitions are exact in float32, in which the product takes half the time.
    indicators = _indicators(labels).astype(np.float32).toarray()
    return (indicators @ indicators.T).astype(np.float64) / len(labels)


def consensus_partition(
    labels: np.ndarray, n_clusters: int, *, seed: int = 0, min_cluster_size: int = 1
) -> np.ndarray:
    """Cluster the rows of the co-association; return int32 labels (n_samples,).

    `labels`, of shape (n_partitions, n_samples), are counted from 0. There are fewer clusters where
    the partitions tell fewer groups of samples apart.
    """
    groups, group = np.unique(labels, axis=1, return_inverse=True)
    if groups.shape[1] <= n_clusters:
        return group.astype(np.int32)
    estimator = KMeans(n_clusters, min_cluster_size=min_cluster_size, random_state=seed)
    return estimator.fit(coassociation(labels)).labels_


def agreement(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute the adjusted Rand index of a partition with each of `others` (n_others, n_samples).

    Of partitions of the same shape as `others`, each is compared with its own.

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
    """Compute, for each sample, the share of other partitions that put it into its own cluster.

    The clusters of each row of `others`, (n_others, n_samples), are matched one to one with those
    of `labels` so that most samples agree.
    """
    everyone = np.arange(len(labels))
    return np.mean([match_clusters(labels, other, everyone) == labels for other in others], axis=0)


def match_clusters(
    labels: np.ndarray, other: np.ndarray, samples: np.ndarray, *, mostly: bool = False
) -> np.ndarray:
    """Rename the clusters of another partition after those they match; -1 where they match none.

    As many of `samples` as possible agree. A sample of no cluster, -1, stays so. With `mostly`, two
    clusters match only if they share more than half of the samples of each.
    """
    n_own, n_theirs = int(labels.max()) + 1, int(other.max()) + 1
    samples = samples[other[samples] >= 0]
    codes = labels[samples].astype(np.int64) * n_theirs + other[samples]
    counts = np.bincount(codes, minlength=n_own * n_theirs).reshape(n_own, n_theirs)
    own, theirs = linear_sum_assignment(-counts)
    # The last is that of no cluster.
    match = np.full(n_theirs + 1, -1)
    match[theirs] = own
    if mostly:
        larger = np.maximum(counts.sum(axis=1)[own], counts.sum(axis=0)[theirs])
        match[theirs[2 * counts[own, theirs] <= larger]] = -1
    return match[other]


def _indicators(labels: np.ndarray) -> csr_array:
    """Return the samples x clusters of all partitions, 1 where a sample is in a cluster."""
    n_partitions, n_samples = labels.shape
    width = int(labels.max()) + 1
    columns = (labels.astype(np.int64) + width * np.arange(n_partitions)[:, None]).T.ravel()
    starts = np.arange(0, n_partitions * n_samples + 1, n_partitions)
    shape = (n_samples, width * n_partitions)
    return csr_array((np.ones(len(columns)), columns, starts), shape=shape)
