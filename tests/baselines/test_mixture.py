"""The penalised mixture: its EM against independent optimisation, and as an estimator."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from sparsekm import PenalizedGaussianMixture
from sparsekm.baselines.penalised_gaussian_mixture import (
    StandardisedData,
    m_step,
    penalty_grid,
    run_em,
)


def test_the_first_step_of_a_toy_is_as_worked_by_hand():
    # Two samples at -1 and two at 1, hard labels, lambda = 1/2. Variance of the feature: 1.
    data = StandardisedData.from_columns(np.array([[-1.0, -1.0, 1.0, 1.0]]))
    tau = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    mixture = m_step(data, tau, np.array([1.0]), 0.5)
    # Sums -2 and 2, drawn to zero by lambda sigma^2 = 1/2, over n_k = 2.
    np.testing.assert_allclose(mixture.means, [[-0.75], [0.75]])
    np.testing.assert_allclose(mixture.variances, [0.25**2])
    np.testing.assert_allclose(mixture.proportions, [0.5, 0.5])


@pytest.mark.parametrize(("penalty", "n_components"), [(0.0, 4), (2.0, 2)])
def test_the_objective_never_falls(penalty, n_components, make_standardised, seed):
    data = make_standardised(80)
    halves = np.arange(n_components)[:, None] % 2 == (np.arange(80) >= 40)
    drawn = np.random.default_rng(seed + 1).random((n_components, 80))
    tau = 0.2 * drawn / drawn.sum(axis=0) + 0.8 * halves * 2 / n_components
    fit = run_em(data, tau, penalty, tol=0.0, max_iter=80)
    assert len(fit.history) > 4
    assert fit.mixture.means.any()
    assert np.diff(fit.history).min() >= -1e-9 * abs(fit.history[-1])


def test_nothing_underflows_with_many_features():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = rng.standard_normal((60, 2000)) + 3 * rng.standard_normal((3, 2000))[labels]
    Z = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    data = StandardisedData.from_columns(np.ascontiguousarray(Z.T))
    fit = run_em(data, (labels == np.arange(3)[:, None]).astype(float), 1.0)
    # Each density is below exp(-745), the smallest number there is.
    assert fit.log_likelihood / 60 < -745
    assert np.isfinite(fit.history).all()
    np.testing.assert_array_equal(fit.responsibilities.argmax(axis=0), labels)
    np.testing.assert_allclose(fit.responsibilities.sum(axis=0), 1)


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
    assert ours.objective_ / 100 - np.log(X.std()) == pytest.approx(theirs.score(X), abs=1e-6)
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
