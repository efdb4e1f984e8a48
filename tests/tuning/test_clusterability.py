"""Evidence of clusters: seldom where there are none, nearly always where they are clear."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from sparsekm.cluster.estimators import L0KMeans
from sparsekm.simulation.designs import experiment_2
from sparsekm.tuning.clusterability import (
    LARGEST_RATIO,
    association_test,
    copula_reference,
    separation_test,
)
from sparsekm.tuning.resampled_paths import consensus_sparsities, resample_paths

LAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "t3": lambda rng, shape: rng.standard_t(3, size=shape),
}
# Of the resamplings only those that hold features back.
HALVES = range(1, 8, 2)


def draw_halves(X, n_clusters, seed, indices=HALVES):
    grid = consensus_sparsities("l0", X.shape[1])
    return [
        resample_paths(L0KMeans(n_clusters), X, grid, index=index, seed=seed, families=["optimum"])
        for index in indices
    ]


def standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def with_factors(n_samples, n_features, seed):
    """Draw a single Gaussian with strongly correlated features."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_samples, 2)) @ rng.standard_normal((2, n_features))
    return standardise(factors + rng.standard_normal((n_samples, n_features)))


@pytest.mark.parametrize("law", LAWS)
def test_independent_features_without_clusters_seldom_pass(law):
    found = 0
    for seed in range(30):
        X = standardise(LAWS[law](np.random.default_rng(seed), (40, 30)))
        found += association_test(X, draw_halves(X, 2, seed), 0, seed=seed).has_clusters
    # At a level of 5 %, four or more of 30 come up with a chance of 6 %.
    assert found <= 3


def test_clusters_of_experiment_2_pass():
    found = 0
    for seed in range(10):
        X = experiment_2(mu=0.7, n_features=200, random_state=seed).X
        found += association_test(X, draw_halves(X, 3, seed), 0, seed=seed).has_clusters
    assert found >= 9


def test_an_association_is_the_same_for_the_same_seed_and_says_its_p_value():
    X = experiment_2(mu=0.7, n_features=100, random_state=0).X
    halves = draw_halves(X, 3, 0, [1, 3])
    one, again = (association_test(X, halves, 0, seed=1) for _ in range(2))
    assert one == again
    assert one.has_clusters
    # The smallest p-value that 99 permutations can give, twice.
    assert one.reason == (
        "partitions made from half of the features hold in the other half (permutation test, "
        "p = 0.02)"
    )
    noise = np.random.default_rng(0).standard_normal((30, 20))
    none = association_test(noise, draw_halves(noise, 2, 0, [1, 3]), 0, seed=0)
    assert not none.has_clusters
    assert "do not hold in the other half" in none.reason


def test_units_of_features_do_not_matter_to_an_association():
    X = experiment_2(mu=0.7, n_features=60, random_state=0).X
    halves = draw_halves(X, 3, 0, [1, 3])
    scaled = X * np.geomspace(1e-3, 1e3, 60) + 5
    assert association_test(X, halves, 0, seed=1) == association_test(scaled, halves, 0, seed=1)


def test_a_feature_that_is_held_back_and_constant_says_nothing():
    X = np.concatenate([np.random.default_rng(0).standard_normal((30, 6)), np.ones((30, 40))], 1)
    assert not association_test(X, draw_halves(X, 2, 0), 0, seed=0).has_clusters


def test_where_no_feature_is_held_back_there_is_no_evidence():
    X = np.repeat([[0.0], [9.0]], 10, axis=0) + np.random.default_rng(0).random((20, 1))
    found = association_test(X, draw_halves(X, 2, 0), 0, seed=0)
    assert not found.has_clusters
    assert found.reason == "there are too few features to hold some of them back"


def mean_separation(X, n_clusters, seed, grid):
    drawn = [
        resample_paths(L0KMeans(n_clusters), X, grid, index=i, seed=seed, families=["optimum"])
        for i in (0, 2, 4, 6)
    ]
    return np.mean([resampling.separation[0] for resampling in drawn], axis=0)


def test_correlated_features_without_clusters_are_not_separated():
    grid = np.array([5.0, 20.0])
    found = 0
    for seed in range(10):
        X = with_factors(50, 40, seed)
        separation = mean_separation(X, 2, seed, grid)
        found += separation_test(
            L0KMeans(2), X, grid, separation, "optimum", seed=seed
        ).has_clusters
    assert found <= 1


def test_clear_clusters_in_correlated_features_are_separated():
    grid = np.array([5.0, 20.0])
    for seed in range(3):
        X = with_factors(60, 40, seed)
        X[:20, :20] += 4 * np.random.default_rng(seed).choice([-1, 1], 20)
        X = standardise(X)
        separation = mean_separation(X, 2, seed, grid)
        assert separation.min() < LARGEST_RATIO
        found = separation_test(L0KMeans(2), X, grid, separation, "optimum", seed=seed)
        assert found.has_clusters, found.reason
        assert f"left out is {separation.min():.2f}" in found.reason


def test_a_ratio_like_that_of_a_cloud_is_no_evidence_whatever_the_references():
    found = separation_test(
        L0KMeans(2), np.eye(6), np.array([2.0]), np.array([1.5, 1.4]), "optimum", seed=0
    )
    assert not found.has_clusters
    assert "margin ratio of 1.40" in found.reason


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("law", LAWS)
def test_copula_references_keep_every_margin_exactly(law, dtype):
    X = LAWS[law](np.random.default_rng(0), (50, 12)).astype(dtype)
    X[:, 0] = np.repeat([1.0, 2.0], 25)
    X[:, 1] = 3.0
    reference = copula_reference(X, index=0, seed=0)
    assert reference.dtype == dtype
    np.testing.assert_array_equal(np.sort(reference, axis=0), np.sort(X, axis=0))
    assert (reference != X).any()
    np.testing.assert_array_equal(copula_reference(X, index=0, seed=0), reference)
    assert (copula_reference(X, index=1, seed=0) != reference).any()
    assert (copula_reference(X, index=0, seed=1) != reference).any()


def test_copula_references_keep_rank_correlations_roughly():
    X = np.exp(with_factors(400, 10, 0))
    reference = copula_reference(X, index=0, seed=0)
    own, drawn = (spearmanr(data).statistic[np.triu_indices(10, 1)] for data in (X, reference))
    assert np.abs(own).max() > 0.5
    assert np.abs(own - drawn).mean() < 0.07


def test_copula_references_forget_clusters():
    X = np.random.default_rng(0).standard_normal((200, 10))
    X[:, :5] += 12 * (np.arange(200) % 2)[:, None] * np.array([1, 1, 1, -1, -1])
    grid = np.array([5.0])
    own, reference = (
        mean_separation(data, 2, 0, grid)[0] for data in (X, copula_reference(X, index=0, seed=0))
    )
    assert own < 1.05
    assert reference > own
