"""Weights, trimming, batches and groups of features, as the workflow's problems treat them."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from written_files import save_matrix

from sparsekm import L0KMeans
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.pipeline.problem import cluster_means, define_problem, describe_fit
from sparsekm.tuning.chosen_fit import find_clusters
from sparsekm.tuning.fold_fits import blocks_of

pytestmark = pytest.mark.usefixtures("one_repeat")
KIND = np.repeat([0, 1, 2], 20)


@pytest.fixture(name="X")
def matrix():
    values = np.random.default_rng(0).normal(size=(60, 40))
    values[KIND == 0, :8] += 3
    values[KIND == 1, :8] -= 3
    return values


@pytest.fixture
def pose(tmp_path):
    def write(X, method, *, search=(), groups=None, **obs):
        mean, deviation = X.mean(axis=0), X.std(axis=0, ddof=1)
        var = {"mean": mean, "deviation": deviation} | ({} if groups is None else {"group": groups})
        Z = ((X - mean) / deviation).astype(np.float32)
        file = save_matrix(tmp_path / f"{method}{len(X)}.h5ad", Z, obs, var, {"source": "matrix"})
        grid = {} if method in ("sparse", "kmeans") else {"sparsities": [8.0]}
        posed = {"seed": 1, "n_clusters": 3, "search": dict(search), "grid": grid}
        return define_problem(file, "own", method, **posed, code_digest="0")

    return write


def fit(problem):
    return find_clusters(problem.settings, problem.whole)


def test_a_sample_of_weight_zero_gets_the_nearest_cluster_whatever_the_method(pose, X):
    weights = np.where(KIND == 0, 2.0, 1.0)
    weights[59] = 0
    # In the features without weight, and so in all of them together, it is nearest to the first.
    X[59, 8:] = 9 * (X[KIND == 0, 8:].mean(axis=0) - X[KIND != 0, 8:].mean(axis=0))
    weighted = fit(pose(X, "sparse", weight=weights))
    assert weighted.trimmed is None
    problem = pose(X, "l0", weight=weights)
    path = problem.estimator.path(problem.tuning.X, [8])
    repeated = describe_fit(problem, path.fit_at(0), problem.attributes, 3)
    for found in (weighted, repeated):
        assert adjusted_rand_score(KIND, found.labels) == 1
        assert found.trimmed is None
    # It has no part in the means, where others count by their weights.
    for cluster, center in enumerate(repeated.centers):
        own = repeated.labels == cluster
        expected = np.average(problem.whole.X[own], axis=0, weights=weights[own])
        np.testing.assert_allclose(center, expected, atol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_cluster_without_samples_has_the_mean_of_all(kind):
    X = np.array([[1.0, 0], [3, 0], [5, 6]])
    data = ScaledData(kind(X), center=None if kind is np.asarray else np.array([1.0, 1]))
    means = cluster_means(data, np.array([0, 0, 2]), 3)
    expected = np.array([[2.0, 0], [3, 2], [5, 6]])
    np.testing.assert_allclose(means, expected - (kind is csr_array))


def test_copies_of_a_sample_are_left_out_together_and_count_once(pose, X):
    weights = 1.0 + np.arange(60) % 3
    problem = pose(X, "l0", weight=weights)
    assert problem.rows.tolist() == np.repeat(np.arange(60), weights.astype(int)).tolist()
    assert blocks_of(problem.data.about, 3).tolist() == problem.rows.tolist()
    once = problem.rows[problem.each_once]
    assert once.tolist() == list(range(60))
    # Groups of the user's own go before.
    donors = np.array([f"d{number}" for number in np.arange(60) // 6])
    known = blocks_of(pose(X, "l0", weight=weights, group=donors).data.about, 3)
    assert known.tolist() == (problem.rows // 6).tolist()
    assert blocks_of(pose(X, "l0", weight=np.ones(60)).data.about, 3) is None


@pytest.mark.parametrize("method", ["l0", "sparse"])
def test_choices_are_compared_on_samples_that_were_not_set_aside(pose, X, method):
    problem = pose(X, method)
    labels = np.where(np.arange(60) % 6 == 0, -1, KIND)
    data, kept = problem.kept_by(SimpleNamespace(clustered=labels))
    if method == "l0":
        assert data is problem.tuning
        assert kept.tolist() == labels.tolist()
        return
    own = X[labels >= 0]
    assert kept.tolist() == labels[labels >= 0].tolist()
    expected = (own - own.mean(axis=0)) / own.std(axis=0, ddof=1)
    np.testing.assert_allclose(data.X, expected, atol=1e-5)


def test_weights_are_importance_and_no_evidence(pose, X):
    plain, weighted = (
        fit(pose(X, "sparse", **known)) for known in ({}, {"weight": np.full(60, 5.0)})
    )
    # Five times as much of everyone: scores and objective are five times as large.
    np.testing.assert_array_equal(weighted.labels, plain.labels)
    np.testing.assert_allclose(weighted.scores, 5 * plain.scores, rtol=1e-6)
    assert weighted.conclusion == plain.conclusion
    np.testing.assert_array_equal(weighted.separation, plain.separation)


@pytest.mark.parametrize("method", ["l0", "sparse"])
def test_outliers_are_set_aside_and_have_no_part_in_the_means(pose, X, method):
    X[[0, 25, 50]] *= 8
    problem = pose(X, method, search={"trim": 0.05})
    if method == "sparse":
        found = fit(problem)
    else:
        path = problem.estimator.path(problem.tuning.X, [8])
        found = describe_fit(problem, path.fit_at(0), problem.attributes, 3)
    assert np.flatnonzero(found.trimmed).tolist() == [0, 25, 50]
    kept = found.clustered >= 0
    # z-scores of all samples, as l0 gets them, are of features that outliers stretched unequally.
    truth = KIND[kept]
    if method == "l0":
        alone = L0KMeans(3, sparsity=8, random_state=0).fit(problem.whole.X[kept])
        truth = alone.labels_
    assert adjusted_rand_score(truth, found.labels[kept]) == 1
    assert np.flatnonzero(found.clustered < 0).tolist() == [0, 25, 50]
    for cluster, center in enumerate(found.centers):
        own = problem.whole.X[found.clustered == cluster].mean(axis=0)
        np.testing.assert_allclose(center, own, atol=1e-5)


def test_groups_of_features_are_kept_whole_and_what_cannot_is_refused_by_name(pose, X):
    groups = [f"g{j // 4}" for j in range(40)]
    problem = pose(X, "l0", groups=groups)
    path = problem.estimator.path(problem.tuning.X, [2])
    assert np.flatnonzero(path.weights[0]).tolist() == list(range(8))
    weights = fit(pose(X, "sparse", groups=groups)).weights
    assert np.flatnonzero(weights).tolist() == list(range(8))
    with pytest.raises(ValueError, match=r"matrices.own.feature_groups: \w+ cannot choose"):
        pose(X, "pgmm", groups=groups)
    with pytest.raises(ValueError, match=r"matrices.own.trim: pca cannot set samples aside"):
        pose(X, "pca", search={"trim": 0.1})
    # k-means chooses no features.
    assert pose(X, "kmeans", groups=groups).sparsities is None
