"""Prediction by the nearest centre in the kept features, and what a guard does to it."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans

ESTIMATORS = [
    lambda **kw: KMeans(4, **kw),
    lambda **kw: L0KMeans(4, sparsity=6, **kw),
    lambda **kw: L1KMeans(4, sparsity=2.0, **kw),
]
METHODS = pytest.mark.parametrize("make", ESTIMATORS, ids=["kmeans", "l0", "l1"])
# k-means that runs out of rounds ends anywhere and warns; sparse k-means settles in any case.
ROUNDS = [(ESTIMATORS[0], 300), *((make, r) for make in ESTIMATORS[1:] for r in (1, 300))]
METHODS_AND_ROUNDS = pytest.mark.parametrize(
    ("make", "max_iter"),
    ROUNDS,
    ids=["kmeans-300", *(f"{name}-{r}" for name in ("l0", "l1") for r in (1, 300))],
)
RUNS_OUT = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def overlapping(n, p, seed, dtype=np.float64):
    """Four clusters with many samples near the borders, in 6 features."""
    rng = np.random.default_rng(seed)
    centers = np.zeros((4, p))
    centers[:, :6] = rng.normal(scale=1.2, size=(4, 6))
    X = centers[rng.integers(0, 4, size=n)] + rng.standard_normal((n, p))
    return X.astype(dtype)


@RUNS_OUT
@METHODS_AND_ROUNDS
@pytest.mark.parametrize(("n", "dtype"), [(80, np.float64), (2000, np.float64), (2000, np.float32)])
def test_prediction_on_the_training_data_is_the_labels(make, n, dtype, max_iter):
    X = overlapping(n, 30, 5, dtype)
    fit = make(max_iter=max_iter, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(fit.predict(X), fit.labels_)


@pytest.mark.parametrize("search", ["alternate", "global"])
@pytest.mark.parametrize("n", [9, 40, 1500])
def test_prediction_is_the_labels_for_either_search(make_sparse_estimator, search, n):
    X = overlapping(n, 12, 8)
    fit = make_sparse_estimator(search=search, n_init=2, random_state=0).fit(X)
    np.testing.assert_array_equal(fit.predict(X), fit.labels_)


def test_the_borders_of_the_data_are_contested():
    # Else the tests above would hold for any centres near enough.
    X = overlapping(2000, 30, 5)
    fit = KMeans(4, n_init=1, random_state=0).fit(X)
    moved = fit.cluster_centers_ + np.random.default_rng(0).normal(scale=0.05, size=(4, 30))
    nearest = ((X[:, None, :] - moved) ** 2).sum(axis=2).argmin(axis=1)
    assert np.count_nonzero(nearest != fit.labels_) > 10


@METHODS
def test_new_samples_go_to_the_nearest_centre_in_weighted_features(make):
    fit = make(random_state=0).fit(overlapping(150, 20, 1))
    new = overlapping(200, 20, 2)
    squares = (new[:, None, :] - fit.cluster_centers_) ** 2
    distances = squares @ fit.feature_weights_
    np.testing.assert_array_equal(fit.predict(new), distances.argmin(axis=1))


def test_dropped_features_do_not_sway_a_prediction():
    X = overlapping(100, 20, 3)
    fit = L0KMeans(4, sparsity=6, random_state=0).fit(X)
    changed = X.copy()
    changed[:, ~fit.get_support()] = 1e6
    np.testing.assert_array_equal(fit.predict(changed), fit.labels_)


@METHODS
@pytest.mark.parametrize(
    ("n", "search"), [(60, "alternate"), (60, "global"), (400, "global"), (1500, "alternate")]
)
def test_no_cluster_is_smaller_than_the_guard(make, n, search):
    X = overlapping(n, 12, 4)
    # Three outliers that would each like a cluster of their own, however many the samples.
    X[:3] += n * np.eye(12)[:3]
    parameters = {"n_init": 3, "random_state": 0}
    if "search" in make().get_params():
        parameters["search"] = search
    unguarded = make(**parameters).fit(X)
    assert np.bincount(unguarded.labels_).min() <= 3
    for size in (5, n // 4):
        fit = make(min_cluster_size=size, **parameters).fit(X)
        assert np.bincount(fit.labels_, minlength=4).min() >= size
