"""The penalised mixture as an estimator: choice of the penalty, support, scales."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from sparsekm import PenalizedGaussianMixture
from sparsekm.baselines.penalised_em import Mixture, MixtureFit
from sparsekm.baselines.penalty_path import choose_fit, modified_bic, penalty_grid


def make_fit(means, log_likelihood=-100.0):
    means = np.asarray(means, dtype=float)
    mixture = Mixture(np.full(len(means), 1 / len(means)), means, np.ones(means.shape[1]))
    return MixtureFit(mixture, np.zeros((len(means), 1)), log_likelihood, 0.0, (), True)


def test_the_modified_bic_counts_no_mean_at_zero():
    fit = make_fit([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    # K = 2, p = 3, q = 3: d_e = 2 + 3 + 6 - 1 - 3 = 7.
    assert modified_bic(fit, 50) == pytest.approx(200 + 7 * np.log(50))


def test_a_fit_without_features_is_chosen_only_where_there_is_no_other():
    fits = [make_fit([[1.0]]), make_fit([[1.0]]), make_fit([[0.0]])]
    assert choose_fit(fits, np.array([5.0, 4.0, 1.0])) == 1
    assert choose_fit(fits[2:] * 2, np.array([3.0, 2.0])) == 1


def test_the_grid_ends_below_the_penalty_that_drops_all(make_standardised):
    data = make_standardised()
    grid = penalty_grid(data, 3, 6)
    assert len(grid) == 6
    assert grid[0] == 0
    assert (np.diff(grid) > 0).all()
    highest = 0.5 * np.abs(data.rows).sum(axis=0).max()
    assert grid[-1] < highest
    all_dropped = PenalizedGaussianMixture(2, penalty=highest, random_state=0).fit(data.rows)
    assert all_dropped.feature_weights_.tolist() == [0.0] * 12
    assert all_dropped.labels_.tolist() == [0] * 40


def test_noise_features_are_dropped_and_relevant_ones_kept(easy_data):
    fit = PenalizedGaussianMixture(3, random_state=0).fit(easy_data.X)
    assert fit.feature_weights_.tolist() == [1.0] * 4 + [0.0] * 26
    np.testing.assert_array_equal(fit.get_support(), easy_data.relevant)
    # A dropped feature has one mean for all clusters: the overall one.
    np.testing.assert_allclose(fit.means_[:, 4:], np.tile(easy_data.X[:, 4:].mean(axis=0), (3, 1)))
    np.testing.assert_allclose(fit.covariances_[4:], easy_data.X[:, 4:].var(axis=0))


def test_the_chosen_penalty_has_the_lowest_bic(easy_data):
    fit = PenalizedGaussianMixture(3, n_penalties=7, random_state=0).fit(easy_data.X)
    assert fit.penalties_.shape == fit.bics_.shape == (7,)
    assert fit.penalty_ == fit.penalties_[fit.bics_.argmin()]
    alone = PenalizedGaussianMixture(3, penalty=fit.penalty_, random_state=0).fit(easy_data.X)
    np.testing.assert_array_equal(alone.labels_, fit.labels_)
    np.testing.assert_array_equal(alone.feature_weights_, fit.feature_weights_)


def test_without_penalty_it_agrees_with_scikit_learns_tied_mixture():
    # With one feature a tied covariance is a common diagonal one.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-3, 1, 40), rng.normal(2, 1, 60)])[:, None]
    ours = PenalizedGaussianMixture(2, penalty=0.0, tol=1e-9, max_iter=2000, random_state=0).fit(X)
    theirs = GaussianMixture(
        2, covariance_type="tied", tol=1e-10, reg_covar=0, max_iter=2000, random_state=0
    ).fit(X)
    order = np.argsort(theirs.means_[:, 0])
    ours_order = np.argsort(ours.means_[:, 0])
    np.testing.assert_allclose(ours.means_[ours_order], theirs.means_[order], rtol=1e-3)
    np.testing.assert_allclose(ours.weights_[ours_order], theirs.weights_[order], rtol=1e-3)
    np.testing.assert_allclose(ours.covariances_, theirs.covariances_[0], rtol=1e-3)
    log_likelihood = ours.objective_ / 100 - np.log(X.std())
    assert log_likelihood == pytest.approx(theirs.score(X), abs=1e-6)
    np.testing.assert_allclose(
        ours.predict_proba(X)[:, ours_order], theirs.predict_proba(X)[:, order], atol=1e-3
    )


def test_units_and_origin_of_a_feature_change_nothing(easy_data):
    scales = np.logspace(-3, 3, 30)
    plain = PenalizedGaussianMixture(3, random_state=0).fit(easy_data.X)
    scaled = PenalizedGaussianMixture(3, random_state=0).fit(easy_data.X * scales + 50)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)
    np.testing.assert_array_equal(scaled.feature_weights_, plain.feature_weights_)
    np.testing.assert_allclose(scaled.means_, plain.means_ * scales + 50, rtol=1e-6)
    np.testing.assert_allclose(scaled.covariances_, plain.covariances_ * scales**2, rtol=1e-6)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-8)
