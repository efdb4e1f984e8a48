"""Answers that can be worked out on paper."""

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


@pytest.mark.parametrize("search", ["alternate", "global", "auto"])
@pytest.mark.parametrize(
    ("sparsity", "weights", "objective"),
    [
        (1, [1, 0, 0, 0], 16),
        (2, [1, 1, 0, 0], 20),
        (2.9, [1, 1, 0, 0], 20),
        (0.5, [1, 1, 0, 0], 20),
        (np.int64(1), [1, 0, 0, 0], 16),
        (4, [1, 1, 1, 1], 20),
        (None, [1, 1, 1, 0], 20),
    ],
)
def test_l0_keeps_the_features_of_largest_score(search, sparsity, weights, objective):
    fit = L0KMeans(2, sparsity=sparsity, search=search, random_state=0).fit(X)
    assert_splits_into_pairs(fit)
    assert fit.feature_weights_.tolist() == weights
    assert fit.objective_ == pytest.approx(objective)


@pytest.mark.parametrize("search", ["alternate", "global", "auto"])
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


@pytest.mark.parametrize("fit_parameters", [{"search": "global"}, {"search": "alternate"}])
def test_learned_attributes_belong_together(fit_parameters, faint_data, score_by_pairs):
    for estimator in (
        L0KMeans(3, sparsity=6, random_state=1, **fit_parameters),
        L1KMeans(3, sparsity=2.2, random_state=1, **fit_parameters),
    ):
        fit = estimator.fit(faint_data.X)
        scores = score_by_pairs(faint_data.X, fit.labels_)
        np.testing.assert_allclose(fit.feature_scores_, scores, rtol=1e-9, atol=1e-9)
        assert fit.objective_ == pytest.approx(
            fit.feature_weights_ @ fit.feature_scores_, rel=1e-12
        )
        for k in range(3):
            members = faint_data.X[fit.labels_ == k]
            np.testing.assert_allclose(fit.cluster_centers_[k], members.mean(axis=0), atol=1e-12)
        assert fit.search_ == fit_parameters["search"]
        assert fit.n_features_in_ == 25
        assert fit.n_iter_ >= 1
        kept = np.flatnonzero(fit.feature_weights_)
        assert np.flatnonzero(fit.get_support()).tolist() == kept.tolist()
        np.testing.assert_array_equal(fit.transform(faint_data.X), faint_data.X[:, kept])
