"""The scores a_j: what they are, and what noise makes of them."""

import numpy as np
import pytest
from sklearn.cluster import KMeans as ReferenceKMeans

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans


def test_scores_are_half_of_the_papers_defining_sum(make_estimator, faint_data, score_by_pairs):
    fit = make_estimator(random_state=3).fit(faint_data.X)
    expected = score_by_pairs(faint_data.X, fit.labels_)
    assert expected.max() > 5
    np.testing.assert_allclose(fit.feature_scores_, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n_clusters", "search"), [(2, "alternate"), (5, "global")])
def test_noise_features_score_k_minus_one_on_average(n_clusters, search):
    n, n_noise = 60, 3000
    rng = np.random.default_rng(n_clusters)
    # Three features decide the partition alone, so it is fixed as far as the noise can tell.
    truth = np.repeat(np.arange(n_clusters), n // n_clusters)
    signal = 100.0 * truth[:, None] * np.array([1.0, -1.0, 2.0])
    X = np.hstack([signal + rng.standard_normal((n, 3)), rng.standard_normal((n, n_noise))])
    fit = L0KMeans(n_clusters, sparsity=3, search=search, random_state=0).fit(X)
    assert len({(a, b) for a, b in zip(truth, fit.labels_, strict=True)}) == n_clusters
    noise_scores = fit.feature_scores_[3:]
    # Chi-squared with K - 1 degrees of freedom.
    error = np.sqrt(2 * (n_clusters - 1) / n_noise)
    assert abs(noise_scores.mean() - (n_clusters - 1)) < 4 * error < 0.25


def test_z_scored_noise_features_score_k_minus_one_on_average():
    n, n_clusters, n_noise = 60, 3, 4000
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((n, n_noise))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0, ddof=1)
    signal = 200.0 * np.repeat(np.arange(3), 20)[:, None]
    fit = L0KMeans(n_clusters, sparsity=1, n_init=5, random_state=0).fit(np.hstack([signal, noise]))
    noise_scores = fit.feature_scores_[1:]
    # a_j / (n - 1) is Beta((K - 1) / 2, (n - K) / 2), of which the mean is (K - 1) / (n - 1).
    alpha, beta = (n_clusters - 1) / 2, (n - n_clusters) / 2
    variance = alpha * beta / ((alpha + beta) ** 2 * (alpha + beta + 1)) * (n - 1) ** 2
    error = np.sqrt(variance / n_noise)
    assert abs(noise_scores.mean() - (n_clusters - 1)) < 4 * error < 0.15


def test_the_objective_and_the_inertia_share_out_the_total(clear_data):
    X = clear_data.X
    fit = KMeans(3, random_state=0).fit(X)
    reference = ReferenceKMeans(3, n_init=20, random_state=0).fit(X)
    total = ((X - X.mean(axis=0)) ** 2).sum()
    assert fit.objective_ == pytest.approx(total - reference.inertia_, rel=1e-10)
    assert fit.objective_ == pytest.approx(fit.feature_scores_.sum(), rel=1e-12)


@pytest.mark.parametrize(("sparsity", "search"), [(np.sqrt(20), "alternate"), (20.0, "global")])
def test_a_bound_beyond_sqrt_p_gives_weights_proportional_to_the_scores(
    clear_data, search, sparsity
):
    fit = L1KMeans(3, sparsity=sparsity, search=search, random_state=0).fit(clear_data.X)
    expected = fit.feature_scores_ / np.linalg.norm(fit.feature_scores_)
    np.testing.assert_allclose(fit.feature_weights_, expected, rtol=1e-9)
    assert fit.objective_ == pytest.approx(np.linalg.norm(fit.feature_scores_), rel=1e-12)


def test_planted_features_are_found(make_sparse_estimator, clear_data):
    fit = make_sparse_estimator(random_state=0).fit(clear_data.X)
    assert fit.get_support().tolist() == clear_data.relevant.tolist()
    assert len(set(zip(clear_data.labels, fit.labels_, strict=True))) == 3
