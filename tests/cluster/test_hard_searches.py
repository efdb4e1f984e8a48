"""The search finds the optimum of tiny data, where every partition can be tried."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import ESTIMATORS, KMeans, L0KMeans, L1KMeans
from sparsekm.metrics import classification_error_rate
from sparsekm.simulation import gaussian_clusters


def noise(n, p, seed):
    return np.random.default_rng(seed).standard_normal((n, p))


def planted(n, p, seed):
    sizes = [n - 2 * (n // 3), n // 3, n // 3]
    return gaussian_clusters([[1.5, 1.5], [-1.5, 0.0], [0.0, -1.5]], sizes, p, random_state=seed).X


def whole_numbers(n, p, seed):
    return np.random.default_rng(seed).integers(0, 4, size=(n, p)).astype(float)


def heavy_tails(n, p, seed):
    return np.random.default_rng(seed).standard_t(2, size=(n, p))


# The bound of l1 is met to 1e-6, so the value may fall short by about as much.
TOLERANCES = {"l0": 1e-9, "l1": 3e-6}


def assert_finds(estimator, X, optimum, tolerance):
    fit = estimator.fit(X)
    assert fit.objective_ <= optimum * (1 + tolerance), "an objective above the optimum is no score"
    assert fit.objective_ >= optimum * (1 - tolerance)
    assert len(np.unique(fit.labels_)) == estimator.n_clusters


@pytest.mark.parametrize(
    ("make", "n", "p", "n_clusters"),
    [
        (noise, 8, 6, 3),
        (planted, 8, 6, 2),
        (whole_numbers, 8, 6, 3),
        (heavy_tails, 8, 6, 3),
        (noise, 11, 7, 3),
        (planted, 12, 7, 2),
        (noise, 10, 7, 4),
        (noise, 8, 60, 3),
    ],
)
@pytest.mark.parametrize("method", ["l0", "l1"])
def test_fits_and_paths_find_the_optimum(method, make, n, p, n_clusters, try_every_partition):
    X = make(n, p, 0)
    if method == "l1" and make is whole_numbers:
        X = X + noise(n, p, 0) * 1e-3  # ties at the top have their own documented answer
    grid = {"l0": [1, 2, 5, p], "l1": [1.0, 1.4, 2.5]}[method]
    optima = [try_every_partition(X, n_clusters, method, sparsity) for sparsity in grid]
    estimator = ESTIMATORS[method](n_clusters, search="global", random_state=0)
    np.testing.assert_allclose(estimator.path(X, grid).objectives, optima, rtol=TOLERANCES[method])
    for sparsity, optimum in zip(grid, optima, strict=True):
        assert_finds(estimator.set_params(sparsity=sparsity), X, optimum, TOLERANCES[method])


def test_keeping_all_features_is_kmeans(try_every_partition):
    X = noise(9, 4, 1)
    optimum = try_every_partition(X, 3, "l0", 4)
    for estimator in (
        L0KMeans(3, sparsity=4, search="global", random_state=0),
        L0KMeans(3, sparsity=4, search="alternate", n_init=50, random_state=0),
        KMeans(3, n_init=50, random_state=0),
    ):
        assert_finds(estimator, X, optimum, 1e-9)
        assert estimator.feature_weights_.tolist() == [1, 1, 1, 1]


# Three clusters of at least three of nine samples leave none to move: only swaps are left.
@pytest.mark.parametrize(("size", "seed"), [(2, 0), (3, 1)])
def test_with_a_guard_the_best_guarded_partition_is_found(size, seed, try_every_partition):
    X = heavy_tails(9, 5, seed)
    for sparsity in (1, 2, 5):
        optimum = try_every_partition(X, 3, "l0", sparsity, min_cluster_size=size)
        estimator = L0KMeans(
            3, sparsity=sparsity, search="global", min_cluster_size=size, random_state=seed
        )
        assert_finds(estimator, X, optimum, 1e-9)
        assert np.bincount(estimator.labels_).min() >= size


@pytest.mark.parametrize("search", ["alternate", "global"])
def test_where_the_optimum_is_clear_the_fits_are_sparcls(sparcl_reference, search):
    Z, n_clusters, fits = sparcl_reference("F")
    fits = [theirs for theirs in fits if theirs["wbound"] >= 1.897]
    assert len(fits) == 5
    for theirs in fits:
        ours = L1KMeans(n_clusters, sparsity=theirs["wbound"], search=search, random_state=0).fit(Z)
        assert classification_error_rate(theirs["Cs"], ours.labels_) == 0
        np.testing.assert_allclose(ours.feature_weights_, theirs["ws"], rtol=0, atol=1e-3)
        assert (ours.feature_weights_ > 0).tolist() == (np.array(theirs["ws"]) > 0).tolist()


@pytest.mark.parametrize("name", ["A", "C", "F"])
def test_the_global_path_is_never_below_sparcls(sparcl_reference, score_by_pairs, best_value, name):
    Z, n_clusters, fits = sparcl_reference(name)
    bounds = [theirs["wbound"] for theirs in fits]
    path = L1KMeans(n_clusters, search="global", random_state=0).path(Z, bounds)
    for theirs, ours in zip(fits, path.objectives, strict=True):
        # sparcl's weights may break the bound by up to 1e-4: the value at its labels is taken
        # anew, with the best weights that hold the bound.
        value = best_value(score_by_pairs(Z, theirs["Cs"]), "l1", theirs["wbound"])[0]
        assert value == pytest.approx(theirs["objective"], rel=1e-3)
        assert ours >= value * (1 - 3e-6)
    ratios = path.objectives / [theirs["objective"] for theirs in fits]
    assert name == "F" or ratios.max() > 1.02
