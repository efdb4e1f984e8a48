"""The clustering problem of a data set, on disk and in memory, and its fits from other seeds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from written_files import save_matrix

from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix, in_blocks
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.pipeline.problem import define_problem, order_fits, refit
from sparsekm.tuning.chosen_fit import find_clusters
from sparsekm.tuning.feature_ranking import moments_as_they_came
from sparsekm.tuning.fold_fits import blocks_of

pytestmark = pytest.mark.usefixtures("one_repeat")
N_SAMPLES = 3000


@pytest.fixture(scope="module", name="X")
def planted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, 20)) * (rng.random((N_SAMPLES, 20)) < 0.3)
    X[: N_SAMPLES // 2, :5] += 2 * (rng.random((N_SAMPLES // 2, 5)) < 0.8)
    return X.astype(np.float32)


@pytest.fixture
def pose(tmp_path):
    def pose(X, method, *, var=(), obs=(), obsm=None, **settings):
        centre = {} if isinstance(X, np.ndarray) else {"center": np.zeros(X.shape[1])}
        file = tmp_path / "normalised.h5ad"
        save_matrix(file, X, obs, centre | dict(var), obsm=obsm)
        grid = {"sparsities": [5, 20]} if method == "l0" else {}
        asked = {"n_clusters": 2, "search": {"n_init": 1}, "grid": grid} | settings
        return define_problem(file, "toy", method, seed=1, code_digest="0", **asked)

    return pose


@pytest.mark.parametrize(
    ("kind", "method"), [(np.asarray, "kmeans"), (np.asarray, "l0"), (csr_array, "l0")]
)
def test_a_matrix_on_disk_gives_the_fits_of_one_in_memory(pose, X, kind, method):
    paths = []
    for most_bytes in (None, 0):
        problem = pose(kind(X), method, most_bytes=most_bytes)
        data = in_blocks(problem.tuning.X)
        assert isinstance(data, StreamedMatrix) == (kind is np.asarray and most_bytes == 0)
        paths.append(problem.estimator.path(data, problem.sparsities))
    for name in ("labels", "objectives", "weights", "scores"):
        np.testing.assert_array_equal(getattr(paths[1], name), getattr(paths[0], name))


def test_blocks_are_the_users_groups_or_else_of_space(pose, X):
    def blocks(problem):
        return blocks_of(problem.tuning.about, 2)

    assert blocks(pose(X, "l0")) is None
    obsm = {"spatial": np.arange(float(N_SAMPLES))[:, None]}
    found = blocks(pose(X, "l0", obsm=obsm))
    np.testing.assert_array_equal(found, np.repeat(np.arange(8), N_SAMPLES // 8))
    obs = {"group": [f"donor{i % 5}" for i in range(N_SAMPLES)]}
    problem = pose(X, "l0", obsm=obsm, obs=obs, max_samples=500)
    # Numbered by first appearance.
    codes = pd.factorize(problem.samples % 5)[0]
    assert blocks(problem).tolist() == codes.tolist()


@pytest.mark.parametrize(("asked", "n_drawn"), [(None, 2000), (500, 500), (2500, 2000)])
def test_no_more_samples_are_drawn_for_sparse_than_it_takes(pose, X, asked, n_drawn):
    assert len(pose(X, "sparse", max_samples=asked).samples) == n_drawn


def test_shares_of_features_become_numbers_each_once(pose, X):
    problem = pose(X[:50], "l0", grid={"sparsities": [0.5, 0.25, 0.26, 20]})
    assert problem.sparsities.tolist() == [5, 10, 20]
    assert len(pose(X[:50], "l0", grid={"n_sparsities": 4}).sparsities) == 4
    assert pose(X[:50], "kmeans").sparsities is None


def test_the_fit_to_show_is_the_first_of_the_best_or_that_of_the_tuning():
    fits = [SimpleNamespace(objective=value) for value in (3, 5, 5, 1)]
    assert order_fits(fits, maximises=True) == [1, 0, 2, 3]
    assert order_fits(fits, maximises=False) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_features_are_ranked_on_the_scale_that_they_came_on(pose, X, kind):
    raw = X[:300] * np.linspace(1, 9, 20, dtype=np.float32)
    means, deviations = raw.mean(axis=0, dtype=float), raw.std(axis=0, ddof=1, dtype=float)
    values = (raw - (means if kind is np.asarray else 0)) / deviations
    var = {"mean": means, "deviation": deviations}
    if kind is csr_array:
        var["center"] = means / deviations
    problem = pose(kind(values.astype(np.float32)), "sparse", var=var)
    found = moments_as_they_came(problem.tuning)
    np.testing.assert_allclose(found[0], means, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], raw.var(axis=0), rtol=1e-4)


def test_clusters_of_a_sample_are_extended_from_disk_as_from_memory(pose, X):
    problems = [pose(X, "sparse", max_samples=200, most_bytes=most) for most in (None, 0)]
    memory, disk = (find_clusters(problem.settings, problem.whole) for problem in problems)
    assert memory.labels.shape == (N_SAMPLES,)
    np.testing.assert_array_equal(disk.labels, memory.labels)
    np.testing.assert_array_equal(disk.weights, memory.weights)
    np.testing.assert_array_equal(disk.reproducibility, memory.reproducibility)
    known = np.flatnonzero(np.isfinite(memory.reproducibility))
    np.testing.assert_array_equal(known, problems[0].samples)


@pytest.mark.parametrize("method", ["kmeans", "l0", "sparse"])
def test_a_fit_depends_on_the_number_of_its_seed_and_on_nothing_else(pose, method):
    X = np.random.default_rng(0).standard_normal((60, 60)).astype(np.float32)
    problem = pose(X, method, n_clusters=5, search={"n_init": 1, "search": "alternate"})
    grid = [12] if method == "sparse" else problem.sparsities
    path = problem.estimator.path(problem.data.X, grid)
    attributes = {"method": method}
    fit = ChosenFit.of(path.fit_at(0), centers=np.zeros((5, 60)), attributes=attributes)
    before = problem.estimator.get_params()
    found = [refit(problem, fit, number) for number in (1, 2, 1)]
    assert problem.estimator.get_params() == before
    if method != "sparse":
        assert [other.sparsity for other in found] == [fit.sparsity] * 3
    assert all(other.attributes == attributes for other in found)
    np.testing.assert_array_equal(found[2].labels, found[0].labels)
    # In noise every start ends elsewhere.
    assert (found[1].labels != found[0].labels).any()
    np.testing.assert_array_equal(found[2].weights, found[0].weights)
