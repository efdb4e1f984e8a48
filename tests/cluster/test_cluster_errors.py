"""Each refusal holds the value, the rule and the bound."""

import re

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.containers import StreamedMatrix

N, P = 12, 10


@pytest.fixture(scope="module", name="X")
def data_matrix():
    return np.random.default_rng(0).standard_normal((N, P))


def assert_refused(fit, *parts, error=ValueError):
    """Assert that `fit` raises `error` with every part of the message."""
    with pytest.raises(error) as caught:
        fit()
    message = str(caught.value)
    missing = [part for part in parts if not re.search(part, message)]
    assert not missing, f"{missing} not in: {message}"


@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_values_that_are_not_finite_are_refused(make_estimator, X, value, name):
    bad = X.copy()
    bad[3, 4] = value
    assert_refused(lambda: make_estimator(2).fit(bad), name)
    fit = make_estimator(2).fit(X)
    assert_refused(lambda: fit.predict(bad), name)
    assert_refused(lambda: fit.transform(bad), name)


def test_more_clusters_than_samples_are_refused(make_estimator, X):
    assert_refused(lambda: make_estimator(13).fit(X), "n_samples=12", ">=", "n_clusters=13")


def test_more_clusters_than_distinct_samples_are_refused(make_estimator, X):
    repeated = np.repeat(X[:3], 4, axis=0)
    assert_refused(
        lambda: make_estimator(4).fit(repeated), "n_clusters=4", "<=", "distinct samples", r"\b3\b"
    )
    zeros = repeated.copy()
    zeros[:2, 0] = [0.0, -0.0]  # equal numbers of different bits are not distinct
    zeros[:2, 1:] = 0.0
    distinct = len(np.unique(zeros, axis=0))
    assert_refused(lambda: make_estimator(distinct + 1).fit(zeros), "distinct", f"{distinct}")


@pytest.mark.parametrize("sparsity", [0, -1, -0.5, 0.0])
def test_an_l0_sparsity_too_small_is_refused(X, sparsity):
    assert_refused(lambda: L0KMeans(2, sparsity=sparsity).fit(X), rf"sparsity={sparsity}\b", ">= 1")
    assert_refused(lambda: L0KMeans(2).path(X, [2, sparsity]), r"sparsity=", ">= 1")


@pytest.mark.parametrize("sparsity", [11, 10.5, 1e9])
def test_an_l0_sparsity_above_the_number_of_features_is_refused(X, sparsity):
    assert_refused(
        lambda: L0KMeans(2, sparsity=sparsity).fit(X),
        re.escape(f"sparsity={sparsity}"),
        "<= n_features=10",
    )


@pytest.mark.parametrize("sparsity", [0.99, 0, -2])
def test_an_l1_bound_below_one_is_refused(X, sparsity):
    assert_refused(lambda: L1KMeans(2, sparsity=sparsity).fit(X), f"sparsity={sparsity}", ">= 1")


@pytest.mark.parametrize("sparsity", [np.nan, np.inf])
def test_a_sparsity_that_is_no_finite_number_is_refused(make_sparse_estimator, X, sparsity):
    assert_refused(
        lambda: make_sparse_estimator(2, sparsity=sparsity).fit(X), f"sparsity={sparsity}", "finite"
    )


@pytest.mark.parametrize("sparsity", ["4", [4], True])
def test_a_sparsity_that_is_no_number_is_refused(make_sparse_estimator, X, sparsity):
    assert_refused(
        lambda: make_sparse_estimator(2, sparsity=sparsity).fit(X),
        re.escape(f"sparsity={sparsity!r}"),
        "number",
        error=(TypeError, ValueError),
    )


def test_data_of_constant_features_are_refused(make_estimator):
    constant = np.tile(np.arange(P, dtype=float), (N, 1))
    assert_refused(lambda: make_estimator(2).fit(constant), "constant", "10", "should")


@pytest.mark.parametrize("shape", [(N + 1,), (N, 1), (P,), (3, P)])
def test_labels_to_start_from_of_a_wrong_shape_are_refused(make_sparse_estimator, X, shape):
    assert_refused(
        lambda: make_sparse_estimator(3, init=np.zeros(shape, dtype=int)).fit(X),
        "init",
        re.escape(str(shape)),
        rf"\(?{N},?\)?",
    )


def test_more_labels_to_start_from_than_clusters_are_refused(make_sparse_estimator, X):
    assert_refused(
        lambda: make_sparse_estimator(3, init=np.arange(N) % 4).fit(X), "init", "4", "n_clusters=3"
    )


def test_an_unknown_search_is_refused(make_sparse_estimator, X):
    assert_refused(
        lambda: make_sparse_estimator(2, search="exhaustive").fit(X),
        "search='exhaustive'",
        "auto",
        "alternate",
        "global",
    )


def test_an_unknown_start_is_refused(make_sparse_estimator, X):
    assert_refused(lambda: make_sparse_estimator(2, init="k-means++").fit(X), r"init='k-means\+\+'")


@pytest.mark.parametrize("name", ["n_clusters", "n_init", "max_iter", "min_cluster_size"])
@pytest.mark.parametrize("value", [0, -3])
def test_counts_below_one_are_refused(make_estimator, X, name, value):
    estimator = make_estimator(2).set_params(**{name: value})
    assert_refused(lambda: estimator.fit(X), f"{name}={value}", ">= 1")


@pytest.mark.parametrize("name", ["n_clusters", "n_init", "max_iter", "min_cluster_size"])
@pytest.mark.parametrize("value", [2.5, "3", None])
def test_counts_that_are_no_whole_numbers_are_refused(make_estimator, X, name, value):
    estimator = make_estimator(2).set_params(**{name: value})
    assert_refused(
        lambda: estimator.fit(X), f"{name}={value!r}", "integer", error=(TypeError, ValueError)
    )


def test_a_negative_tolerance_is_refused(make_estimator, X):
    assert_refused(lambda: make_estimator(2, tol=-1e-4).fit(X), "tol=-0.0001", ">= 0")


def test_a_guard_that_cannot_be_held_is_refused(make_estimator, X):
    assert_refused(lambda: make_estimator(3, min_cluster_size=5).fit(X), "n_samples=12", ">=", "15")


def test_data_of_one_dimension_are_refused(make_estimator, X):
    assert_refused(lambda: make_estimator(2).fit(X[0]), "2D array", "1D array")


def test_a_path_needs_sparsities(make_sparse_estimator, X):
    assert_refused(lambda: make_sparse_estimator(2).path(X, []), "sparsities", "1")
    assert_refused(lambda: make_sparse_estimator(2).path(X, [[1, 2]]), "sparsities", r"\(1, 2\)")


def test_a_refusal_leaves_the_estimator_unfitted(make_estimator, X):
    estimator = make_estimator(13)
    with pytest.raises(ValueError, match="n_clusters=13"):
        estimator.fit(X)
    assert not hasattr(estimator, "labels_")


@pytest.mark.parametrize(
    ("factor", "dtype"), [(1e200, np.float64), (1e307, np.float64), (1e30, np.float32)]
)
def test_values_whose_squares_are_infinite_are_refused(make_estimator, X, factor, dtype):
    large = (X * factor).astype(dtype)
    assert_refused(lambda: make_estimator(2).fit(large), "<=", np.dtype(dtype).name, "Rescale")
    streamed = StreamedMatrix(np.tile(large, (250, 1)))
    assert_refused(lambda: make_estimator(2).fit(streamed), "<=", "Rescale")


@pytest.mark.parametrize(("factor", "dtype"), [(1e-200, np.float64), (1e-25, np.float32)])
def test_values_whose_squares_vanish_are_refused(make_estimator, X, factor, dtype):
    small = (X * factor).astype(dtype)
    assert_refused(lambda: make_estimator(2).fit(small), ">=", np.dtype(dtype).name, "Rescale")
    streamed = StreamedMatrix(np.tile(small, (250, 1)))
    assert_refused(lambda: make_estimator(2).fit(streamed), ">=", "Rescale")


def test_a_path_of_other_data_or_more_clusters_is_refused(make_estimator, X):
    path = make_estimator(3, random_state=0).path(X, [4])
    for other in (X[:-1], X[:, :-1]):
        assert_refused(
            lambda other=other: make_estimator(3).adopt(other, path, 0), r"\(12, 10, 3\)"
        )
    assert_refused(lambda: make_estimator(2).adopt(X, path, 0), r"\(12, 10, 3\)", r"\(12, 10, 2\)")
