"""The consensus of many partitions.

The co-association of two samples is the share of the partitions in which they are together. Its
leading eigenvectors are the left singular vectors of the samples x clusters indicator matrix, which
is sparse, so that no matrix of all pairs is needed. k-means on them gives the consensus (Fred &
Jain 2005, doi:10.1109/TPAMI.2005.113; spectral form: Strehl & Ghosh 2002, JMLR 3, 583-617). If
there are many clusters of very unequal size, the leading axes split large clusters and miss small
ones; a vote of the partitions does not (Dudoit & Fridlyand 2003,
doi:10.1093/bioinformatics/btg038).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from sklearn.utils.extmath import randomized_svd

from sparsekm.cluster.estimators import KMeans
from sparsekm.runtime.threads import one_blas_thread

# Power iterations of a sparse decomposition: axes that count are much longer than the rest.
N_ITERATIONS = 10
# Rounds of a vote: it settles within a few.
N_ROUNDS = 20


def coassociation(labels: np.ndarray) -> np.ndarray:
    """Compute the share of partitions in which two samples are together.

    `labels` has the shape (n_partitions, n_samples). The result, (n_samples, n_samples), is
    symmetric, with ones on the diagonal.
    """
    indicators = _indicators(labels)
    return (indicators @ indicators.T).toarray() / len(labels)


def consensus_partition(
    labels: np.ndarray, n_clusters: int, *, seed: int = 0, weights: np.ndarray | None = None
) -> np.ndarray:
    """Cluster the co-association by its leading eigenvectors; return int32 labels (n_samples,).

    `labels`, of shape (n_partitions, n_samples), are counted from 0. `weights` is the weight of
    each partition, by default the same for all.
    """
    axes = _leading_axes(_indicators(labels, weights), n_clusters)
    # Samples that no partition tells apart coincide: there may be no more groups than clusters.
    groups, group = np.unique(axes.round(9), axis=0, return_inverse=True)
    if len(groups) <= n_clusters:
        return group.astype(np.int32)
    return KMeans(n_clusters, random_state=seed).fit(axes).labels_


def medoid_partition(labels: np.ndarray, *, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the partition, of shape (n_samples,), that agrees most with all, including itself.

    `labels` and `weights` are as in `consensus_partition`.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    return labels[int(np.argmax([agreement(one, labels) @ weights for one in labels]))]


def voted_partition(
    labels: np.ndarray, start: np.ndarray, *, weights: np.ndarray | None = None
) -> np.ndarray:
    """Let partitions vote on the cluster of every sample until nothing changes.

    The clusters of each partition are matched one to one with those of the previous vote so that
    most samples agree. The weighted number of votes that agree with the result never decreases.
    `labels` and `weights` are as in `consensus_partition`; `start`, of shape (n_samples,), is the
    first partition. The result is int32 of the same shape, with no more clusters than `start`;
    every label from 0 to the largest occurs.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    samples = np.arange(len(start))
    voted = np.asarray(start)
    for _ in range(N_ROUNDS):
        votes = np.zeros((len(start), int(voted.max()) + 1))
        for other, weight in zip(labels, weights, strict=True):
            own = _matched(voted, other)
            # A cluster beyond those of the vote is matched with none.
            votes[samples[own >= 0], own[own >= 0]] += weight
        winner = votes.argmax(axis=1)
        # A tie changes nothing.
        ahead = votes[samples, winner] > votes[samples, voted]
        if not ahead.any():
            break
        voted = np.where(ahead, winner, voted)
    return np.unique(voted, return_inverse=True)[1].astype(np.int32)


def agreement(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute the adjusted Rand index with each of `others`, of shape (n_others, n_samples)."""
    return np.array([_adjusted_rand(labels, other) for other in others])


def sample_confidence(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Compute, for each sample, the share of other partitions that put it into its own cluster.

    The clusters of each row of `others`, (n_others, n_samples), are matched one to one with those
    of `labels` so that most samples agree.
    """
    share = np.zeros(len(labels))
    for other in others:
        share += _matched(labels, other) == labels
    return share / len(others)


def _matched(labels: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rename the clusters of another partition after those they match; -1 where they match none."""
    own, theirs = linear_sum_assignment(-_contingency(labels, other))
    match = np.full(int(other.max()) + 1, -1)
    match[theirs] = own
    return match[other]


def _contingency(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    codes = a.astype(np.int64) * n_b + b
    return np.bincount(codes, minlength=n_a * n_b).reshape(n_a, n_b)


def _adjusted_rand(a: np.ndarray, b: np.ndarray) -> float:
    table = _contingency(a, b).astype(np.float64)
    pairs, rows, columns, total = (
        float((counts * (counts - 1)).sum() / 2)
        for counts in (table, table.sum(axis=1), table.sum(axis=0), np.array([float(len(a))]))
    )
    chance = rows * columns / total if total else 0.0
    largest = (rows + columns) / 2
    return 1.0 if largest == chance else (pairs - chance) / (largest - chance)


def _indicators(labels: np.ndarray, weights: np.ndarray | None = None) -> csr_matrix:
    labels = np.asarray(labels)
    n_partitions, n_samples = labels.shape
    width = int(labels.max()) + 1
    columns = (labels.astype(np.int64) + width * np.arange(n_partitions)[:, None]).T.ravel()
    starts = np.arange(0, n_partitions * n_samples + 1, n_partitions)
    shape = (n_samples, width * n_partitions)
    entries = np.ones(n_partitions) if weights is None else np.sqrt(weights)
    matrix = csr_matrix((np.tile(entries, n_samples), columns, starts), shape=shape)
    return matrix[:, np.flatnonzero(np.diff(matrix.tocsc().indptr))]


@one_blas_thread
def _leading_axes(indicators: csr_matrix, n_axes: int) -> np.ndarray:
    if n_axes >= min(indicators.shape) // 2:
        left, values, _ = np.linalg.svd(indicators.toarray(), full_matrices=False)
        return left[:, :n_axes] * values[:n_axes]
    # Not `scipy.sparse.linalg.svds`: where axes are equally long, it draws from entropy of its own.
    left, values, _ = randomized_svd(indicators, n_axes, n_iter=N_ITERATIONS, random_state=0)
    return left * values
