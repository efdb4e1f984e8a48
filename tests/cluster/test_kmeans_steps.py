"""The partition steps of k-means, and the starts that Algorithm 1 runs from."""

from itertools import product
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.kmeans import few_samples, many_samples
from sparsekm.cluster.kmeans.few_samples import (
    centre,
    exchange_sweep,
    exchange_until_stable,
    new_points,
    swap,
)
from sparsekm.cluster.kmeans.many_samples import _Bounds
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.partition_step import KMeansPartition, propose_starts
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.weight_step import PENALTIES
from sparsekm.runtime.random_state import seed_sequence


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        KMeans(3, n_init=1),
        L0KMeans(3, sparsity=5, search="alternate", n_init=1, max_iter=1),
        L0KMeans(3, sparsity=5, search="global", n_init=1, max_iter=20),
        L1KMeans(3, sparsity=2.0, search="alternate", n_init=1, max_iter=20),
        L1KMeans(3, sparsity=2.0, search="global", n_init=1, max_iter=1),
    ],
)
def test_no_single_move_improves_a_fit(faint_data, score_by_pairs, estimator):
    fit = estimator.set_params(random_state=0).fit(faint_data.X)
    values = []
    for i, k in product(range(len(faint_data.X)), range(3)):
        if np.count_nonzero(fit.labels_ == fit.labels_[i]) > 1:
            moved = fit.labels_.copy()
            moved[i] = k
            values.append(fit.feature_weights_ @ score_by_pairs(faint_data.X, moved))
    assert len(values) > len(faint_data.X)
    assert max(values) <= fit.objective_ * (1 + 1e-12)


def test_a_sample_has_its_share_of_the_guard():
    matrix, rng = CentredMatrix(np.zeros((10_240, 1))), np.random.default_rng(0)
    shares = [KMeansPartition(3, size).draw(matrix, rng)[2].min_size for size in (100, 4)]
    assert shares == [20, 1]


def lloyd(X, labels, n_clusters):
    while True:
        centers = np.array([X[labels == k].mean(axis=0) for k in range(n_clusters)])
        moved = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(moved, labels):
            return labels
        labels = moved


def test_without_structure_it_goes_far_beyond_lloyd():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 600))
    X -= X.mean(axis=0)
    matrix, partition = CentredMatrix(X), KMeansPartition(8)
    start = rng.integers(8, size=1500).astype(np.int32)
    plain = lloyd(X, start, 8).astype(np.int32)
    found = partition.refine(matrix, np.ones(600), start)
    assert partition.scores(matrix, found).sum() > 1.05 * partition.scores(matrix, plain).sum()
    # The end is also an end of Lloyd's iteration.
    end = KMeansPartition(8, max_iter=100_000).refine(matrix, np.ones(600), found)
    np.testing.assert_array_equal(lloyd(X, end, 8), end)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_a_start_needs_no_further_move_but_for_single_precision(scale):
    rng = np.random.default_rng(8)
    matrix = CentredMatrix(rng.standard_normal((400, 30)) * scale)
    partition, weights = KMeansPartition(7, min_size=30), rng.uniform(size=30)
    start = partition.start(matrix, weights, rng)
    assert np.bincount(start).min() >= 30
    before, after = (
        partition.scores(matrix.in_unit()[0], labels) @ weights
        for labels in (start, partition.refine(matrix, weights, start))
    )
    assert before <= after * (1 + 1e-12)
    assert after <= before * (1 + 1e-5)


GRIDS = {L0KMeans: [3, 8, 20], L1KMeans: [1.3, 2.2, 4.0]}
METHODS = pytest.mark.parametrize("Estimator", GRIDS)
NAMES = pytest.mark.parametrize("name", ["random", "screened"])


def draw(n_samples, shift=2.0):
    rng = np.random.default_rng(n_samples)
    X = rng.normal(size=(n_samples, 20))
    X[:, :5] += rng.normal(scale=shift, size=(4, 5))[rng.integers(4, size=n_samples)]
    return X


def proposals(X, init, weight_step, n_init, seed, n_clusters=4):
    problem = CentredMatrix(X), KMeansPartition(n_clusters), [weight_step]
    return propose_starts(*problem, init, n_init, seed_sequence(seed))[0]


@METHODS
@pytest.mark.parametrize("n_samples", [60, 1500])
def test_given_labels_are_the_one_start_whatever_effort_and_seed(Estimator, n_samples):
    X = draw(n_samples)
    labels = np.random.default_rng(1).integers(4, size=n_samples)
    for sparsity in GRIDS[Estimator]:
        once, often = (
            Estimator(4, sparsity=sparsity, init=labels, n_init=n_init, random_state=n_init).fit(X)
            for n_init in (1, 6)
        )
        assert once.search_ == often.search_ == "alternate"
        np.testing.assert_array_equal(once.labels_, often.labels_)


@METHODS
@NAMES
def test_a_name_is_the_same_as_giving_the_labels_that_it_proposes(Estimator, name):
    X = draw(320)
    for sparsity in GRIDS[Estimator]:
        named = Estimator(4, sparsity=sparsity, init=name, n_init=3, random_state=5)
        proposed = proposals(X, name, PENALTIES[named.penalty](sparsity), n_init=3, seed=5)
        assert len(proposed) == {"random": 3, "screened": 1}[name]
        given = [Estimator(4, sparsity=sparsity, init=labels).fit(X) for labels in proposed]
        best = max(given, key=lambda fit: fit.objective_)
        assert named.fit(X).objective_ == best.objective_
        np.testing.assert_array_equal(named.labels_, best.labels_)
        np.testing.assert_array_equal(named.path(X, [sparsity]).labels[0], best.labels_)


class Watched(KMeansPartition):
    """Remember the weights and the labels of every start."""

    seen: ClassVar[list] = []

    def start(self, X, weights, rng):
        self.seen.append((weights, super().start(X, weights, rng)))
        return self.seen[-1][1]


@pytest.fixture
def watched():
    Watched.seen.clear()
    return Watched(4)


@pytest.mark.parametrize("n_samples", [60, 2500])
def test_k_means_goes_on_from_the_best_of_twice_as_many_starts(watched, n_samples):
    matrix = CentredMatrix(draw(n_samples, 0.5))
    labels, *_ = watched.run(matrix, 3, np.random.SeedSequence(0))
    starts = [labels for _, labels in Watched.seen]
    assert len({start.tobytes() for start in starts}) == 6
    if n_samples == 60:
        values = [watched.scores(matrix, start).sum() for start in starts]
        best = starts[int(np.argmax(values))]
        np.testing.assert_array_equal(watched.refine(matrix, np.ones(20), best), labels)
    else:
        # A sample of the samples.
        assert {len(start) for start in starts} == {2048}


@METHODS
def test_screened_features_count_by_their_squared_scores_and_the_best_start_is_proposed(
    watched, Estimator
):
    X, step, partition, seen = draw(60), PENALTIES[Estimator.penalty](2.5), watched, Watched.seen
    matrix = CentredMatrix(X)
    (found,) = propose_starts(matrix, partition, [step], "screened", 6, seed_sequence(0))[0]
    weights = step.weigh(marginal_scores(X) ** 2)
    objectives = [partition.scores(matrix, labels) @ weights for _, labels in seen]
    np.testing.assert_allclose([given for given, _ in seen], np.tile(weights, (6, 1)), atol=1e-12)
    assert partition.scores(matrix, found) @ weights == max(objectives) > min(objectives)
    # What no score tells from a Gaussian has no weight where others have.
    X[:, 3:] = 1.0
    seen.clear()
    all_of_them = PENALTIES["l0"](20)
    propose_starts(CentredMatrix(X), partition, [all_of_them], "screened", 1, seed_sequence(0))
    assert np.flatnonzero(seen[0][0]).tolist() == [0, 1, 2]


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


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_a_sweep_measures_every_distance_and_a_swap_is_the_best(kind, n_clusters):
    X = np.random.default_rng(1).standard_normal((38, 6)) - 0.5
    rows, labels = as_matrix(kind(X)).rows, np.arange(38, dtype=np.int32) % n_clusters
    centers, sizes = new_points(rows, n_clusters), np.zeros(n_clusters, np.int64)
    distances, everyone = np.zeros((38, n_clusters)), np.ones(n_clusters, bool)
    centre(rows, labels, centers, sizes, everyone)
    # No cluster may become smaller: samples are swapped until none gains.
    while exchange_sweep(rows, labels, centers, sizes, 38, distances, everyone.copy()):
        centre(rows, labels, centers, sizes, everyone)
    means = np.array([X[labels == k].mean(axis=0) for k in range(n_clusters)])
    np.testing.assert_allclose(distances, ((X[:, None] - means) ** 2).sum(axis=2), rtol=1e-5)

    def within(labels):
        return sum(X[labels == k].var(axis=0).sum() * sum(labels == k) for k in range(n_clusters))

    given = np.arange(38, dtype=np.int32) % n_clusters
    centre(rows, given, centers, sizes, everyone)
    others = np.flatnonzero(given != given[0])
    order = np.tile(np.arange(38), (len(others), 1))
    order[:, 0], order[range(len(others)), others] = others, 0
    best = others[np.argmin([within(given[each]) for each in order])]
    swap(rows, given, centers, sizes, 0)
    assert np.flatnonzero(given != np.arange(38) % n_clusters).tolist() == [0, best]


def test_no_sample_has_a_half_before_the_first_split(monkeypatch):
    seen = []

    def split(packed, labels, centers, sizes, min_size, halves):
        seen.append(halves.copy())
        return np.full(len(sizes), -np.inf)

    monkeypatch.setattr(few_samples, "split_each", split)
    X, labels = draw(40), np.arange(40, dtype=np.int32) % 4
    few_samples.merge_and_split.py_func(X, labels, 4, 1, 0.0)
    assert len(seen) == 1
    assert (seen[0] == -1).all()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_many_samples_that_are_not_measured_again_would_not_have_moved(kind, monkeypatch):
    X, find, unsure = kind(draw(6000, 1.0)), _Bounds.find_unsure, []
    monkeypatch.setattr(_Bounds, "find_unsure", lambda *a: unsure.append(find(*a)) or unsure[-1])
    found = KMeans(9, random_state=0).fit(X)
    assert min(map(len, unsure)) < 3000
    monkeypatch.setattr(_Bounds, "find_unsure", lambda _, at, *__: np.arange(at.stop - at.start))
    np.testing.assert_array_equal(KMeans(9, random_state=0).fit(X).labels_, found.labels_)


def test_batches_end_where_they_gain_nothing_but_rounding(monkeypatch):
    values = 1.0 + 1e-15 * np.arange(1000)
    monkeypatch.setattr(many_samples, "_between", lambda *given: next(rising))
    rising = iter(values)
    X = (np.random.default_rng(0).random((300, 4)) < 0.5).astype(float)
    matrix = as_matrix(X)
    start, step = np.arange(300, dtype=np.int32) % 5, KMeansPartition(5, max_iter=300)
    _, sweeps = many_samples.exchange_in_batches(matrix, np.ones(4), start, step)
    assert sweeps < 10


@pytest.mark.parametrize("min_size", [1, 3])
def test_sweeps_over_few_distinct_values_end(min_size):
    # Samples with equal values go back and forth, and rounding gains from it.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = (rng.random((200, 4)) < 0.5).astype(float)
        X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
        labels = rng.permutation(np.arange(200) % 12).astype(np.int32)
        assert exchange_until_stable(X, labels, 12, min_size, 1000, 0.0) < 20
        assert np.bincount(labels).min() >= min_size
