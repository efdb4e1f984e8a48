"""Repeated samples, empty clusters, rounds that run out, and what is refused."""

import numpy as np
import pytest
from scipy.sparse import random_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sparsekm import L1KMeans, PCAKMeans, PenalizedGaussianMixture, StreamedMatrix
from sparsekm.cluster.estimators import KMeans, L0KMeans


# With so few distinct samples, clusters coincide in the kept features: that is no concern here.
@pytest.mark.filterwarnings("ignore:Clusters with the same centre:UserWarning")
@pytest.mark.parametrize(("n_copies", "seed"), [(4, 0), (300, 1)])
def test_no_cluster_is_ever_empty(make_estimator, n_copies, seed):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.integers(0, 2, size=(6, 5)).astype(float), n_copies, axis=0)
    X[0, 0] = 50.0
    n_distinct = len(np.unique(X, axis=0))
    assert n_distinct >= 3
    for n_clusters in (2, 3, n_distinct):
        fit = make_estimator(n_clusters, n_init=1, random_state=seed).fit(X)
        assert sorted(set(fit.labels_.tolist())) == list(range(n_clusters))
        assert np.isfinite(fit.cluster_centers_).all()


@pytest.mark.parametrize(("n", "started"), [(60, 2), (1200, 2), (1500, 3)])
def test_a_start_without_a_cluster_or_with_outliers_is_repaired(make_sparse_estimator, n, started):
    X = np.random.default_rng(1).standard_normal((n, 8))
    X[0] = 1e4
    start = np.arange(n) % started
    fit = make_sparse_estimator(init=start, n_init=1, random_state=0).fit(X)
    assert sorted(set(fit.labels_.tolist())) == [0, 1, 2]


def test_as_many_clusters_as_samples_explain_everything(make_estimator):
    X = np.random.default_rng(2).standard_normal((6, 5))
    fit = make_estimator(6, random_state=0).fit(X)
    assert sorted(fit.labels_) == list(range(6))
    np.testing.assert_allclose(fit.feature_scores_, ((X - X.mean(axis=0)) ** 2).sum(axis=0))


def noise(n_samples):
    return np.random.default_rng(0).normal(size=(n_samples, 12))


def test_the_unit_of_the_data_does_not_matter(make_estimator):
    dense = noise(90)
    wide = random_array((90, 20_000), density=0.01, rng=np.random.default_rng(0), format="csr")
    for X, estimator in ((dense, make_estimator(4)), (wide, L0KMeans(4, sparsity=50))):
        fits = [clone(estimator).set_params(random_state=0).fit(X * 2.0**e) for e in (0, 400, -400)]
        for fit in fits:
            np.testing.assert_array_equal(fit.labels_, fits[0].labels_)


@pytest.mark.parametrize(
    ("estimator", "n_samples"),
    [(KMeans(6), 100), (KMeans(6), 2500), (PCAKMeans(6, n_components=6), 800)],
)
def test_k_means_that_runs_out_of_rounds_warns_and_is_worse(estimator, n_samples):
    X = noise(n_samples)
    settings = [{"n_init": 1, "random_state": seed} for seed in range(5)]
    estimators = [clone(estimator).set_params(**each) for each in settings]
    full = [estimator.fit(X).objective_ for estimator in estimators]
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        cut = [estimator.set_params(max_iter=1).fit(X) for estimator in estimators]
    assert {fit.n_iter_ for fit in cut} == {1}
    assert np.sum([fit.objective_ for fit in cut]) < np.sum(full)


def test_a_global_search_that_still_gains_at_its_end_warns():
    X = np.random.default_rng(2).normal(size=(250, 40))
    estimator = L0KMeans(6, sparsity=4, search="global", n_init=1, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        _ = [clone(estimator).set_params(random_state=seed).fit(X) for seed in range(8)]


def test_a_mixture_that_runs_out_of_iterations_warns():
    X = noise(100)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 rounds"):
        fit = PenalizedGaussianMixture(3, penalty=1.0, max_iter=2, random_state=0).fit(X)
    assert not fit.converged_


@pytest.mark.parametrize("Estimator", [L0KMeans, L1KMeans])
def test_a_fit_that_runs_out_of_rounds_warns_and_a_path_tells_of_it(Estimator):
    X = noise(100)
    labels = np.random.default_rng(1).integers(6, size=100)
    estimator = Estimator(6, sparsity=2, init=labels, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds"):
        estimator.fit(X)
    path = estimator.path(X, [2])
    assert path.converged.tolist() == [False]
    with pytest.warns(ConvergenceWarning):
        estimator.adopt(X, path, 0)
    assert estimator.set_params(max_iter=500).path(X, [2, 3]).converged.all()


X = np.random.default_rng(0).standard_normal((12, 10))
ZEROS_OF_EITHER_SIGN = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0]])


@pytest.mark.parametrize(
    ("data", "n_clusters", "message"),
    [
        (ZEROS_OF_EITHER_SIGN, 3, "n_clusters=3 should be <= the number of distinct samples, 2"),
        (np.tile(X[0], (12, 1)), 2, "All n_features=10 features are constant; at least 1 should"),
        (X[0], 2, "Expected 2D array, got 1D array"),
        (X * 1e307, 2, r"should be >= .* and <= .* in float64\. Rescale"),
        ((X * 1e30).astype(np.float32), 2, r"should be >= .* and <= .* in float32\. Rescale"),
        (X * 1e-200, 2, r"should be >= .* and <= .* in float64\. Rescale"),
        (StreamedMatrix(np.tile(X * 1e307, (250, 1))), 2, "should be >= .* and <= .* Rescale"),
    ],
)
def test_data_that_cannot_be_clustered_are_refused(make_estimator, data, n_clusters, message):
    with pytest.raises(ValueError, match=message):
        make_estimator(n_clusters).fit(data)


def test_a_path_of_other_data_or_more_clusters_is_refused(make_estimator):
    path = make_estimator(3, random_state=0).path(X, [4])
    for n_clusters, other in ((3, X[:-1]), (3, X[:, :-1]), (2, X)):
        with pytest.raises(ValueError, match=r"=\(12, 10, 3\) should be \(.*\), the numbers of"):
            make_estimator(n_clusters).adopt(other, path, 0)
