"""The clustering problem of a data set, on disk and in memory, and its fits from other seeds."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.containers import StreamedMatrix, in_blocks
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import TunedFit, pick_fit
from sparsekm.pipeline.problem import (
    define_problem,
    find_clusters,
    order_fits,
    refit,
)

N_SAMPLES = 3000


@pytest.fixture(scope="module", name="X")
def planted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, 20)) * (rng.random((N_SAMPLES, 20)) < 0.3)
    X[: N_SAMPLES // 2, :5] += 2 * (rng.random((N_SAMPLES // 2, 5)) < 0.8)
    return X.astype(np.float32)


@pytest.fixture(name="posed")
def problem_of_a_file(tmp_path, X):
    def define(kind, method, *, positions=None, groups=None, **settings):
        var = pd.DataFrame(index=[f"g{j}" for j in range(20)])
        if kind == "sparse":
            var["center"] = np.zeros(20)
        obs = pd.DataFrame(index=[f"s{i}" for i in range(N_SAMPLES)])
        if groups is not None:
            obs["group"] = groups
        values = csr_array(X) if kind == "sparse" else X
        write_normalised(
            tmp_path / "normalised.h5ad",
            values,
            obs,
            var,
            {},
            obsm={} if positions is None else {"spatial": positions},
        )
        grid = {"sparsities": [5, 20]} if method == "l0" else {}
        return define_problem(
            tmp_path / "normalised.h5ad",
            "toy",
            method,
            seed=1,
            n_clusters=2,
            search={"n_init": 1},
            grid=grid,
            code_digest="0",
            **settings,
        )

    return define


@pytest.mark.parametrize(
    ("kind", "method"), [("dense", "kmeans"), ("dense", "l0"), ("sparse", "l0")]
)
def test_a_matrix_on_disk_gives_the_fits_of_one_in_memory(posed, kind, method):
    paths = []
    for most_bytes in (None, 0):
        problem = posed(kind, method, most_bytes=most_bytes)
        data = in_blocks(problem.tuning.X)
        assert isinstance(data, StreamedMatrix) == (kind == "dense" and most_bytes == 0)
        paths.append(problem.estimator.path(data, problem.sparsities))
    for name in ("labels", "objectives", "weights", "scores"):
        np.testing.assert_array_equal(getattr(paths[1], name), getattr(paths[0], name))


def test_blocks_are_the_users_groups_or_else_of_space(posed, X):
    assert posed("dense", "l0").tuning_blocks is None
    positions = np.arange(float(N_SAMPLES))[:, None]
    blocks = posed("dense", "l0", positions=positions).tuning_blocks
    np.testing.assert_array_equal(blocks, np.repeat(np.arange(8), N_SAMPLES // 8))
    groups = [f"donor{i % 5}" for i in range(N_SAMPLES)]
    problem = posed("dense", "l0", positions=positions, groups=groups, max_samples=500)
    assert problem.tuning_blocks.tolist() == (problem.samples % 5).tolist()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_features_are_ranked_on_the_scale_that_they_came_on(tmp_path, X, kind):
    raw = X[:300] * np.linspace(1, 9, 20, dtype=np.float32)
    means, deviations = raw.mean(axis=0, dtype=float), raw.std(axis=0, ddof=1, dtype=float)
    values = (raw - (means if kind is np.asarray else 0)) / deviations
    var = pd.DataFrame({"mean": means, "deviation": deviations}, [f"g{j}" for j in range(20)])
    if kind is csr_array:
        var["center"] = means / deviations
    file, obs = tmp_path / "normalised.h5ad", pd.DataFrame(index=[f"s{i}" for i in range(300)])
    write_normalised(file, kind(values.astype(np.float32)), obs, var, {})
    problem = define(file, "sparse")
    found = problem.tuning_scaled.moments()
    np.testing.assert_allclose(found[0], means, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], raw.var(axis=0), rtol=1e-4)


def test_clusters_of_a_sample_are_extended_from_disk_as_from_memory(posed):
    found = []
    for most_bytes in (None, 0):
        problem = posed("dense", "sparse", max_samples=200, most_bytes=most_bytes)
        found.append(find_clusters(problem))
    assert found[0].labels.shape == (N_SAMPLES,)
    np.testing.assert_array_equal(found[1].fit.labels, found[0].fit.labels)
    np.testing.assert_array_equal(found[1].fit.weights, found[0].fit.weights)
    np.testing.assert_array_equal(found[1].reproducibility, found[0].reproducibility)
    known = np.flatnonzero(np.isfinite(found[0].reproducibility))
    np.testing.assert_array_equal(known, problem.samples)


@pytest.fixture(scope="module", name="file")
def matrix_of_noise(tmp_path_factory):
    file = tmp_path_factory.mktemp("noise") / "normalised.h5ad"
    X = np.random.default_rng(0).standard_normal((60, 30)).astype(np.float32)
    obs = pd.DataFrame(index=[f"s{i}" for i in range(60)])
    write_normalised(file, X, obs, pd.DataFrame(index=[f"g{j}" for j in range(30)]), {})
    return file


def define(file, method):
    search = {"n_init": 1, "search": "alternate"}
    settings = {"seed": 1, "n_clusters": 5, "search": search, "grid": {}, "code_digest": "0"}
    return define_problem(file, "toy", method, **settings)


@pytest.mark.parametrize("method", ["kmeans", "l0", "sparse"])
def test_a_fit_depends_on_the_number_of_its_seed_and_on_nothing_else(file, method):
    problem = define(file, method)
    grid = [12] if method == "sparse" else problem.sparsities
    path = problem.estimator.path(problem.data.X, grid)
    attributes = {"method": method}
    fit = pick_fit(path, 0, np.zeros((5, 30)), attributes)
    before = problem.estimator.get_params()
    found = [refit(problem, fit, number) for number in (1, 2, 1)]
    assert problem.estimator.get_params() == before
    if method != "sparse":
        assert [other.sparsity for other in found] == [fit.sparsity] * 3
    assert all(other.attributes == attributes for other in found)
    np.testing.assert_array_equal(found[2].labels, found[0].labels)
    # In noise every start ends elsewhere.
    assert (found[1].labels != found[0].labels).any()
    alone = replace(problem, estimator=problem.estimator.set_params(n_jobs=1))
    for n_jobs in (1, 2):
        alone.estimator.set_params(n_jobs=n_jobs)
        other = refit(alone, fit, 1)
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
    fits = [TunedFit(1.0, value, nothing, nothing, nothing, nothing) for value in objectives]
    assert order_fits(fits, maximises) == order
