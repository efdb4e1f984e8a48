"""Merging two clusters and splitting a third leaves optima that no single sample can leave."""

from __future__ import annotations

import numpy as np
import pytest

from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.merge_and_split import _merge_pairs, _split_each, merge_and_split
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.scatter import cluster_sizes


def between(X, labels, n_clusters):
    """Between-cluster sum of squares, from its definition."""
    total = 0.0
    for k in range(n_clusters):
        members = X[labels == k]
        if len(members):
            total += len(members) * np.sum((members.mean(axis=0) - X.mean(axis=0)) ** 2)
    return total


@pytest.fixture(name="far")
def clusters_on_a_line():
    """Five far clusters of 100 samples each: their labels, too."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 100).astype(np.int32)
    X = rng.standard_normal((500, 3))
    X[:, 0] += 100.0 * truth
    return X, truth


def test_one_cluster_for_two_and_two_for_one_are_mended_where_k_means_is_stuck(far):
    X, truth = far
    wrong = truth.copy()
    wrong[truth == 1] = 0
    wrong[(truth == 4) & (X[:, 1] > 0)] = 1
    matrix, partition = CentredMatrix(X), KMeansPartition(5)
    stuck = partition.refine(matrix, np.ones(3), wrong)
    assert np.unique(stuck[truth < 2]).size == 1
    found = merge_and_split(matrix, partition, wrong, np.random.default_rng(1))
    pairs = {(int(a), int(b)) for a, b in zip(found, truth, strict=True)}
    assert len(pairs) == 5


def test_two_such_errors_are_mended_one_after_the_other():
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(8), 60).astype(np.int32)
    X = rng.standard_normal((480, 2)) + 50.0 * np.column_stack([truth, truth**2 % 7])
    wrong = truth.copy()
    wrong[truth == 1], wrong[truth == 3] = 0, 2
    wrong[(truth == 6) & (X[:, 0] > 300)] = 1
    wrong[(truth == 7) & (X[:, 0] > 350)] = 3
    found = merge_and_split(CentredMatrix(X), KMeansPartition(8), wrong, rng)
    assert between(X, found, 8) == pytest.approx(between(X, truth, 8), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_clusters", [2, 3, 9])
def test_the_objective_never_falls_and_the_end_is_one_of_k_means(seed, n_clusters):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((700, 6)) + rng.normal(scale=2, size=(9, 6))[rng.integers(9, size=700)]
    matrix, partition = CentredMatrix(X), KMeansPartition(n_clusters)
    plain = partition.start(matrix, np.ones(6), rng)
    found = merge_and_split(matrix, partition, plain, rng)
    assert between(X, found, n_clusters) >= between(X, plain, n_clusters) * (1 - 1e-12)
    np.testing.assert_array_equal(partition.refine(matrix, np.ones(6), found), found)


def test_from_poor_starts_it_ends_better_than_k_means_alone():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 10))
    X += rng.normal(scale=2, size=(12, 10))[rng.integers(12, size=1500)]
    matrix, partition = CentredMatrix(X), KMeansPartition(12)
    gains = []
    for _ in range(5):
        start = rng.integers(12, size=1500).astype(np.int32)
        plain = partition.refine(matrix, np.ones(10), start)
        found = merge_and_split(matrix, partition, start, rng)
        gains.append(between(X, found, 12) / between(X, plain, 12) - 1)
    assert min(gains) >= 0
    assert np.mean(gains) > 0.01


def test_what_a_merger_loses_and_a_split_gains_is_what_the_objective_says(far):
    X, truth = far
    matrix, sizes = CentredMatrix(X), cluster_sizes(truth, 5)
    whole = between(X, truth, 5)
    for a, b, loss in zip(*_merge_pairs(matrix, truth, sizes), strict=True):
        merged = np.where(truth == b, a, truth)
        assert whole - between(X, merged, 5) == pytest.approx(loss, rel=1e-9)
    partition = KMeansPartition(5)
    gains, halves = _split_each(matrix, partition, truth, sizes, np.random.default_rng(0))
    for k in range(5):
        split = truth.copy()
        split[halves[k]] = 5
        assert between(X, split, 6) - whole == pytest.approx(gains[k], rel=1e-9)


def test_no_cluster_ends_below_the_smallest_allowed():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((400, 2))
    X[:3] += 60.0
    partition = KMeansPartition(4, min_size=20)
    matrix = CentredMatrix(X)
    start = partition.start(matrix, np.ones(2), rng)
    found = merge_and_split(matrix, partition, start, rng)
    assert np.bincount(found, minlength=4).min() >= 20


def test_the_same_generator_gives_the_same_labels_whatever_the_threads():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3000, 8)).astype(np.float32)
    start = rng.integers(7, size=3000).astype(np.int32)
    found = [
        merge_and_split(
            CentredMatrix(X), KMeansPartition(7, n_threads=n), start, np.random.default_rng(4)
        )
        for n in (1, 1, 3)
    ]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
