"""No bit of a fit depends on the number of threads or jobs."""

import numpy as np
import pytest
from bits import assert_same_bits, assert_threads_change_no_bit

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans

FITTED = ["labels_", "feature_weights_", "feature_scores_", "cluster_centers_", "objective_"]


def draw(n, p, dtype):
    rng = np.random.default_rng(n)
    centers = np.zeros((4, p))
    centers[:, :8] = rng.normal(scale=1.0, size=(4, 8))
    return (centers[rng.integers(0, 4, size=n)] + rng.standard_normal((n, p))).astype(dtype)


@pytest.mark.parametrize(
    ("n", "search", "dtype"),
    [
        (10, "global", np.float64),
        (60, "global", np.float32),
        (60, "alternate", np.float64),
        (2000, "alternate", np.float32),
        (2000, "auto", np.float64),
    ],
)
@pytest.mark.parametrize(("Estimator", "sparsity"), [(L0KMeans, 8), (L1KMeans, 2.2)])
def test_one_and_two_jobs_give_the_same_bits(Estimator, sparsity, n, search, dtype):
    X = draw(n, 30, dtype)
    options = {"sparsity": sparsity, "n_init": 3, "random_state": 1, "search": search}
    one, two = (Estimator(4, n_jobs=n_jobs, **options).fit(X) for n_jobs in (1, 2))
    assert_same_bits(one, two, FITTED)


@pytest.mark.parametrize("n", [60, 2000])
def test_kmeans_gives_the_same_bits_for_one_and_two_jobs(n):
    X = draw(n, 30, np.float32)
    one, two = (KMeans(4, n_init=3, random_state=1, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    assert_same_bits(one, two, FITTED)


@pytest.mark.parametrize("n", [50, 1500])
def test_paths_give_the_same_bits_for_one_and_two_jobs(n):
    X = draw(n, 30, np.float32)
    one, two = (
        L0KMeans(4, n_init=3, random_state=1, n_jobs=n_jobs).path(X, [2, 8, 20])
        for n_jobs in (1, 2)
    )
    assert_same_bits(one, two, ("objectives", "labels", "weights", "scores", "n_iter"))


def test_threads_of_the_libraries_do_not_change_a_bit():
    estimators = "KMeans(3), L0KMeans(3, sparsity=9), L1KMeans(3, sparsity=2.5)"
    assert_threads_change_no_bit(estimators, [(40, 30, "float64"), (1800, 60, "float32")])
