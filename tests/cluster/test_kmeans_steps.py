"""The partition steps of k-means: exchanges, batches, and clusters moved as a whole."""

import numpy as np
import pytest

from sparsekm.cluster.alternation import alternate
from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.kmeans.exchange import exchange_until_stable, merge_and_split
from sparsekm.cluster.kmeans.many_samples import (
    WeightedFeatures,
    exchange_in_batches,
)
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.weight_step import SoftThreshold, TopFeatures

WEIGHTS = {
    "equal": np.ones(8),
    "graded": np.array([0.9, 0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.02]),
    "few": np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
}


def best_single_move(X, labels, weights, score, n_clusters):
    """The largest weighted objective that moving one sample to another cluster gives."""
    values = []
    for i in range(len(X)):
        if np.count_nonzero(labels == labels[i]) == 1:
            continue
        for k in range(n_clusters):
            moved = labels.copy()
            moved[i] = k
            values.append(weights @ score(X, moved))
    assert len(values) > len(X)
    return max(values)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_refining_ends_where_no_exchange_gains(weights, score_by_pairs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 8))
    start = rng.integers(0, 3, size=24).astype(np.int32)
    before = start.copy()
    labels = KMeansPartition(3).refine(CentredMatrix(X), weights, start)
    np.testing.assert_array_equal(start, before)
    value = weights @ score_by_pairs(X, labels)
    assert value > weights @ score_by_pairs(X, start)
    assert best_single_move(X, labels, weights, score_by_pairs, 3) <= value * (1 + 1e-12)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_with_many_samples_refining_ends_at_the_nearest_centres(weights):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 8))
    start = rng.integers(0, 3, size=3000).astype(np.int32)
    partition = KMeansPartition(3, max_iter=10_000)
    labels = partition.refine(CentredMatrix(X), weights, start)
    centers = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    distances = ((X[:, None, :] - centers) ** 2) @ weights
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))
    assert (labels != start).mean() > 0.3


@pytest.mark.parametrize("max_iter", [1, 20])
@pytest.mark.parametrize("weight_step", [TopFeatures(3), SoftThreshold(1.5)], ids=["l0", "l1"])
@pytest.mark.parametrize("n", [24, 1500])
def test_the_alternation_ends_with_labels_and_weights_that_agree(n, weight_step, max_iter):
    X = CentredMatrix(np.random.default_rng(3).standard_normal((n, 8)))
    partition = KMeansPartition(3, max_iter=10_000)
    fit = alternate(
        X, partition, weight_step, 8, rng=np.random.default_rng(0), max_iter=max_iter, restart=False
    )
    np.testing.assert_array_equal(partition.refine(X, fit.weights, fit.labels), fit.labels)
    np.testing.assert_array_equal(weight_step.weigh(fit.scores), fit.weights)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("search", ["alternate", "global"])
@pytest.mark.parametrize("max_iter", [1, 20])
@pytest.mark.parametrize(("Estimator", "sparsity"), [(L0KMeans, 5), (L1KMeans, 2.0)])
def test_no_single_move_improves_a_fit(
    faint_data, score_by_pairs, Estimator, sparsity, max_iter, search
):
    X = faint_data.X
    fit = Estimator(
        3, sparsity=sparsity, search=search, n_init=1, max_iter=max_iter, random_state=0
    ).fit(X)
    best = best_single_move(X, fit.labels_, fit.feature_weights_, score_by_pairs, 3)
    assert best <= fit.objective_ * (1 + 1e-12)


def lloyd(X, labels, n_clusters):
    """Lloyd's iteration to its end, in plain NumPy."""
    while True:
        centers = np.array([X[labels == k].mean(axis=0) for k in range(n_clusters)])
        moved = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(moved, labels):
            return labels
        labels = moved


@pytest.mark.parametrize(("max_sweeps", "tol", "min_size"), [(1, 0, 200), (300, 1e-4, 1)])
def test_the_objective_never_falls_and_no_cluster_is_short(max_sweeps, tol, min_size):
    X = CentredMatrix(np.random.default_rng(2).standard_normal((1500, 30)))
    features = WeightedFeatures(np.arange(0, 30, 2), np.linspace(0.1, 1, 15))
    partition = KMeansPartition(5, min_size)
    for seed in range(3):
        start = np.random.default_rng(seed).integers(5, size=1500).astype(np.int32)
        labels, sweeps = exchange_in_batches(
            X, features, start, 5, min_size=min_size, max_sweeps=max_sweeps, tol=tol
        )
        before, after = (
            features.values @ partition.scores(X, found)[features.support]
            for found in (start, labels)
        )
        assert after > before
        assert 1 <= sweeps <= max_sweeps
        assert np.bincount(labels, minlength=5).min() >= min_size


def test_without_structure_it_goes_far_beyond_lloyd():
    """600 features, 1,500 samples, no clusters: Lloyd's samples hold their own centres."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 600))
    X -= X.mean(axis=0)
    matrix, partition = CentredMatrix(X), KMeansPartition(8)
    start = rng.integers(8, size=1500).astype(np.int32)
    plain = lloyd(X, start, 8).astype(np.int32)
    found = partition.refine(matrix, np.ones(600), start)
    assert partition.scores(matrix, found).sum() > 1.05 * partition.scores(matrix, plain).sum()
    # The end is also an end of Lloyd's iteration.
    exact = KMeansPartition(8, max_iter=100_000)
    end = exact.refine(matrix, np.ones(600), found)
    np.testing.assert_array_equal(lloyd(X, end, 8), end)


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


def are_blobs(labels):
    parts = [set(labels[i : i + 20]) for i in (0, 20, 40)]
    return all(len(part) == 1 for part in parts) and len(set.union(*parts)) == 3


def test_it_mends_what_exchange_moves_leave():
    X = blobs(np.random.default_rng(0))
    labels = stuck_labels(X)
    merge_and_split(X, labels, 3, 1, 0.0)
    assert are_blobs(labels)


@pytest.mark.parametrize("seed", range(5))
def test_a_merge_and_split_never_loses_and_no_cluster_falls_short(score_by_pairs, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 5))
    X -= X.mean(axis=0)
    labels = rng.permutation(np.arange(40) % 6).astype(np.int32)
    before = score_by_pairs(X, labels).sum()
    merge_and_split(X, labels, 6, 4, 0.0)
    assert score_by_pairs(X, labels).sum() >= before * (1 - 1e-12)
    assert np.bincount(labels, minlength=6).min() >= 4
