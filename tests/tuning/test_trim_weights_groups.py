"""Trimming, sample weights and groups of features where sparsity and clusters are chosen."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsekm import GapSearch, L0KMeans, SparseKMeans, classification_error_rate
from sparsekm.cluster.matrices.matrix import CentredMatrix, feature_scores
from sparsekm.simulation import gaussian_clusters
from sparsekm.tuning.references import permuted_reference, reference_objectives

pytestmark = pytest.mark.usefixtures("one_repeat")


@pytest.fixture(scope="module")
def data():
    means = np.outer([4.0, -4.0, 0.0], np.ones(6))
    return gaussian_clusters(means, 15, 40, standardise=False, random_state=3)


@pytest.fixture(scope="module")
def contaminated(data):
    X = data.X.copy()
    rows = np.array([3, 20, 40])
    X[rows] = 50 * np.random.default_rng(0).standard_normal((3, 40))
    return X, rows


def test_a_gap_search_sets_aside_in_data_and_references(data, contaminated):
    X, rows = contaminated
    estimator = L0KMeans(3, trim=0.07, n_init=2)
    search = GapSearch(estimator, sparsities=[6, 40], n_references=2, rule="auto", random_state=0)
    assert search.fit(X).best_sparsity_ == 6
    assert not search.limit_.correlation.is_beyond_chance
    np.testing.assert_array_equal(np.flatnonzero(search.labels_ == -1), rows)
    assert (search.separation(X)["p_adjusted"] <= 0.05).all()
    # References of the clean samples come to nearly the same without the outliers.
    kept = np.setdiff1d(np.arange(45), rows)
    given = np.array([6, 40])
    own = reference_objectives(estimator, X, given, index=0, seed=0)
    alone = reference_objectives(L0KMeans(3, n_init=2), X[kept], given, index=0, seed=0)
    np.testing.assert_allclose(own, alone, rtol=0.1)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_columns_of_a_group_are_permuted_together(kind):
    X = np.arange(24.0).reshape(8, 3) * (np.arange(3) + 1)
    made = permuted_reference(kind(X), index=0, seed=0, groups=np.array([0, 1, 0]))
    made = made.toarray() if kind is csr_array else made
    np.testing.assert_array_equal(np.sort(made, axis=0), X)
    orders = [np.argsort(np.argsort(made[:, j])) for j in range(3)]
    np.testing.assert_array_equal(orders[0], orders[2])
    assert (orders[0] != orders[1]).any()


def test_a_gap_search_chooses_groups(data):
    X = np.column_stack([data.X, np.ones(45)])
    estimator = L0KMeans(3, feature_groups=np.append(np.arange(40) // 2, 99), n_init=2)
    search = GapSearch(estimator, sparsities=[1, 3, 20], n_references=3, random_state=0).fit(X)
    assert search.best_sparsity_ == 3
    assert search.get_support(indices=True).tolist() == [0, 1, 2, 3, 4, 5]
    assert search.results_["n_selected"].tolist() == [2, 6, 40]
    assert len(search.best_estimator_.feature_groups) == 41


@pytest.fixture(scope="module")
def weights():
    weights = np.random.default_rng(0).integers(1, 4, size=45)
    weights[::11] = 0
    return weights


def test_a_gap_search_is_given_samples_as_often_as_they_count(data, weights):
    search = GapSearch(L0KMeans(3, n_init=2), sparsities=[6, 40], n_references=2, rule="auto")
    search.set_params(random_state=0).fit(data.X, sample_weight=weights)
    rows = np.repeat(np.arange(45), weights)
    twice = GapSearch(L0KMeans(3, n_init=2), sparsities=[6, 40], n_references=2, random_state=0)
    twice.fit(data.X[rows])
    np.testing.assert_array_equal(search.labels_[rows], twice.labels_)
    np.testing.assert_array_equal(search.feature_weights_, twice.feature_weights_)
    assert search.results_.equals(twice.results_)
    assert classification_error_rate(data.labels, search.labels_) == 0
    # Copies are no correlation.
    assert not search.limit_.correlation.is_beyond_chance


@pytest.mark.parametrize("sparsity", ["auto", 6])
def test_the_last_alternation_of_sparse_k_means_weighs_samples(data, weights, sparsity):
    fit = SparseKMeans(3, sparsity=sparsity, random_state=0).fit(data.X, sample_weight=weights)
    kept = weights > 0
    assert classification_error_rate(data.labels, fit.labels_) == 0
    plain = SparseKMeans(3, sparsity=sparsity, random_state=0).fit(data.X[kept])
    np.testing.assert_array_equal(fit.labels_[kept], plain.labels_)
    np.testing.assert_array_equal(fit.sample_reproducibility_[kept], plain.sample_reproducibility_)
    assert np.isnan(fit.sample_reproducibility_).tolist() == (weights == 0).tolist()
    for k in range(3):
        own = fit.labels_ == k
        center = np.average(data.X[own], axis=0, weights=weights[own])
        np.testing.assert_allclose(fit.cluster_centers_[k], center, rtol=1e-9)
    scaled = data.X / data.X[kept].std(axis=0, ddof=1)
    rows = np.repeat(np.arange(45), weights)
    scores = feature_scores(CentredMatrix(scaled[rows]), fit.labels_[rows], 3)
    np.testing.assert_allclose(fit.feature_scores_, scores, rtol=1e-9)
    assert fit.objective_ == pytest.approx(fit.feature_weights_ @ scores)


def test_sparse_k_means_sets_outliers_aside(data, contaminated):
    X, rows = contaminated
    fit = SparseKMeans(3, trim=0.07, random_state=0).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(fit.labels_ == -1), rows)
    kept = np.setdiff1d(np.arange(45), rows)
    alone = SparseKMeans(3, random_state=0).fit(X[kept])
    np.testing.assert_array_equal(fit.labels_[kept], alone.labels_)
    np.testing.assert_allclose(fit.cluster_centers_, alone.cluster_centers_, rtol=1e-10)
    np.testing.assert_array_equal(fit.predict(X[kept]), alone.predict(X[kept]))
    assert fit.conclusion_ == alone.conclusion_
    assert fit.predict(X).min() >= 0
    assert np.isnan(fit.sample_reproducibility_[rows]).all()
    assert fit.coassociation_ is None


def test_sparse_k_means_chooses_their_number_without_the_outliers(contaminated):
    X, rows = contaminated
    fit = SparseKMeans("auto", trim=0.07, random_state=0).fit(X)
    assert fit.n_clusters_ == 3
    np.testing.assert_array_equal(np.flatnonzero(fit.labels_ == -1), rows)


def test_weights_beside_trimming_and_shares_that_cannot_be_are_refused(data):
    for estimator in (SparseKMeans(3, trim=0.1), GapSearch(L0KMeans(3, trim=0.1), n_references=2)):
        with pytest.raises(ValueError, match="trim=0.1 should be 0 with sample_weight"):
            estimator.fit(data.X, sample_weight=np.ones(45))
    for trim, message in ((0.5, "should be < 0.5"), (0.4, "leaves 27 of n_samples=45")):
        with pytest.raises(ValueError, match=f"trim={trim} {message}"):
            SparseKMeans(30, trim=trim).fit(data.X)


def test_a_guard_on_the_size_of_clusters_goes_with_weights_and_counts_samples(data):
    weights = np.linspace(1, 3, len(data.X))
    guarded, plain = (
        SparseKMeans(3, min_cluster_size=size, random_state=0).fit(data.X, sample_weight=weights)
        for size in (5, 1)
    )
    np.testing.assert_array_equal(guarded.labels_, plain.labels_)
    np.testing.assert_allclose(guarded.feature_scores_, plain.feature_scores_)
