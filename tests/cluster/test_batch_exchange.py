"""Exchange moves in batches: never worse, better than Lloyd where samples hold their centres."""

import numpy as np
import pytest

from sparsekm.cluster.kmeans.assignment import WeightedFeatures, cheapest_centers
from sparsekm.cluster.kmeans.batch_exchange import exchange_factors, exchange_in_batches
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition


def lloyd(X, labels, n_clusters):
    """Lloyd's iteration to its end, in plain NumPy."""
    while True:
        centers = np.array([X[labels == k].mean(axis=0) for k in range(n_clusters)])
        moved = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(moved, labels):
            return labels
        labels = moved


def test_the_factors_are_the_gain_of_an_exchange(score_by_pairs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    labels = rng.integers(3, size=30).astype(np.int32)
    sizes = np.bincount(labels)
    stay, join = exchange_factors(sizes)
    centers = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    for i in range(10):
        a = labels[i]
        for b in range(3):
            if b == a:
                continue
            moved = labels.copy()
            moved[i] = b
            gain = score_by_pairs(X, moved).sum() - score_by_pairs(X, labels).sum()
            away = stay[a] * ((X[i] - centers[a]) ** 2).sum()
            there = join[b] * ((X[i] - centers[b]) ** 2).sum()
            assert gain == pytest.approx(away - there, rel=1e-9)


def test_every_sample_goes_where_it_costs_least():
    rng = np.random.default_rng(1)
    X, centers = rng.standard_normal((700, 9)), rng.standard_normal((5, 9))
    labels = rng.integers(5, size=700).astype(np.int32)
    values = rng.random(9) + 0.1
    stay, join = rng.random(5) + 1, rng.random(5) + 0.2
    found = cheapest_centers(
        np.ascontiguousarray(X.T),
        WeightedFeatures(np.arange(9), values),
        centers.T,
        labels,
        (X**2) @ values,
        stay=stay,
        join=join,
        n_threads=2,
    )
    costs = ((X[:, None] - centers) ** 2) @ values
    factors = np.tile(join, (700, 1))
    factors[np.arange(700), labels] = stay[labels]
    np.testing.assert_array_equal(found, (costs * factors).argmin(axis=1))


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
