"""SparseKMeans where a fit easily goes wrong: tiny, repeated, noisy and correlated data."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

from sparsekm import KMeans, L0KMeans, SparseKMeans, classification_error_rate

PENALTIES = pytest.mark.parametrize("penalty", ["l0", "l1"])


@PENALTIES
def test_the_guard_holds(penalty):
    X = np.random.default_rng(0).standard_normal((40, 12))
    X[0] = 12.0
    free, guarded = (
        SparseKMeans(3, penalty=penalty, min_cluster_size=size, random_state=0).fit(X)
        for size in (1, 9)
    )
    assert np.bincount(free.labels_).min() < 9
    assert np.bincount(guarded.labels_, minlength=3).min() >= 9


@PENALTIES
@pytest.mark.parametrize("n_samples", [2, 4, 9])
@pytest.mark.parametrize("n_features", [1, 3])
def test_tiny_data_are_fitted(penalty, n_samples, n_features):
    X = np.random.default_rng(n_samples).standard_normal((n_samples, n_features))
    for n_clusters in sorted({2, n_samples}):
        fit = SparseKMeans(n_clusters, penalty=penalty, random_state=0).fit(X)
        assert len(np.unique(fit.labels_)) == n_clusters
        np.testing.assert_array_equal(fit.predict(X), fit.labels_)


def test_duplicated_samples_and_constant_features_are_fitted():
    X = np.zeros((32, 9))
    X[:, :6] = np.repeat(np.random.default_rng(0).standard_normal((4, 6)), 8, axis=0)
    fit = SparseKMeans(4, random_state=0).fit(X)
    assert classification_error_rate(np.arange(32) // 8, fit.labels_) == 0
    assert not fit.get_support()[6:].any()


# One feature can be kept that tells only two of the three apart.
@pytest.mark.filterwarnings("ignore:Clusters with the same centre")
def test_rare_samples_among_duplicates_are_fitted():
    X = np.zeros((40, 5))
    X[0, 0], X[1, 1] = 1, 4
    fit = SparseKMeans(3, random_state=0).fit(X)
    assert np.bincount(fit.labels_).min() >= 1
    assert not fit.get_support()[2:].any()


def strong_nuisance(seed, n_samples=72, n_features=600):
    """Draw two clusters in 5 % of the features, and four dense factors in all of them."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n_samples) >= 0.65 * n_samples).astype(int)
    loadings = 0.5 * rng.standard_normal((4, n_features))
    X = rng.standard_normal((n_samples, n_features))
    X += rng.standard_normal((n_samples, 4)) @ loadings
    # In units of a feature's own standard deviation, 1 of noise and 1 of factors.
    X /= np.sqrt(2)
    relevant = n_features // 20
    X[:, :relevant] += 3 * np.outer(labels, rng.choice([-1, 1], relevant))
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), labels


@pytest.mark.parametrize("seed_of_data", range(3))
def test_where_factors_are_the_optimum_the_clusters_are_found_all_the_same(seed_of_data):
    X, truth = strong_nuisance(seed_of_data)
    assert classification_error_rate(truth, KMeans(2, random_state=0).fit(X).labels_) > 0.4
    path = L0KMeans(2, search="global", random_state=0).path(X, [120, 300, 600])
    # The optimum is the optimum: it explains more than the clusters do, and is wrong.
    best = path.labels[path.objectives.argmax()]
    assert classification_error_rate(truth, best) > 0.4
    own = L0KMeans(2, init=truth, random_state=0).path(X, [120, 300, 600])
    for i in range(3):
        assert path.objectives[i] >= own.objectives[i] * (1 - 1e-9)
        assert classification_error_rate(truth, path.labels[i]) > 0.4
    fit = SparseKMeans(2, random_state=0).fit(X)
    assert classification_error_rate(truth, fit.labels_) < 0.05
    assert fit.has_clusters_
    assert fit.get_support()[:30].mean() > 0.9
    assert fit.get_support()[30:].mean() < 0.1


def error_rate(classes, labels):
    """Share of samples outside the class that their cluster is matched with."""
    table = pd.crosstab(classes, labels).to_numpy()
    return 1 - table[linear_sum_assignment(-table)].sum() / len(labels)


@pytest.mark.slow
def test_the_two_leukemias_are_found_where_k_means_fails(test_data):
    file = test_data / "microarray" / "leukemia_72x3571.npz"
    if not file.is_file():
        pytest.skip(f"no microarray data: {file} is absent (SPARSEKM_TEST_DATA names its folder)")
    with np.load(file) as arrays:
        raw, classes = arrays["X"], arrays["y"]
    X = (raw - raw.mean(axis=0)) / raw.std(axis=0, ddof=1)
    assert error_rate(classes, KMeans(2, random_state=0).fit(X).labels_) > 0.2
    fit = SparseKMeans(2, random_state=0).fit(X)
    assert error_rate(classes, fit.labels_) <= 0.06
