"""Algorithm 1 starts from given labels and nothing else, at any number of samples."""

import numpy as np
import pytest

from sparsekm.cluster.alternation import alternate, weigh_partition
from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition

GRIDS = {L0KMeans: [3, 10, 30], L1KMeans: [1.3, 2.5, 5.0]}
METHODS = pytest.mark.parametrize("Estimator", GRIDS)
SAMPLES = pytest.mark.parametrize("n_samples", [60, 300, 301, 1500])


def draw(n_samples):
    """Draw data whose clusters few features show, and labels that tell nothing of them."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n_samples, 30))
    X[:, :6] += rng.normal(scale=1.2, size=(5, 6))[rng.integers(5, size=n_samples)]
    return X, rng.integers(5, size=n_samples)


def algorithm_1(X, weight_step, labels):
    """Alternate by hand: no restart, no other start."""
    matrix, partition = CentredMatrix(X), KMeansPartition(5)
    start = weigh_partition(matrix, partition, weight_step, labels.astype(np.int32))
    return alternate(matrix, partition, weight_step, 30, start=start, restart=False)


@METHODS
@SAMPLES
@pytest.mark.parametrize("search", ["auto", "alternate"])
def test_a_fit_is_algorithm_1_from_the_labels(Estimator, n_samples, search):
    X, labels = draw(n_samples)
    for sparsity in GRIDS[Estimator]:
        estimator = Estimator(5, sparsity=sparsity, init=labels, search=search)
        # Neither effort nor seed can matter where nothing is drawn.
        one = estimator.set_params(n_init=1, random_state=0).fit(X)
        assert one.search_ == "alternate"
        by_hand = algorithm_1(X, one._weight_step(sparsity, 30), labels)
        np.testing.assert_array_equal(one.labels_, by_hand.labels)
        again = estimator.set_params(n_init=7, random_state=1).fit(X)
        np.testing.assert_array_equal(again.labels_, by_hand.labels)


@METHODS
@SAMPLES
def test_every_fit_of_a_path_starts_from_the_labels_and_shares_its_end(Estimator, n_samples):
    X, labels = draw(n_samples)
    grid = GRIDS[Estimator]
    path = Estimator(5, init=labels, n_init=7, random_state=3).path(X, grid)
    assert path.search == "alternate"
    for sparsity, objective in zip(grid, path.objectives, strict=True):
        step = Estimator()._weight_step(sparsity, 30)
        assert objective >= algorithm_1(X, step, labels).objective * (1 - 1e-12)
        for scores in path.scores:
            assert objective >= np.sum(step.weigh(scores) * scores) * (1 - 1e-9)
    again = Estimator(5, init=labels, random_state=4).path(X, grid)
    np.testing.assert_array_equal(again.labels, path.labels)


@METHODS
def test_the_global_search_takes_labels_in_among_its_own_starts(Estimator):
    X, labels = draw(60)
    parameters = {"sparsity": GRIDS[Estimator][0], "search": "global", "n_init": 1}
    fit = Estimator(5, **parameters, init=labels, random_state=0).fit(X)
    assert fit.search_ == "global"
    alone = Estimator(5, sparsity=GRIDS[Estimator][0], init=labels).fit(X)
    assert fit.objective_ >= alone.objective_
    best = Estimator(5, **{**parameters, "n_init": 20}, random_state=1).fit(X)
    kept = Estimator(5, **parameters, max_iter=1, init=best.labels_, random_state=2).fit(X)
    assert kept.objective_ >= best.objective_ * (1 - 1e-9)


def test_without_labels_auto_still_searches_globally_on_few_samples():
    X, _ = draw(60)
    assert L0KMeans(5, sparsity=3, n_init=1, random_state=0).fit(X).search_ == "global"


@METHODS
def test_no_randomness_comes_from_numpys_global_generator(Estimator):
    X, _ = draw(60)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the one that must not be used)
    Estimator(5, n_init=1).fit(X)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
