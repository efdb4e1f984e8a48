"""The partition steps of k-means, and the starts that Algorithm 1 runs from."""

import numpy as np
import pytest

from sparsekm.cluster.alternation import alternate, weigh_partition
from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.kmeans.few_samples import exchange_until_stable, merge_and_split
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition, propose_starts
from sparsekm.cluster.weight_step import PENALTIES
from sparsekm.metrics import classification_error_rate
from sparsekm.runtime.random_state import seed_sequence

WEIGHTS = {
    "equal": np.ones(8),
    "graded": np.array([0.9, 0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.02]),
    "few": np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
}


def best_single_move(X, labels, weights, score, n_clusters):
    """The largest weighted objective that moving one sample to another cluster gives."""
    values = []
    for i in range(len(X)):
        if np.count_nonzero(labels == labels[i]) == 1:
            continue
        for k in range(n_clusters):
            moved = labels.copy()
            moved[i] = k
            values.append(weights @ score(X, moved))
    assert len(values) > len(X)
    return max(values)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_refining_ends_where_no_exchange_gains(weights, score_by_pairs):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 8))
    start = rng.integers(0, 3, size=24).astype(np.int32)
    before = start.copy()
    labels = KMeansPartition(3).refine(CentredMatrix(X), weights, start)
    np.testing.assert_array_equal(start, before)
    value = weights @ score_by_pairs(X, labels)
    assert value > weights @ score_by_pairs(X, start)
    assert best_single_move(X, labels, weights, score_by_pairs, 3) <= value * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("search", ["alternate", "global"])
@pytest.mark.parametrize("max_iter", [1, 20])
@pytest.mark.parametrize(("Estimator", "sparsity"), [(L0KMeans, 5), (L1KMeans, 2.0)])
def test_no_single_move_improves_a_fit(
    faint_data, score_by_pairs, Estimator, sparsity, max_iter, search
):
    X = faint_data.X
    fit = Estimator(
        3, sparsity=sparsity, search=search, n_init=1, max_iter=max_iter, random_state=0
    ).fit(X)
    best = best_single_move(X, fit.labels_, fit.feature_weights_, score_by_pairs, 3)
    assert best <= fit.objective_ * (1 + 1e-12)


def lloyd(X, labels, n_clusters):
    """Lloyd's iteration to its end, in plain NumPy."""
    while True:
        centers = np.array([X[labels == k].mean(axis=0) for k in range(n_clusters)])
        moved = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(moved, labels):
            return labels
        labels = moved


def test_without_structure_it_goes_far_beyond_lloyd():
    """600 features, 1,500 samples, no clusters: Lloyd's samples hold their own centres."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 600))
    X -= X.mean(axis=0)
    matrix, partition = CentredMatrix(X), KMeansPartition(8)
    start = rng.integers(8, size=1500).astype(np.int32)
    plain = lloyd(X, start, 8).astype(np.int32)
    found = partition.refine(matrix, np.ones(600), start)
    assert partition.scores(matrix, found).sum() > 1.05 * partition.scores(matrix, plain).sum()
    # The end is also an end of Lloyd's iteration.
    exact = KMeansPartition(8, max_iter=100_000)
    end = exact.refine(matrix, np.ones(600), found)
    np.testing.assert_array_equal(lloyd(X, end, 8), end)


def blobs(rng, n_each=20):
    centers = np.array([[0.0, 0.0], [0.0, 60.0], [60.0, 0.0]])
    X = np.repeat(centers, n_each, axis=0) + rng.standard_normal((3 * n_each, 2))
    return X - X.mean(axis=0)


def stuck_labels(X):
    """Two blobs in one cluster and one in two: no sample moves, but a cluster should."""
    labels = np.repeat([0, 0, 1], 20).astype(np.int32)
    labels[40:50] = 2
    exchange_until_stable(X, labels, 3, 1, 100, 0.0)
    assert labels[0] == labels[20], "exchange moves alone mend it: the claim is not put to the test"
    return labels


def are_blobs(labels):
    parts = [set(labels[i : i + 20]) for i in (0, 20, 40)]
    return all(len(part) == 1 for part in parts) and len(set.union(*parts)) == 3


def test_it_mends_what_exchange_moves_leave():
    X = blobs(np.random.default_rng(0))
    labels = stuck_labels(X)
    merge_and_split(X, labels, 3, 1, 0.0)
    assert are_blobs(labels)


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
    return alternate(matrix, partition, weight_step, start=start)


def proposals(X, init, weight_step, n_init, seed, n_clusters=4):
    problem = CentredMatrix(X), KMeansPartition(n_clusters), [weight_step]
    return propose_starts(*problem, init, n_init, seed_sequence(seed))[0]


@METHODS
@SAMPLES
def test_given_labels_are_the_one_start_whatever_effort_and_seed(Estimator, n_samples):
    X = draw(n_samples)
    labels = np.random.default_rng(1).integers(4, size=n_samples).astype(np.int32)
    for sparsity in GRIDS[Estimator]:
        alone = algorithm_1(X, PENALTIES[Estimator().penalty](sparsity), labels)
        for effort in ({"n_init": 1, "random_state": 0}, {"n_init": 6, "random_state": 1}):
            fit = Estimator(4, sparsity=sparsity, init=labels, **effort).fit(X)
            assert fit.search_ == "alternate"
            np.testing.assert_array_equal(fit.labels_, alone.labels)


@METHODS
@NAMES
def test_a_name_is_the_same_as_giving_the_labels_that_it_proposes(Estimator, name):
    X = draw(320)
    for sparsity in GRIDS[Estimator]:
        named = Estimator(4, sparsity=sparsity, init=name, n_init=3, random_state=5)
        step = PENALTIES[named.penalty](sparsity)
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
    found = proposals(X, "screened", PENALTIES[L0KMeans().penalty](1), 2, seed=0, n_clusters=2)[0]
    assert classification_error_rate(found, np.arange(80) < 40) == 0


@pytest.mark.parametrize(("use", "given"), [("fit", []), ("path", [[2]]), ("check", [])])
def test_an_unknown_name_is_refused_with_the_choices(use, given):
    choices = r"init='sreened' should be None, one of \['random', 'screened'\] or .* \(60,\)"
    with pytest.raises(ValueError, match=choices):
        getattr(L0KMeans(4, init="sreened"), use)(draw(60), *given)


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
