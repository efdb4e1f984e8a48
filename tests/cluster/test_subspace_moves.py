"""Moves of whole clusters are judged by the objective on all features."""

from __future__ import annotations

import numpy as np
import pytest

from sparsekm.cluster import subspace_moves
from sparsekm.cluster.alternation import weigh_partition
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.principal_subspace import reduce_features
from sparsekm.cluster.subspace_moves import regroup, start_elsewhere
from sparsekm.cluster.weight_step import SoftThreshold, TopFeatures

STEPS = [TopFeatures(12), SoftThreshold(2.5)]


@pytest.fixture(scope="module", name="two_views")
def data_with_two_views():
    """Samples that fifteen features put into four clusters, and fifteen others into other four."""
    rng = np.random.default_rng(4)
    first, second = rng.integers(4, size=(2, 800))
    X = rng.standard_normal((800, 40))
    X[:, :15] += 2.0 * rng.standard_normal((4, 15))[first]
    X[:, 15:30] += 2.4 * rng.standard_normal((4, 15))[second]
    return CentredMatrix(X), second.astype(np.int32)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("seed", range(4))
def test_regrouping_never_lowers_the_objective_and_weighs_what_it_finds(two_views, step, seed):
    X, *_ = two_views
    rng = np.random.default_rng(seed)
    partition = KMeansPartition(4)
    fit = weigh_partition(X, partition, step, rng.integers(4, size=800).astype(np.int32))
    found = regroup(X, partition, step, fit, rng)
    assert found.objective > fit.objective
    np.testing.assert_array_equal(found.scores, partition.scores(X, found.labels))
    np.testing.assert_array_equal(found.weights, step.weigh(found.scores))


def test_what_cannot_be_regrouped_is_handed_back(two_views):
    X, second = two_views
    partition, step = KMeansPartition(4), TopFeatures(12)
    fit = weigh_partition(X, partition, step, second)
    for seed in range(20):
        following = regroup(X, partition, step, fit, np.random.default_rng(seed))
        if following is fit:
            return
        fit = following
    pytest.fail("regrouping went on gaining")


def test_a_start_elsewhere_uses_what_tells_a_few_clusters_apart(monkeypatch):
    """Ten features mark each of six clusters: of two that are drawn, no other is used."""
    labels = np.repeat(np.arange(6), 100).astype(np.int32)
    X = 0.1 * np.random.default_rng(0).standard_normal((600, 60))
    for k in range(6):
        X[labels == k, 10 * k : 10 * k + 10] += 3.0
    used = []

    def spy(X, partition, weights, rng):
        used.append(np.flatnonzero(weights) // 10)
        return reduce_features(X, partition, weights, rng)

    monkeypatch.setattr(subspace_moves, "reduce_features", spy)
    drawn = set()
    for seed in range(10):
        used.clear()
        rng = np.random.default_rng(seed)
        start_elsewhere(CentredMatrix(X), KMeansPartition(6), TopFeatures(20), labels, rng)
        marked = np.unique(used[0])
        assert len(marked) == 2
        drawn.add(tuple(marked))
    assert len(drawn) > 3


@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_any_number_of_clusters_gives_a_start(two_views, n_clusters):
    X, *_ = two_views
    labels = (np.arange(800) % n_clusters).astype(np.int32)
    partition = KMeansPartition(n_clusters)
    found = start_elsewhere(X, partition, STEPS[0], labels, np.random.default_rng(0))
    assert np.unique(found.labels).size == n_clusters
    np.testing.assert_array_equal(found.weights, STEPS[0].weigh(found.scores))
