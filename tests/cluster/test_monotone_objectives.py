"""Objectives never fall along a path in the sparsity, and what it holds belongs together."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.simulation import experiment_2

GRIDS = {"l0": [1, 2, 3, 5, 8, 12, 20, 35, 60], "l1": [1.0, 1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 9.0]}
ESTIMATORS = {"l0": L0KMeans, "l1": L1KMeans}
# Sums of the same numbers in another order differ in their last bits; l1 bounds hold to 1e-6.
SLACK = {"l0": 1e-11, "l1": 3e-6}


@pytest.fixture(name="X", scope="module", params=["faint", "no clusters", "whole numbers"])
def data_matrix(request):
    if request.param == "faint":
        return experiment_2(n_features=60, n_relevant=12, cluster_size=10, random_state=0).X
    rng = np.random.default_rng(1)
    if request.param == "no clusters":
        return rng.standard_normal((40, 60))
    return rng.integers(0, 3, size=(30, 60)).astype(float) + rng.normal(scale=1e-3, size=(30, 60))


@pytest.fixture(
    scope="module", params=["l0, alternate", "l0, global", "l1, alternate", "l1, global"]
)
def fitted_path(request, X):
    method, search = request.param.split(", ")
    estimator = ESTIMATORS[method](4, search=search, n_init=3, random_state=0)
    return method, estimator.path(X, GRIDS[method])


def test_path_objectives_never_fall_in_the_sparsity(fitted_path):
    method, path = fitted_path
    assert len(path.objectives) == len(GRIDS[method])
    growth = np.diff(path.objectives) / path.objectives[:-1]
    assert growth.min() >= -SLACK[method]
    assert growth.max() > 0.05


def test_what_a_path_holds_belongs_together(fitted_path, X, score_by_pairs):
    method, path = fitted_path
    m = len(GRIDS[method])
    assert path.sparsities.tolist() == GRIDS[method]
    assert path.labels.shape == (m, len(X))
    assert path.labels.dtype == np.int32
    assert path.weights.shape == path.scores.shape == (m, X.shape[1])
    assert path.n_iter.shape == (m,)
    assert path.n_iter.min() >= 1
    for i in range(m):
        np.testing.assert_allclose(
            path.scores[i], score_by_pairs(X, path.labels[i]), rtol=1e-8, atol=1e-9
        )
        assert path.objectives[i] == pytest.approx(path.weights[i] @ path.scores[i], rel=1e-12)
        if method == "l0":
            assert sorted(set(path.weights[i])) in ([0, 1], [1])
            assert path.weights[i].sum() == GRIDS["l0"][i]
        else:
            assert np.linalg.norm(path.weights[i]) == pytest.approx(1, abs=1e-12)
            assert path.weights[i].sum() <= GRIDS["l1"][i] * (1 + 1e-6)


@pytest.mark.parametrize(("method", "search"), [("l0", "alternate"), ("l1", "global")])
def test_a_path_comes_in_the_callers_order(method, search):
    X = experiment_2(n_features=30, n_relevant=8, cluster_size=8, random_state=4).X
    grid = GRIDS[method][1:6]
    estimator = ESTIMATORS[method](3, search=search, n_init=2, random_state=0)
    ascending = estimator.path(X, grid)
    order = [3, 0, 4, 2, 1]
    shuffled = estimator.path(X, [grid[i] for i in order])
    assert shuffled.sparsities.tolist() == [grid[i] for i in order]
    np.testing.assert_array_equal(shuffled.objectives, ascending.objectives[order])
    np.testing.assert_array_equal(shuffled.labels, ascending.labels[order])
    np.testing.assert_array_equal(shuffled.weights, ascending.weights[order])


def test_a_path_of_kmeans_is_the_one_fit():
    X = experiment_2(n_features=30, n_relevant=8, cluster_size=8, random_state=4).X
    path = KMeans(3, random_state=0).path(X)
    fit = KMeans(3, random_state=0).fit(X)
    assert path.sparsities.tolist() == [30]
    np.testing.assert_array_equal(path.labels[0], fit.labels_)
    assert path.objectives[0] == fit.objective_


@pytest.mark.parametrize("method", ["l0", "l1"])
def test_more_restarts_and_the_global_search_are_never_worse(method, X):
    def objective(**parameters):
        s = {"l0": 8, "l1": 2.2}[method]
        return ESTIMATORS[method](4, sparsity=s, random_state=0, **parameters).fit(X).objective_

    one = objective(search="alternate", n_init=1)
    many = objective(search="alternate", n_init=20)
    best = objective(search="global")
    assert many >= one * (1 - SLACK[method])
    assert best >= many * (1 - SLACK[method])
