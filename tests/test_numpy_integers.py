"""Every integer parameter takes NumPy's integers, and means the same by them."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import AgglomerativeClustering

import sparsekm
from sparsekm import (
    IFPCA,
    SCFS,
    GapSearch,
    KMeans,
    L0KMeans,
    L1KMeans,
    PCAKMeans,
    PenalizedGaussianMixture,
    SparseClustering,
    SparseKMeans,
)

# The smallest type overflows where a product of two parameters is formed in it.
SMALLEST = np.int8

COMMON = {"n_clusters": 5, "n_init": 2, "random_state": 3, "n_jobs": 1, "verbose": 0}
SEARCHED = {**COMMON, "max_iter": 50, "min_cluster_size": 2}
SPARSE = {**SEARCHED, "sparsity": 3}
TUNED = {"n_references": 2, "random_state": 3, "n_jobs": 1, "verbose": 0}
ESTIMATORS = {
    KMeans: SEARCHED,
    L0KMeans: SPARSE,
    L1KMeans: SPARSE,
    PCAKMeans: {**SEARCHED, "n_components": 2},
    PenalizedGaussianMixture: {**COMMON, "n_penalties": 3, "max_iter": 100},
    IFPCA: {**COMMON, "max_iter": 50},
    SCFS: {**COMMON, "max_iter": 50},
    GapSearch: {**TUNED, "n_refined": 2, "max_samples": 40},
    SparseClustering: {"sparsity": 3, "n_init": 2, "max_iter": 50, "random_state": 3},
    SparseKMeans: {
        "n_clusters": 5,
        "sparsity": 3,
        "min_cluster_size": 2,
        "max_samples": 40,
        "random_state": 3,
        "n_jobs": 1,
        "verbose": 0,
    },
}
GRID = [2, 5]


@pytest.fixture(scope="module", name="X")
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(42, 6)) + 4 * rng.normal(size=(5, 6))[np.arange(42) % 5]


def make(Estimator, convert):
    parameters = {name: convert(value) for name, value in ESTIMATORS[Estimator].items()}
    if Estimator is GapSearch:
        inner = {name: convert(value) for name, value in COMMON.items()}
        grid = [convert(value) for value in GRID]
        return Estimator(L0KMeans(**inner), sparsities=grid, **parameters)
    if Estimator is SparseClustering:
        return Estimator(AgglomerativeClustering(convert(5)), **parameters)
    return Estimator(**parameters)


def test_every_public_estimator_is_swept():
    public = {getattr(sparsekm, name) for name in sparsekm.__all__}
    estimators = {
        kind for kind in public if inspect.isclass(kind) and issubclass(kind, BaseEstimator)
    }
    assert estimators <= set(ESTIMATORS)
    for Estimator, swept in ESTIMATORS.items():
        known = inspect.signature(Estimator).parameters.values()
        integers = {each.name for each in known if type(each.default) is int}
        assert integers <= set(swept), Estimator


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_estimators_take_them(X, Estimator):
    fit = make(Estimator, SMALLEST).fit(X)
    usual = make(Estimator, int).fit(X)
    np.testing.assert_array_equal(fit.labels_, usual.labels_)
    np.testing.assert_array_equal(fit.feature_weights_, usual.feature_weights_)
    if hasattr(fit, "predict"):
        np.testing.assert_array_equal(fit.predict(X), usual.predict(X))


def test_clusters_of_many_samples_are_counted_in_full():
    X = np.random.default_rng(0).normal(size=(320, 4))
    parameters = {
        "n_clusters": SMALLEST(16),
        "min_cluster_size": SMALLEST(16),
        "n_init": SMALLEST(1),
    }
    fit = L0KMeans(**parameters, sparsity=SMALLEST(2), random_state=0).fit(X)
    assert np.bincount(fit.labels_).min() >= 16
