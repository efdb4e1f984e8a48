"""Groups of features are kept or dropped as a whole, and count as one feature each."""

import itertools

import numpy as np
import pandas as pd
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.containers import VaryingFeatures
from sparsekm.cluster.weight_step import FeatureGroups, SoftThreshold, TopFeatures

NAMES = ["a", "b", "a", "c", "b", "a"]
SCORES = np.array([6.0, 4.0, 3.0, 5.0, 2.0, 0.0])  # means: a 3, b 3, c 5


def weigh(step, scores=SCORES, names=NAMES):
    features = VaryingFeatures(np.ones(len(names), bool), np.zeros(len(names)))
    return FeatureGroups.of_labels(names, features).weigh_groups(step).weigh(scores)


def test_l0_keeps_the_groups_of_largest_mean_and_shares_their_weight():
    np.testing.assert_allclose(weigh(TopFeatures(1.0)), [0, 0, 0, 1, 0, 0])
    # Of two alike the first.
    np.testing.assert_allclose(weigh(TopFeatures(2.0)), [1 / 3, 0, 1 / 3, 1, 0, 1 / 3])


def test_l1_weighs_groups_as_it_weighs_features():
    means = SoftThreshold(1.3).weigh(np.array([3.0, 3.0, 5.0]))
    shared = [means[0] / 3, means[1] / 2, means[0] / 3, means[2], means[1] / 2, means[0] / 3]
    np.testing.assert_allclose(weigh(SoftThreshold(1.3)), shared)


def test_features_each_of_its_own_group_change_no_bit(make_sparse_estimator, faint_data):
    plain = make_sparse_estimator(random_state=0).fit(faint_data.X)
    names = [f"gene {j}" for j in range(25)]
    fit = make_sparse_estimator(random_state=0, feature_groups=names).fit(faint_data.X)
    for name in ("labels_", "feature_weights_", "feature_scores_", "cluster_centers_"):
        np.testing.assert_array_equal(getattr(fit, name), getattr(plain, name))
    assert fit.objective_ == plain.objective_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sparsity", [1, 2])
def test_the_optimum_over_all_partitions_is_found(seed, sparsity, all_partitions, score_by_pairs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 6))
    X[:, [0, 2, 5]] += 1.5 * rng.integers(2, size=(8, 1))
    groups = np.array([7, 3, 7, 9, 3, 7])
    best = 0.0
    for labels in all_partitions(8, 2):
        scores = score_by_pairs(X, labels)
        means = [scores[groups == name].mean() for name in (7, 3, 9)]
        best = max(best, *(sum(some) for some in itertools.combinations(means, sparsity)))
    fit = L0KMeans(2, sparsity=sparsity, feature_groups=groups, random_state=0).fit(X)
    assert fit.objective_ == pytest.approx(best, rel=1e-9)
    assert fit.objective_ == pytest.approx(fit.feature_weights_ @ fit.feature_scores_, rel=1e-12)
    kept = groups[fit.get_support()]
    assert len(np.unique(kept)) == sparsity
    assert fit.get_support().tolist() == np.isin(groups, kept).tolist()


def test_l1_keeps_whole_groups(clear_data):
    groups = np.arange(20) // 2
    fit = L1KMeans(3, sparsity=1.2, feature_groups=groups, random_state=0).fit(clear_data.X)
    assert fit.get_support(indices=True).tolist() == [0, 1, 2, 3]
    weights = fit.feature_weights_.reshape(10, 2)
    np.testing.assert_array_equal(weights[:, 0], weights[:, 1])
    assert np.linalg.norm(weights.sum(axis=1)) == pytest.approx(1)


def test_constant_features_and_groups_have_no_weight(clear_data):
    X = np.column_stack([clear_data.X[:, :4], np.ones((36, 3)), clear_data.X[:, 4:8]])
    groups = ["first", "first", "second", "second", "first", "none", "none", *"wxyz"]
    fit = L0KMeans(3, sparsity=2, feature_groups=groups, random_state=0).fit(X)
    np.testing.assert_allclose(fit.feature_weights_, [0.5] * 4 + [0] * 7)
    everything = L0KMeans(3, sparsity=7, feature_groups=groups, random_state=0).fit(X)
    assert not everything.get_support()[[4, 5, 6]].any()
    # A share is of the six groups that vary.
    half = L0KMeans(3, sparsity=0.34, feature_groups=groups, random_state=0).fit(X)
    np.testing.assert_array_equal(half.feature_weights_, fit.feature_weights_)


def test_the_levels_of_a_category_are_chosen_together():
    rng = np.random.default_rng(0)
    cluster = np.repeat([0, 1, 2], 20)
    table = pd.DataFrame(rng.normal(size=(60, 8))).add_prefix("noise ")
    table["height"] = cluster + 0.3 * rng.normal(size=60)
    table["colour"] = np.array(["red", "green", "blue"])[cluster]
    table["shape"] = rng.choice(["round", "square"], 60)
    levels = pd.get_dummies(table, columns=["colour", "shape"], dtype=float)
    groups = [name.rsplit("_", 1)[0] for name in levels]
    X = (levels - levels.mean()) / levels.std()
    fit = L0KMeans(3, sparsity=2, feature_groups=groups, random_state=0).fit(X)
    kept = levels.columns[fit.get_support()].tolist()
    assert kept == ["height", "colour_blue", "colour_green", "colour_red"]


@pytest.mark.parametrize(
    ("groups", "sparsity", "message"),
    [
        (["a"] * 3, 1, r"feature_groups: shape=\(3,\) should be \(n_features,\)=\(20,\)"),
        (np.arange(20) // 2, 11, r"sparsity=11 should be <= n_features=10"),
        ([None] * 20, 1, r"feature_groups should have no missing value"),
    ],
)
def test_groups_that_cannot_be_are_refused(clear_data, groups, sparsity, message):
    with pytest.raises(ValueError, match=message):
        L0KMeans(3, sparsity=sparsity, feature_groups=groups).fit(clear_data.X)
