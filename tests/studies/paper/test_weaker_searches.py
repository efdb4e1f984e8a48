"""The weaker searches are what their names say, and no better than the package's own."""

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.simulation.designs import experiment_2
from sparsekm.studies.paper.weaker_searches import (
    CarriedL0KMeans,
    CarriedL1KMeans,
    LloydKMeans,
    LloydL0KMeans,
    LloydPartition,
    UnsharedL0KMeans,
    UnsharedL1KMeans,
)

GRID = [5, 20, 50, 80]


@pytest.fixture(scope="module")
def data():
    return experiment_2(mu=0.6, n_features=80, cluster_size=8, random_state=3)


def test_lloyd_ends_where_every_sample_is_nearest_to_its_own_centre(data):
    fitted = LloydKMeans(3, n_init=1, random_state=0).fit(data.X)
    distances = ((data.X[:, None] - fitted.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(distances.argmin(axis=1), fitted.labels_)


def test_lloyd_makes_no_exchange_moves(data):
    rng = np.random.default_rng(0)
    matrix, weights = CentredMatrix(data.X), np.ones(data.X.shape[1])
    partition = LloydPartition(3)
    objectives = [
        partition.scores(matrix, partition.start(matrix, weights, rng)).sum() for _ in range(20)
    ]
    # With exchange moves single starts end alike on data this small; by Lloyd they do not.
    best = KMeans(3, n_init=20, random_state=0).fit(data.X).objective_
    assert max(objectives) <= best * (1 + 1e-9)
    assert min(objectives) < 0.99 * best


@pytest.mark.parametrize("searcher", [UnsharedL0KMeans, CarriedL0KMeans, LloydL0KMeans])
def test_no_weaker_search_beats_the_paths_of_the_package(data, searcher):
    own = L0KMeans(3, search="global", random_state=0).path(data.X, GRID)
    weaker = searcher(3, n_init=1, random_state=0).path(data.X, GRID)
    assert (weaker.objectives <= own.objectives * (1 + 1e-9)).all()
    assert (weaker.objectives < own.objectives * (1 - 1e-6)).any()


@pytest.mark.parametrize("searcher", [UnsharedL1KMeans, CarriedL1KMeans])
def test_weights_of_a_path_obey_their_bounds(data, searcher):
    path = searcher(3, n_init=1, random_state=0).path(data.X, [1.5, 4.0])
    np.testing.assert_allclose(np.linalg.norm(path.weights, axis=1), 1)
    assert (path.weights.sum(axis=1) <= np.array([1.5, 4.0]) + 1e-6).all()


def test_carrying_starts_from_the_smaller_sparsity(data):
    alone = CarriedL0KMeans(3, n_init=1, random_state=0).path(data.X, [80])
    carried = CarriedL0KMeans(3, n_init=1, random_state=0).path(data.X, GRID)
    unshared = UnsharedL0KMeans(3, n_init=1, random_state=0).path(data.X, GRID)
    # Without smaller sparsities both start from the k-means partition.
    assert alone.objectives[0] == unshared.objectives[-1]
    np.testing.assert_array_equal(carried.labels[0], unshared.labels[0])
    assert not np.array_equal(carried.labels[-1], unshared.labels[-1])
