"""Starts: proposals or given labels; Algorithm 1 runs from these and from nothing else."""

import numpy as np
import pytest

from sparsekm.cluster.alternation import alternate, weigh_partition
from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.search.starts import make_start
from sparsekm.metrics import classification_error_rate
from sparsekm.runtime.random_state import seed_sequence

GRIDS = {L0KMeans: [3, 8, 20], L1KMeans: [1.3, 2.2, 4.0]}
METHODS = pytest.mark.parametrize("Estimator", GRIDS)
SAMPLES = pytest.mark.parametrize("n_samples", [60, 1500])
NAMES = pytest.mark.parametrize("name", ["random", "screened"])


def draw(n_samples, shift=2.0):
    """Draw four clusters that 5 of 20 features show."""
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples, 20))
    X[:, :5] += rng.normal(scale=shift, size=(4, 5))[rng.integers(4, size=n_samples)]
    return X


def algorithm_1(X, weight_step, labels, n_clusters=4):
    """Alternate by hand: no restart, no other start."""
    matrix, partition = CentredMatrix(X), KMeansPartition(n_clusters)
    start = weigh_partition(matrix, partition, weight_step, np.asarray(labels, np.int32))
    return alternate(matrix, partition, weight_step, X.shape[1], start=start, restart=False)


def proposals(X, init, weight_step, n_init, seed, n_clusters=4):
    matrix = CentredMatrix(X)
    start = make_start(init, matrix, n_init, seed_sequence(seed))
    return start.propose(matrix, KMeansPartition(n_clusters), weight_step)


class ByBound:
    """A start of a user's own: partitions for each weight step's bound."""

    def __init__(self, partitions):
        self.partitions = partitions

    def propose(self, X, partition, weight_step):
        return [partition.admit(X, labels) for labels in self.partitions[float(weight_step.bound)]]


@METHODS
@SAMPLES
def test_a_fit_is_the_best_of_algorithm_1_from_the_proposals_alone(Estimator, n_samples):
    X = draw(n_samples)
    rng = np.random.default_rng(1)
    for sparsity in GRIDS[Estimator]:
        step = Estimator()._weight_step(sparsity, 20)
        tried = rng.integers(4, size=(5, n_samples)).astype(np.int32)
        start = ByBound({float(step.bound): tried})
        best = max((algorithm_1(X, step, labels) for labels in tried), key=lambda f: f.objective)
        for effort in ({"n_init": 1, "random_state": 0}, {"n_init": 6, "random_state": 1}):
            fit = Estimator(4, sparsity=sparsity, init=start, **effort).fit(X)
            assert fit.search_ == "alternate"
            assert fit.objective_ == pytest.approx(best.objective, rel=1e-12)
            assert classification_error_rate(fit.labels_, best.labels) == 0
            # Given labels are such a proposal: neither effort nor seed matters.
            given = Estimator(4, sparsity=sparsity, init=tried[0], **effort).fit(X)
            assert given.search_ == "alternate"
            np.testing.assert_array_equal(given.labels_, algorithm_1(X, step, tried[0]).labels)


@METHODS
@NAMES
def test_a_name_is_the_same_as_giving_the_labels_that_it_proposes(Estimator, name):
    X = draw(320)
    for sparsity in GRIDS[Estimator]:
        named = Estimator(4, sparsity=sparsity, init=name, n_init=3, random_state=5)
        step = named._weight_step(sparsity, 20)
        proposed = proposals(X, name, step, n_init=3, seed=5)
        assert len(proposed) == {"random": 3, "screened": 1}[name]
        given = [Estimator(4, sparsity=sparsity, init=labels).fit(X) for labels in proposed]
        best = max(given, key=lambda fit: fit.objective_)
        assert named.fit(X).objective_ == best.objective_
        np.testing.assert_array_equal(named.labels_, best.labels_)
        path = named.path(X, [sparsity])
        np.testing.assert_array_equal(path.labels[0], best.labels_)


def test_screened_features_are_those_of_the_highest_marginal_scores():
    # The loud cluster lies in Gaussian features, the two-pointed one in feature 0 alone.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    X[:, 1:] *= 10
    X[:40, 0] += 9
    found = proposals(X, "screened", L0KMeans()._weight_step(1, 6), 2, seed=0, n_clusters=2)[0]
    assert classification_error_rate(found, np.arange(80) < 40) == 0


@pytest.mark.parametrize("use", ["fit", "path", "check"])
def test_an_unknown_name_is_refused_with_the_choices(use):
    estimator = L0KMeans(4, init="sreened")
    arguments = [[2]] if use == "path" else []
    with pytest.raises(
        ValueError,
        match=r"init='sreened' should be None, one of \['random', 'screened'\] or labels of shape "
        r"\(60,\)",
    ):
        getattr(estimator, use)(draw(60), *arguments)


@METHODS
@NAMES
def test_the_global_search_takes_a_start_in_among_its_own(Estimator, name):
    X = draw(60)
    parameters = {"sparsity": GRIDS[Estimator][0], "init": name, "n_init": 2, "random_state": 0}
    alone = Estimator(4, **parameters).fit(X)
    joined = Estimator(4, **parameters, search="global").fit(X)
    assert joined.search_ == "global"
    assert joined.objective_ >= alone.objective_ * (1 - 1e-12)


@METHODS
@NAMES
def test_data_whose_sample_is_constant_still_start(Estimator, name):
    X = np.zeros((3000, 20), np.float32)
    X[1234, 7] = 1.0
    fit = Estimator(2, sparsity=GRIDS[Estimator][0], init=name, n_init=2, random_state=0).fit(X)
    assert np.isfinite(fit.feature_weights_).all()
    assert np.isfinite(fit.objective_)
