"""Answers that can be worked out on paper; ties go to the lowest index."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans

# Feature 0 splits the samples into pairs (scores 16), feature 1 does so half as far (4), feature 2
# cuts across them (0), feature 3 is constant (0).
X = np.array(
    [
        [0.0, 0.0, 1.0, 9.0],
        [0.0, 0.0, -1.0, 9.0],
        [4.0, 2.0, 1.0, 9.0],
        [4.0, 2.0, -1.0, 9.0],
    ]
)
SCORES = [16.0, 4.0, 0.0, 0.0]
SEARCHES = ["alternate", "global"]


def assert_splits_into_pairs(fit):
    assert fit.labels_[0] == fit.labels_[1] != fit.labels_[2] == fit.labels_[3]
    np.testing.assert_allclose(fit.feature_scores_, SCORES, atol=1e-12)
    order = [fit.labels_[0], fit.labels_[2]]
    np.testing.assert_allclose(
        fit.cluster_centers_[order], [[0, 0, 0, 9], [4, 2, 0, 9]], atol=1e-12
    )


def test_kmeans_weighs_every_feature_one():
    fit = KMeans(2, random_state=0).fit(X)
    assert_splits_into_pairs(fit)
    # The last feature is constant.
    assert fit.feature_weights_.tolist() == [1, 1, 1, 0]
    assert fit.objective_ == pytest.approx(20)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("sparsity", "weights", "objective"),
    [
        (1, [1, 0, 0, 0], 16),
        (2, [1, 1, 0, 0], 20),
        (2.9, [1, 1, 0, 0], 20),
        (0.5, [1, 1, 0, 0], 20),
        (4, [1, 1, 1, 1], 20),
        (None, [1, 1, 1, 0], 20),
    ],
)
def test_l0_keeps_the_features_of_largest_score(search, sparsity, weights, objective):
    fit = L0KMeans(2, sparsity=sparsity, search=search, random_state=0).fit(X)
    assert_splits_into_pairs(fit)
    assert fit.feature_weights_.tolist() == weights
    assert fit.objective_ == pytest.approx(objective)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("sparsity", "weights"),
    [
        (1, [1, 0, 0, 0]),
        # w_0 + w_1 = 1.2 and w_0^2 + w_1^2 = 1: w = 0.6 +- sqrt(0.14).
        (1.2, [0.6 + np.sqrt(0.14), 0.6 - np.sqrt(0.14), 0, 0]),
        # ||a||_1 / ||a||_2 = 20 / sqrt(272) = 1.2127: from here on the bound does not bind.
        (1.3, np.array([4, 1, 0, 0]) / np.sqrt(17)),
        (2, np.array([4, 1, 0, 0]) / np.sqrt(17)),
        (None, np.array([4, 1, 0, 0]) / np.sqrt(17)),
    ],
)
def test_l1_softly_thresholds_the_scores(search, sparsity, weights):
    fit = L1KMeans(2, sparsity=sparsity, search=search, random_state=0).fit(X)
    assert_splits_into_pairs(fit)
    np.testing.assert_allclose(fit.feature_weights_, weights, atol=1e-9)
    assert fit.objective_ == pytest.approx(np.dot(weights, SCORES))


def test_the_feature_that_clusters_explain_best_wins_over_the_most_variable():
    # Two clusters explain all of feature 0 (a_0 = 8 * 6.5^2 = 338, its variance about 42); of
    # feature 1, the more variable (45), at best 8 * 6^2 = 288.
    X = np.array([[0.0, -9], [0, -3], [0, 3], [0, 9], [13, -9], [13, -3], [13, 3], [13, 9]])
    fit = L0KMeans(2, sparsity=1, search="global", random_state=0).fit(X)
    assert fit.feature_weights_.tolist() == [1, 0]
    assert fit.objective_ == pytest.approx(338)
    assert fit.feature_scores_ == pytest.approx([338, 0])


def copies_then_noise(n_copies, n_noise=4):
    """`n_copies` of one feature that makes two clusters, among columns that do not."""
    rng = np.random.default_rng(0)
    feature = np.repeat([-3.0, 3.0], 8) + rng.normal(scale=0.1, size=16)
    noise = rng.normal(scale=0.5, size=(16, n_noise))
    return np.column_stack([noise[:, :2], *[feature] * n_copies, noise[:, 2:]])


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_features_get_equal_bits(search):
    fit = L1KMeans(2, sparsity=2.6, search=search, random_state=0).fit(copies_then_noise(6))
    assert len(set(fit.feature_scores_[2:8])) == len(set(fit.feature_weights_[2:8])) == 1
    assert fit.feature_weights_[2] > 0
