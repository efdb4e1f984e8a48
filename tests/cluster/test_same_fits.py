"""What must not matter to a fit: order, shift, scale, layout, threads and jobs."""

import numpy as np
import pytest

from sparsekm.metrics import classification_error_rate

SEARCHES = ["alternate", "global"]


def fit_on(make, X, search, **parameters):
    return make(search=search, random_state=5, **parameters).fit(X)


def assert_same_fit(fit, other, *, samples=None, features=None):
    """`other` was fitted to rows `samples` and columns `features` of the data of `fit`."""
    samples = slice(None) if samples is None else samples
    features = slice(None) if features is None else features
    assert classification_error_rate(fit.labels_[samples], other.labels_) == 0
    np.testing.assert_allclose(
        other.feature_weights_, fit.feature_weights_[features], rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(
        other.feature_scores_, fit.feature_scores_[features], rtol=1e-8, atol=1e-8
    )
    assert other.objective_ == pytest.approx(fit.objective_, rel=1e-10)


@pytest.mark.parametrize("search", SEARCHES)
def test_the_order_of_samples_and_features_does_not_matter(
    make_sparse_estimator, clear_data, search
):
    X, rng = clear_data.X, np.random.default_rng(0)
    samples, features = (rng.permutation(length) for length in X.shape)
    moved = X[np.ix_(samples, features)]
    fit, other = (fit_on(make_sparse_estimator, Z, search) for Z in (X, moved))
    assert_same_fit(fit, other, samples=samples, features=features)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_shift_does_not_matter(make_sparse_estimator, clear_data, search):
    X = clear_data.X
    shift = np.linspace(-1e4, 1e4, X.shape[1])
    fit, other = (fit_on(make_sparse_estimator, Z, search) for Z in (X, X + shift))
    assert_same_fit(fit, other)
    np.testing.assert_allclose(other.cluster_centers_, fit.cluster_centers_ + shift, rtol=1e-9)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scaling_the_data_scales_scores_by_the_square_and_changes_no_label(
    make_sparse_estimator, clear_data, search, scale
):
    fit, other = (
        fit_on(make_sparse_estimator, X, search) for X in (clear_data.X, scale * clear_data.X)
    )
    np.testing.assert_array_equal(other.labels_, fit.labels_)
    np.testing.assert_allclose(other.feature_scores_, scale**2 * fit.feature_scores_, rtol=1e-9)
    np.testing.assert_allclose(other.feature_weights_, fit.feature_weights_, rtol=1e-8, atol=1e-12)
    assert other.objective_ == pytest.approx(scale**2 * fit.objective_, rel=1e-9)


def test_names_of_the_labels_to_start_from_do_not_matter(make_sparse_estimator, faint_data):
    start = np.random.default_rng(2).integers(0, 3, size=len(faint_data.X))
    parameters = {"search": "alternate", "n_init": 1, "random_state": 0}
    fit = make_sparse_estimator(init=start, **parameters).fit(faint_data.X)
    assert classification_error_rate(start, fit.labels_) > 0, "the start should not be the end"
    rng = np.random.default_rng(3)
    for _ in range(3):
        renamed = rng.permutation(3)[start]
        other = make_sparse_estimator(init=renamed, **parameters)
        assert_same_fit(fit, other.fit(faint_data.X))
