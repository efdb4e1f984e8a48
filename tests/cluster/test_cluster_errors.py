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
    ("Estimator", "sparsity", "bound"),
    [
        (L0KMeans, -0.5, ">= 1"),
        (L0KMeans, 0.0, ">= 1"),
        (L0KMeans, 11, "<= n_features=10"),
        (L0KMeans, 10.5, "<= n_features=10"),
        (L1KMeans, 0.99, ">= 1"),
    ],
)
def test_sparsities_out_of_range_are_refused_in_fits_and_paths(X, Estimator, sparsity, bound):
    value = rf"sparsity={sparsity}\b"
    assert_refused(lambda: Estimator(2, sparsity=sparsity).fit(X), value, bound)
    if sparsity <= 0:
        assert_refused(lambda: Estimator(2).path(X, [2, sparsity]), "sparsity=", bound)


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


def test_data_of_constant_features_or_of_one_dimension_are_refused(make_estimator, X):
    constant = np.tile(np.arange(P, dtype=float), (N, 1))
    assert_refused(lambda: make_estimator(2).fit(constant), "constant", "10", "should")
    assert_refused(lambda: make_estimator(2).fit(X[0]), "2D array", "1D array")


def test_a_path_needs_sparsities(make_sparse_estimator, X):
    assert_refused(lambda: make_sparse_estimator(2).path(X, []), "sparsities", "1")
    assert_refused(lambda: make_sparse_estimator(2).path(X, [[1, 2]]), "sparsities", r"\(1, 2\)")


@pytest.mark.parametrize(
    ("factor", "dtype", "bound"),
    [(1e307, np.float64, "<="), (1e30, np.float32, "<="), (1e-200, np.float64, ">=")],
)
def test_values_whose_squares_are_infinite_or_vanish_are_refused(
    make_estimator, X, factor, dtype, bound
):
    scaled = (X * factor).astype(dtype)
    assert_refused(lambda: make_estimator(2).fit(scaled), bound, np.dtype(dtype).name, "Rescale")
    streamed = StreamedMatrix(np.tile(scaled, (250, 1)))
    assert_refused(lambda: make_estimator(2).fit(streamed), bound, "Rescale")


def test_a_path_of_other_data_or_more_clusters_is_refused(make_estimator, X):
    path = make_estimator(3, random_state=0).path(X, [4])
    for other in (X[:-1], X[:, :-1]):
        assert_refused(
            lambda other=other: make_estimator(3).adopt(other, path, 0), r"\(12, 10, 3\)"
        )
    assert_refused(lambda: make_estimator(2).adopt(X, path, 0), r"\(12, 10, 3\)", r"\(12, 10, 2\)")
