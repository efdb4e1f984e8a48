"""Clusters moved as a whole, which no single sample can begin."""

import numpy as np

from sparsekm.cluster.kmeans.exchange import between_clusters, centre, exchange_until_stable
from sparsekm.cluster.kmeans.merge_and_split import merge_and_split, split_each


def blobs(rng, n_each=20):
    centers = np.array([[0.0, 0.0], [0.0, 60.0], [60.0, 0.0]])
    X = np.repeat(centers, n_each, axis=0) + rng.standard_normal((3 * n_each, 2))
    return X - X.mean(axis=0)


def stuck_labels(X):
    """Two blobs in one cluster and one in two: no sample moves, but a cluster should."""
    labels = np.repeat([0, 0, 1], 20).astype(np.int32)
    labels[40:50] = 2
    exchange_until_stable(X, labels, 3, 1, 100, 0.0)
    assert labels[0] == labels[20], "exchange moves alone mend it: the claim is not put to the test"
    return labels


def between(X, labels, n_clusters):
    centers, sizes = np.empty((n_clusters, X.shape[1])), np.empty(n_clusters, np.int64)
    centre(X, labels, centers, sizes)
    return between_clusters(centers, sizes)


def are_blobs(labels):
    parts = [set(labels[i : i + 20]) for i in (0, 20, 40)]
    return all(len(part) == 1 for part in parts) and len(set.union(*parts)) == 3


def test_it_mends_what_exchange_moves_leave():
    X = blobs(np.random.default_rng(0))
    labels = stuck_labels(X)
    merge_and_split(X, labels, 3, 1, 0.0)
    assert are_blobs(labels)


def test_a_partition_that_no_move_betters_stays_as_it_is():
    X = blobs(np.random.default_rng(1))
    labels = np.repeat([0, 1, 2], 20).astype(np.int32)
    merge_and_split(X, labels, 3, 1, 0.0)
    assert labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20


def test_the_objective_never_falls_and_no_cluster_falls_short():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 5))
        X -= X.mean(axis=0)
        labels = rng.permutation(np.arange(40) % 6).astype(np.int32)
        before = between(X, labels, 6)
        merge_and_split(X, labels, 6, 4, 0.0)
        assert between(X, labels, 6) >= before * (1 - 1e-12)
        assert np.bincount(labels, minlength=6).min() >= 4


def test_a_split_gains_what_the_between_cluster_sum_gains():
    rng = np.random.default_rng(2)
    X = np.concatenate([[[-4.0, 0.0]] * 3, [[2.0, 0.0]] * 5, rng.standard_normal((12, 2)) + 30])
    X -= X.mean(axis=0)
    labels = np.repeat([0, 1], [8, 12]).astype(np.int32)
    centers, sizes, halves = np.empty((2, 2)), np.empty(2, np.int64), np.zeros(20, np.int8)
    centre(X, labels, centers, sizes)
    gains = split_each(X, labels, centers, sizes, 1, halves)
    split = labels.copy()
    split[:8] = np.where(halves[:8] == 1, 2, 0)
    assert np.bincount(split[:8]).tolist() in ([3, 0, 5], [5, 0, 3])
    np.testing.assert_allclose(gains[0], between(X, split, 3) - between(X, labels, 2))
