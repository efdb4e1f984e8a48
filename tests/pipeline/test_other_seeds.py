"""Fits of the final model from other seeds: as the first one, but for the seed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.fit_file import Fit
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.path_file import pick_fit
from sparsekm.pipeline.other_seeds import order_fits, refit
from sparsekm.pipeline.problem import pose_problem
from sparsekm.tuning.resampled_paths import resample_all


@pytest.fixture(scope="module", name="file")
def matrix_of_noise(tmp_path_factory):
    file = tmp_path_factory.mktemp("noise") / "normalised.h5ad"
    X = np.random.default_rng(0).standard_normal((60, 30)).astype(np.float32)
    obs = pd.DataFrame(index=[f"s{i}" for i in range(60)])
    write_normalised(file, X, obs, pd.DataFrame(index=[f"g{j}" for j in range(30)]), {})
    return file


def pose(file, method):
    search = {"n_init": 1, "search": "alternate"}
    settings = {"seed": 1, "n_clusters": 5, "search": search, "grid": {}, "code_digest": "0"}
    return pose_problem(file, "toy", method, **settings)


def resample(problem):
    estimator = problem.estimator
    grid, seed = problem.sparsities, estimator.random_state
    return resample_all(estimator, problem.data.X, grid, range(6), seed=seed)


@pytest.mark.parametrize("method", ["kmeans", "l0", "sparse"])
def test_a_fit_depends_on_the_number_of_its_seed_and_on_nothing_else(file, method):
    problem = pose(file, method)
    resamplings = resample(problem) if method == "sparse" else None
    path = problem.estimator.path(problem.data.X, problem.sparsities)
    attributes = {"family": "optimum"}
    fit = pick_fit(path, 0, np.zeros((5, 30)), attributes)
    before = problem.estimator.get_params()
    found = [refit(problem, fit, number, resamplings) for number in (1, 2, 1)]
    assert problem.estimator.get_params() == before
    assert [other.sparsity for other in found] == [fit.sparsity] * 3
    assert all(other.attributes == attributes for other in found)
    np.testing.assert_array_equal(found[2].labels, found[0].labels)
    # In noise every start ends elsewhere.
    assert (found[1].labels != found[0].labels).any()
    alone = replace(problem, estimator=problem.estimator.set_params(n_jobs=1))
    for n_jobs in (1, 2):
        alone.estimator.set_params(n_jobs=n_jobs)
        other = refit(alone, fit, 1, resamplings)
        np.testing.assert_array_equal(other.labels, found[0].labels)
        np.testing.assert_array_equal(other.weights, found[0].weights)


@pytest.mark.parametrize(
    ("objectives", "maximises", "order"),
    [
        ([2.0, 3.0, 1.0], True, [1, 0, 2]),
        ([2.0, 2.0, 1.0], True, [0, 1, 2]),
        ([2.0, 3.0, 1.0], False, [0, 1, 2]),
    ],
)
def test_the_best_is_first_for_a_method_that_maximises(objectives, maximises, order):
    nothing = np.zeros(0)
    fits = [Fit(1.0, value, nothing, nothing, nothing, nothing) for value in objectives]
    assert order_fits(fits, maximises) == order
