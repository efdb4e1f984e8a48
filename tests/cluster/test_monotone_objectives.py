"""Objectives never fall along a path in the sparsity, and what it holds belongs together."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import ESTIMATORS
from sparsekm.simulation import experiment_2

GRIDS = {"l0": [1, 2, 3, 5, 8, 12, 20, 35, 60], "l1": [1.0, 1.3, 1.8, 2.5, 3.5, 5.0, 7.0, 9.0]}
# Sums of the same numbers in another order differ in their last bits; l1 bounds hold to 1e-6.
SLACK = {"l0": 1e-11, "l1": 3e-6}


@pytest.fixture(name="X", scope="module", params=["faint", "whole numbers"])
def data_matrix(request):
    if request.param == "faint":
        return experiment_2(n_features=60, n_relevant=12, cluster_size=10, random_state=0).X
    rng = np.random.default_rng(1)
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


@pytest.mark.parametrize("method", ["l0", "l1"])
def test_more_restarts_and_the_global_search_are_never_worse(method, X):
    estimator = ESTIMATORS[method](4, sparsity={"l0": 8, "l1": 2.2}[method], random_state=0)
    efforts = [{"search": "alternate", "n_init": count} for count in (1, 20)]
    one, many, best = (
        estimator.set_params(**effort).fit(X).objective_
        for effort in (*efforts, {"search": "global", "n_init": 10})
    )
    assert best >= many * (1 - SLACK[method]) >= one * (1 - 2 * SLACK[method])
