"""Prediction, guards on sizes, clusters that coincide, and names of labels to start from."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.metrics import classification_error_rate


def overlapping(n, p, seed):
    rng = np.random.default_rng(seed)
    centers = np.zeros((4, p))
    centers[:, :6] = rng.normal(scale=1.2, size=(4, 6))
    return centers[rng.integers(0, 4, size=n)] + rng.standard_normal((n, p))


# k-means that runs out of rounds ends anywhere and warns; sparse k-means settles in any case.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("n", "search", "max_iter"),
    [
        (9, "global", 20),
        (40, "alternate", 1),
        (80, "global", 300),
        (1500, "alternate", 20),
        (2000, "global", 1),
    ],
)
def test_labels_are_predicted_however_a_search_ends(make_sparse_estimator, n, search, max_iter):
    X = overlapping(n, 12, 8).astype(np.float32 if n == 2000 else np.float64)
    make = {"search": search, "max_iter": max_iter, "n_init": 2, "random_state": 0}
    fit = make_sparse_estimator(4, **make).fit(X)
    np.testing.assert_array_equal(fit.predict(X), fit.labels_)


def test_new_samples_go_to_the_nearest_centre_in_weighted_features(make_estimator):
    X, new = overlapping(2000, 20, 1), overlapping(200, 20, 2)
    fit = make_estimator(4, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(fit.predict(X), fit.labels_)
    squares = (new[:, None, :] - fit.cluster_centers_) ** 2
    distances = squares @ fit.feature_weights_
    np.testing.assert_array_equal(fit.predict(new), distances.argmin(axis=1))


@pytest.mark.parametrize(("n", "search"), [(60, "global"), (1500, "alternate")])
def test_no_cluster_is_smaller_than_the_guard(make_estimator, n, search):
    X = overlapping(n, 12, 4)
    # Three outliers that would each like a cluster of their own, however many the samples.
    X[:3] += n * np.eye(12)[:3]
    parameters = {"n_init": 1, "random_state": 0}
    if "search" in make_estimator().get_params():
        parameters["search"] = search
    assert np.bincount(make_estimator(4, **parameters).fit(X).labels_).min() <= 3
    for size in (5, n // 4):
        fit = make_estimator(4, min_cluster_size=size, **parameters).fit(X)
        assert np.bincount(fit.labels_, minlength=4).min() >= size


def test_a_guard_holds_where_searches_start_from_a_sample_too_small_for_it():
    X = np.random.default_rng(0).normal(size=(2300, 5))
    estimator = L0KMeans(5, min_cluster_size=400, n_init=1, random_state=0)
    for labels in estimator.path(X, [2]).labels:
        assert np.bincount(labels, minlength=5).min() >= 400


@pytest.mark.parametrize(("n_samples", "search"), [(60, "global"), (3000, "alternate")])
def test_a_guard_holds_where_the_labels_given_break_it(make_sparse_estimator, n_samples, search):
    X = np.random.default_rng(0).normal(size=(n_samples, 6))
    X[-1] = 100.0
    start = np.zeros(n_samples, dtype=int)
    start[-1] = 1
    estimator = make_sparse_estimator(2, init=start, search=search, min_cluster_size=5, n_init=1)
    for labels in estimator.path(X, [1, 2]).labels:
        assert np.bincount(labels, minlength=2).min() >= 5


@pytest.mark.parametrize(
    ("Estimator", "search"), [(L0KMeans, "alternate"), (L0KMeans, "global"), (L1KMeans, "global")]
)
def test_clusters_with_the_same_centre_are_named(Estimator, search):
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [5.0, 0.0], [5.0, 1.0]], 3, axis=0) + 0.1
    with pytest.warns(UserWarning, match="same centre in the 1 kept features: ") as caught:
        fit = Estimator(3, sparsity=1, search=search, random_state=0).fit(X)
    message = str(caught[0].message)
    first, second = (int(k) for k in message.split("features: ")[1].split(". ")[0].split(", "))
    kept = fit.cluster_centers_[:, fit.get_support()]
    np.testing.assert_allclose(kept[first], kept[second])
    assert caught[0].filename == __file__


def test_names_of_the_labels_to_start_from_do_not_matter(make_sparse_estimator, faint_data):
    start = np.random.default_rng(2).integers(0, 3, size=len(faint_data.X))
    parameters = {"search": "alternate", "n_init": 1, "random_state": 0}
    fit = make_sparse_estimator(init=start, **parameters).fit(faint_data.X)
    assert classification_error_rate(start, fit.labels_) > 0, "the start should not be the end"
    other = make_sparse_estimator(init=np.array([7, 2, 5])[start], **parameters).fit(faint_data.X)
    np.testing.assert_array_equal(other.labels_, fit.labels_)
    np.testing.assert_array_equal(other.feature_weights_, fit.feature_weights_)
