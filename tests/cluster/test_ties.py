"""Ties go to the lowest index, and copies of a feature are treated alike."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans

SEARCHES = ["alternate", "global"]


def copies_then_noise(n_copies, n_noise=4):
    """`n_copies` of one feature that makes two clusters, among columns that do not."""
    rng = np.random.default_rng(0)
    feature = np.repeat([-3.0, 3.0], 8) + rng.normal(scale=0.1, size=16)
    noise = rng.normal(scale=0.5, size=(16, n_noise))
    return np.column_stack([noise[:, :2], *[feature] * n_copies, noise[:, 2:]])


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("n_copies", [2, 13])
def test_of_equal_features_l0_keeps_those_of_lowest_index(search, n_copies):
    X = copies_then_noise(n_copies)
    for sparsity in range(1, n_copies + 1):
        fit = L0KMeans(2, sparsity=sparsity, search=search, random_state=0).fit(X)
        kept = np.flatnonzero(fit.get_support()).tolist()
        assert kept == list(range(2, 2 + sparsity))


@pytest.mark.parametrize("search", SEARCHES)
def test_equal_features_get_equal_bits(search):
    X = copies_then_noise(6)
    for estimator in (L0KMeans(2, sparsity=3), L1KMeans(2, sparsity=2.6)):
        fit = estimator.set_params(search=search, random_state=0).fit(X)
        assert len(set(fit.feature_scores_[2:8])) == 1
    assert len(set(fit.feature_weights_[2:8])) == 1
    assert fit.feature_weights_[2] > 0


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("n_tied", "sparsity", "n_kept"),
    # n_kept is floor(s^2): below sqrt(m) the soft threshold has no root.
    [(4, 1.5, 2), (4, 1.99, 3), (9, 2.0, 4), (9, 2.4, 5), (2, 1.2, 1)],
)
def test_l1_shares_among_the_first_floor_s_squared_of_tied_features(
    search, n_tied, sparsity, n_kept
):
    assert n_kept == int(sparsity**2) < n_tied
    fit = L1KMeans(2, sparsity=sparsity, search=search, random_state=0).fit(
        copies_then_noise(n_tied)
    )
    expected = np.zeros(n_tied + 4)
    expected[2 : 2 + n_kept] = 1 / np.sqrt(n_kept)
    np.testing.assert_allclose(fit.feature_weights_, expected, atol=1e-12)
    assert np.linalg.norm(fit.feature_weights_) == pytest.approx(1, abs=1e-12)
    assert fit.feature_weights_.sum() <= sparsity * (1 + 1e-6)


@pytest.mark.parametrize("search", SEARCHES)
def test_l1_with_ties_at_exactly_sqrt_m_keeps_all_m(search):
    fit = L1KMeans(2, sparsity=2.0, search=search, random_state=0).fit(copies_then_noise(4))
    expected = np.array([0, 0, 0.5, 0.5, 0.5, 0.5, 0, 0])
    np.testing.assert_allclose(fit.feature_weights_, expected, atol=1e-6)
    assert fit.feature_weights_.sum() <= 2 * (1 + 1e-6)


@pytest.mark.parametrize("n_tied", [3, 7])
def test_the_square_root_of_m_means_m_although_it_is_rounded(n_tied):
    fit = L1KMeans(2, sparsity=np.sqrt(n_tied), random_state=0).fit(copies_then_noise(n_tied))
    assert np.count_nonzero(fit.feature_weights_ > 1e-3) == n_tied


@pytest.mark.parametrize("search", SEARCHES)
def test_above_sqrt_m_tied_features_keep_equal_weights_and_others_join(search):
    # The noise scores little: unbound weights have the l1 norm 2.003.
    fit = L1KMeans(2, sparsity=2.001, search=search, random_state=0).fit(copies_then_noise(4))
    tied = fit.feature_weights_[2:6]
    np.testing.assert_allclose(tied, tied[0], rtol=1e-12)
    assert np.count_nonzero(fit.feature_weights_) > 4
    assert fit.feature_weights_.sum() == pytest.approx(2.001, rel=1e-6)


def test_all_features_alike_is_no_obstacle():
    X = np.repeat(np.repeat([0.0, 1.0], 5)[:, None], 6, axis=1)
    fit = L0KMeans(2, sparsity=2, random_state=0).fit(X)
    assert fit.get_support().tolist() == [True, True] + [False] * 4
    fit = L1KMeans(2, sparsity=1.8, random_state=0).fit(X)
    np.testing.assert_allclose(fit.feature_weights_, np.array([1, 1, 1, 0, 0, 0]) / np.sqrt(3))
    fit = L1KMeans(2, random_state=0).fit(X)
    np.testing.assert_allclose(fit.feature_weights_, 1 / np.sqrt(6))


def test_duplicating_every_sample_doubles_the_scores_and_keeps_the_partition(clear_data):
    X = clear_data.X
    fit = L0KMeans(3, sparsity=4, random_state=0).fit(X)
    twice = L0KMeans(3, sparsity=4, random_state=0).fit(np.repeat(X, 2, axis=0))
    assert len(set(zip(np.repeat(fit.labels_, 2), twice.labels_, strict=True))) == 3
    np.testing.assert_allclose(twice.feature_scores_, 2 * fit.feature_scores_, rtol=1e-9, atol=1e-9)
