"""The clustering problem of a data set: on disk, in memory and in the estimator it is the same."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score
from written_files import save_matrix

from sparsekm import L0KMeans, SparseKMeans
from sparsekm.cluster.batches import centre_batches, conclude_with_batches, count_batches
from sparsekm.cluster.description import Description
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix, in_blocks
from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.pipeline.problem import cluster_means, define_problem, describe_fit, order_fits, refit
from sparsekm.pipeline.provenance import derive_seed
from sparsekm.tuning.chosen_fit import find_clusters
from sparsekm.tuning.feature_ranking import moments_as_they_came
from sparsekm.tuning.fold_fits import blocks_of

pytestmark = pytest.mark.usefixtures("one_repeat")


@pytest.fixture
def pose(tmp_path):
    """Give the function that writes a matrix and defines a problem of it."""

    def pose(X, method, *, obs=(), var=(), obsm=None, **settings):
        file = tmp_path / "normalised.h5ad"
        save_matrix(file, X, obs, var, {"source": "matrix"}, obsm=obsm)
        defaults = {"n_clusters": 3, "search": {}, "grid": {}, "seed": 1, "code_digest": "0"}
        return define_problem(file, "own", method, **defaults | settings)

    return pose


@pytest.fixture
def pose_standardised(pose):
    """Give the function that defines a problem of the z-scores of a matrix."""

    def pose_z_scores(X, method, *, var=(), **settings):
        known = {"mean": X.mean(axis=0), "deviation": X.std(axis=0, ddof=1)}
        Z = ((X - known["mean"]) / known["deviation"]).astype(np.float32)
        return pose(Z, method, var=known | dict(var), **settings)

    return pose_z_scores


N_SAMPLES = 3000


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_SAMPLES, 20)) * (rng.random((N_SAMPLES, 20)) < 0.3)
    X[: N_SAMPLES // 2, :5] += 2 * (rng.random((N_SAMPLES // 2, 5)) < 0.8)
    return X.astype(np.float32)


@pytest.fixture
def pose_two(pose):
    """Give the function that defines a problem of two clusters."""

    def pose_two(X, method, *, var=(), **settings):
        centre = {} if isinstance(X, np.ndarray) else {"center": np.zeros(X.shape[1])}
        grid = {"sparsities": [5, 20]} if method == "l0" else {}
        asked = {"n_clusters": 2, "search": {"n_init": 1}, "grid": grid} | settings
        return pose(X, method, var=centre | dict(var), **asked)

    return pose_two


@pytest.mark.parametrize(
    ("kind", "method"), [(np.asarray, "kmeans"), (np.asarray, "l0"), (csr_array, "l0")]
)
def test_a_matrix_on_disk_gives_the_fits_of_one_in_memory(pose_two, many, kind, method):
    paths = []
    for most_bytes in (None, 0):
        problem = pose_two(kind(many), method, most_bytes=most_bytes)
        data = in_blocks(problem.tuning.X)
        assert isinstance(data, StreamedMatrix) == (kind is np.asarray and most_bytes == 0)
        paths.append(problem.estimator.path(data, problem.sparsities))
    for name in ("labels", "objectives", "weights", "scores"):
        np.testing.assert_array_equal(getattr(paths[1], name), getattr(paths[0], name))


def test_blocks_are_the_users_groups_or_else_of_space(pose_two, many):
    def blocks(problem):
        return blocks_of(problem.tuning.about, 2)

    assert blocks(pose_two(many, "l0")) is None
    obsm = {"spatial": np.arange(float(N_SAMPLES))[:, None]}
    found = blocks(pose_two(many, "l0", obsm=obsm))
    np.testing.assert_array_equal(found, np.repeat(np.arange(8), N_SAMPLES // 8))
    obs = {"group": [f"donor{i % 5}" for i in range(N_SAMPLES)]}
    problem = pose_two(many, "l0", obsm=obsm, obs=obs, max_samples=500)
    # Numbered by first appearance.
    codes = pd.factorize(problem.samples % 5)[0]
    assert blocks(problem).tolist() == codes.tolist()


@pytest.mark.parametrize(("asked", "n_drawn"), [(None, 2000), (500, 500), (2500, 2000)])
def test_no_more_samples_are_drawn_for_sparse_than_it_takes(pose_two, many, asked, n_drawn):
    assert len(pose_two(many, "sparse", max_samples=asked).samples) == n_drawn


def test_shares_of_features_become_numbers_each_once(pose_two, many):
    problem = pose_two(many[:50], "l0", grid={"sparsities": [0.5, 0.25, 0.26, 20]})
    assert problem.sparsities.tolist() == [5, 10, 20]
    assert len(pose_two(many[:50], "l0", grid={"n_sparsities": 4}).sparsities) == 4
    assert pose_two(many[:50], "kmeans").sparsities is None


def test_the_fit_to_show_is_the_first_of_the_best_or_that_of_the_tuning():
    fits = [SimpleNamespace(objective=value) for value in (3, 5, 5, 1)]
    assert order_fits(fits, maximises=True) == [1, 0, 2, 3]
    assert order_fits(fits, maximises=False) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_features_are_ranked_on_the_scale_that_they_came_on(pose_two, many, kind):
    raw = many[:300] * np.linspace(1, 9, 20, dtype=np.float32)
    means, deviations = raw.mean(axis=0, dtype=float), raw.std(axis=0, ddof=1, dtype=float)
    values = (raw - (means if kind is np.asarray else 0)) / deviations
    var = {"mean": means, "deviation": deviations}
    if kind is csr_array:
        var["center"] = means / deviations
    problem = pose_two(kind(values.astype(np.float32)), "sparse", var=var)
    found = moments_as_they_came(problem.tuning)
    np.testing.assert_allclose(found[0], means, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1], raw.var(axis=0), rtol=1e-4)


def test_clusters_of_a_sample_are_extended_from_disk_as_from_memory(pose_two, many):
    problems = [pose_two(many, "sparse", max_samples=200, most_bytes=most) for most in (None, 0)]
    memory, disk = (find_clusters(problem.settings, problem.whole) for problem in problems)
    assert memory.labels.shape == (N_SAMPLES,)
    np.testing.assert_array_equal(disk.labels, memory.labels)
    np.testing.assert_array_equal(disk.weights, memory.weights)
    np.testing.assert_array_equal(disk.reproducibility, memory.reproducibility)
    known = np.flatnonzero(np.isfinite(memory.reproducibility))
    np.testing.assert_array_equal(known, problems[0].samples)


@pytest.mark.parametrize("method", ["kmeans", "l0", "sparse"])
def test_a_fit_depends_on_the_number_of_its_seed_and_on_nothing_else(pose_two, method):
    X = np.random.default_rng(0).standard_normal((60, 60)).astype(np.float32)
    problem = pose_two(X, method, n_clusters=5, search={"n_init": 1, "search": "alternate"})
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


KIND = np.repeat([0, 1, 2], 20)


@pytest.fixture(name="X")
def matrix():
    values = np.random.default_rng(0).normal(size=(60, 40))
    values[KIND == 0, :8] += 3
    values[KIND == 1, :8] -= 3
    return values


@pytest.fixture
def pose_eight(pose_standardised):
    """Give the function that defines a problem of three clusters in eight features."""

    def pose_eight(X, method, *, search=(), groups=None, **obs):
        var = {} if groups is None else {"group": groups}
        grid = {} if method in ("sparse", "kmeans") else {"sparsities": [8.0]}
        asked = {"obs": obs, "var": var, "search": dict(search), "grid": grid}
        return pose_standardised(X, method, **asked)

    return pose_eight


def fit(problem):
    return find_clusters(problem.settings, problem.whole)


def describe_eight(problem):
    """Fit a problem with eight features, and describe the fit to all samples."""
    path = problem.estimator.path(problem.tuning.X, [8])
    return describe_fit(problem, path.fit_at(0), problem.attributes, 3)


def test_a_sample_of_weight_zero_gets_the_nearest_cluster(pose_eight, X):
    weights = np.where(KIND == 0, 2.0, 1.0)
    weights[59] = 0
    # In the features without weight, and so in all of them together, it is nearest to the first.
    X[59, 8:] = 9 * (X[KIND == 0, 8:].mean(axis=0) - X[KIND != 0, 8:].mean(axis=0))
    problem = pose_eight(X, "l0", weight=weights)
    repeated = describe_eight(problem)
    assert adjusted_rand_score(KIND, repeated.labels) == 1
    assert repeated.trimmed is None
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


def test_copies_of_a_sample_are_left_out_together_and_count_once(pose_eight, X):
    weights = 1.0 + np.arange(60) % 3
    problem = pose_eight(X, "l0", weight=weights)
    assert problem.rows.tolist() == np.repeat(np.arange(60), weights.astype(int)).tolist()
    assert blocks_of(problem.data.about, 3).tolist() == problem.rows.tolist()
    once = problem.rows[problem.each_once]
    assert once.tolist() == list(range(60))
    # Groups of the user's own go before.
    donors = np.array([f"d{number}" for number in np.arange(60) // 6])
    known = blocks_of(pose_eight(X, "l0", weight=weights, group=donors).data.about, 3)
    assert known.tolist() == (problem.rows // 6).tolist()
    assert blocks_of(pose_eight(X, "l0", weight=np.ones(60)).data.about, 3) is None


@pytest.mark.parametrize("method", ["l0", "sparse"])
def test_choices_are_compared_on_samples_that_were_not_set_aside(pose_eight, X, method):
    problem = pose_eight(X, method)
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


def test_weights_are_importance_and_no_evidence(pose_eight, X):
    weights = np.full(60, 5.0)
    plain, weighted = fit(pose_eight(X, "sparse")), fit(pose_eight(X, "sparse", weight=weights))
    # Five times as much of everyone: scores and objective are five times as large.
    np.testing.assert_array_equal(weighted.labels, plain.labels)
    np.testing.assert_allclose(weighted.scores, 5 * plain.scores, rtol=1e-6)
    assert weighted.conclusion == plain.conclusion
    np.testing.assert_array_equal(weighted.separation, plain.separation)


def test_outliers_are_set_aside_and_have_no_part_in_the_means(pose_eight, X):
    X[[0, 25, 50]] *= 8
    problem = pose_eight(X, "l0", search={"trim": 0.05})
    found = describe_eight(problem)
    assert np.flatnonzero(found.trimmed).tolist() == [0, 25, 50]
    kept = found.clustered >= 0
    # z-scores of all samples, as l0 gets them, are of features that outliers stretched unequally.
    alone = L0KMeans(3, sparsity=8, random_state=0).fit(problem.whole.X[kept])
    assert adjusted_rand_score(alone.labels_, found.labels[kept]) == 1
    assert np.flatnonzero(found.clustered < 0).tolist() == [0, 25, 50]
    for cluster, center in enumerate(found.centers):
        own = problem.whole.X[found.clustered == cluster].mean(axis=0)
        np.testing.assert_allclose(center, own, atol=1e-5)


def test_groups_of_features_are_kept_whole_and_what_cannot_is_refused_by_name(pose_eight, X):
    groups = [f"g{j // 4}" for j in range(40)]
    problem = pose_eight(X, "l0", groups=groups)
    path = problem.estimator.path(problem.tuning.X, [2])
    assert np.flatnonzero(path.weights[0]).tolist() == list(range(8))
    weights = fit(pose_eight(X, "sparse", groups=groups)).weights
    assert np.flatnonzero(weights).tolist() == list(range(8))
    with pytest.raises(ValueError, match=r"matrices.own.feature_groups: \w+ cannot choose"):
        pose_eight(X, "pgmm", groups=groups)
    with pytest.raises(ValueError, match=r"matrices.own.trim: pca cannot set samples aside"):
        pose_eight(X, "pca", search={"trim": 0.1})
    # k-means chooses no features.
    assert pose_eight(X, "kmeans", groups=groups).sparsities is None


N, P = 60, 40
IN_TURN = np.arange(N) % 3
RNG = np.random.default_rng(4)
WEIGHTS = np.where(np.arange(N) < 4, 0.0, RNG.uniform(0.5, 3, N))
DONORS = np.array([f"donor {number}" for number in RNG.integers(0, 15, N)])
GENE_GROUPS = np.array([f"module {j // 4}" for j in range(P)])
OPTIONS = {
    "nothing": {},
    "a number that is chosen": {"n_clusters": "auto"},
    "l1": {"penalty": "l1"},
    "weights": {"weights": WEIGHTS},
    "weights and a number that is chosen": {"weights": WEIGHTS, "n_clusters": "auto"},
    "trim": {"trim": 0.1},
    "trim and a number that is chosen": {"trim": 0.1, "n_clusters": "auto"},
    "donors": {"groups": DONORS},
    "donors and weights": {"groups": DONORS, "weights": WEIGHTS},
    "groups of features": {"feature_groups": GENE_GROUPS},
    "some samples": {"max_samples": 40},
    "the signature": {"selection": "signature"},
}


@pytest.fixture(scope="module")
def stretched():
    X = RNG.normal(size=(N, P))
    X[:, :8] += 3.0 * (np.arange(8) % 3 == IN_TURN[:, None])
    X[:3] *= 4
    return X * RNG.uniform(0.5, 4, P) + RNG.normal(size=P)


@pytest.fixture(name="find")
def find_in_workflow(pose_standardised):
    """Find clusters as the rules choose_cluster_count and find_consensus do."""

    def find(X, n_clusters=3, *, weights=None, groups=None, feature_groups=None, **search):
        known = {"weight": weights, "group": groups}
        given = {"obs": {name: value for name, value in known.items() if value is not None}}
        given["var"] = {} if feature_groups is None else {"group": feature_groups}
        given |= {"search": search, "max_samples": search.get("max_samples")}

        def find_one(numbers=None):
            asked = {"n_clusters": n_clusters, "numbers": numbers}
            return pose_standardised(X, "sparse", **given, **asked).find()

        return find_one(find_one().numbers) if n_clusters == "auto" else find_one()

    return find


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_estimator_and_the_rules_find_the_same(stretched, find, options):
    found, seed = find(stretched, **options), derive_seed(1, "own")
    given = {"n_clusters": 3, **options}
    known = {name: given.pop(name, None) for name in ("weights", "groups")}
    estimator = SparseKMeans(**given, random_state=seed)
    estimator.fit(stretched, groups=known["groups"], sample_weight=known["weights"])
    np.testing.assert_array_equal(found.clustered, estimator.labels_)
    np.testing.assert_allclose(found.weights, estimator.feature_weights_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.scores, estimator.feature_scores_, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(found.left_out, estimator.left_out_labels_)
    assert found.conclusion.split(", but in")[0] == estimator.conclusion_.split(", but in")[0]
    np.testing.assert_allclose(found.separation["p"], estimator.separation_["p"], rtol=1e-6)


@pytest.mark.filterwarnings("ignore:cluster")
def test_values_centred_within_batches_are_clustered_alike(stretched):
    batch = np.where(RNG.random(N) < 0.5, "first", "second")
    shifted = stretched + 6 * (batch == "second")[:, None] * (np.arange(P) >= 20)
    estimator = SparseKMeans(3, random_state=0).fit(shifted, batch=batch)
    data = ScaledData.standardise(shifted)
    about = Description(batch=batch, features=np.arange(P))
    found, centred = (
        find_clusters(SparseKMeans(3, random_state=0), each)
        for each in (
            dataclasses.replace(data, about=about),
            centre_batches(dataclasses.replace(data, about=about)),
        )
    )
    np.testing.assert_array_equal(found.labels, estimator.labels_)
    np.testing.assert_array_equal(centred.labels, estimator.batch_centred_.labels_)
    counts = count_batches(found.labels, pd.factorize(batch)[0])
    assert conclude_with_batches(found.conclusion, counts) == estimator.conclusion_
    assert adjusted_rand_score(batch, found.labels) > 0.9
    assert "coincide with batches and cannot be told" in estimator.conclusion_.split(". ")[0]
