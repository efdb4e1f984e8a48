"""SparseClustering: any clusterer, or a partition step of one's own, in the paper's framework."""

import doctest
import warnings
from pathlib import Path

import numpy as np
import pytest
from partition_steps import CLUSTERERS, FOUR, BestOfAll, Given, KMediansPartition
from sklearn.cluster import DBSCAN, AgglomerativeClustering, FeatureAgglomeration
from sklearn.cluster import KMeans as ReferenceKMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sparsekm import GapSearch, SparseClustering
from sparsekm.cluster import alternation
from sparsekm.cluster.alternation import (
    alternate,
    draw_scores,
    refine_until_fixed_point,
    share_partitions,
    weigh_partition,
)
from sparsekm.cluster.weight_step import TopFeatures


@pytest.fixture(autouse=True)
def first_call():
    Given.calls = 0
    # On thirty samples the libraries' threads only wait for each other.
    with threadpool_limits(1):
        yield


def watch(kind):
    """Derive from a kind of clusterer one that remembers what it is given."""

    class Watched(kind):
        def fit_predict(self, X, y=None):
            seen.append(np.array(X))
            return super().fit_predict(X)

    seen = Watched.seen = []
    return Watched


def test_four_samples_worked_by_hand():
    assert SparseClustering(AgglomerativeClustering(2)).fit(FOUR).labels_.tolist() == [0, 1, 1, 1]
    fit = SparseClustering(AgglomerativeClustering(2), sparsity=1).fit(FOUR)
    # Of all: mean 6.5. The first sample alone is 6.5 from it and the mean of the others 13/6, which
    # makes 42.25 + 3 * 169 / 36; the means of the halves are 5 from it.
    assert fit.objectives_ == pytest.approx([169 / 3, 100.0, 100.0])
    assert fit.labels_.tolist() == [0, 0, 1, 1]
    assert fit.feature_weights_.tolist() == [1, 0]
    assert fit.objective_ == pytest.approx(100.0)
    assert fit.feature_scores_ == pytest.approx([100.0, 0.25])
    np.testing.assert_allclose(fit.cluster_centers_, [[1.5, 4.0], [11.5, 4.5]])
    assert fit.n_iter_ == 2


def test_the_clusterer_sees_kept_columns_times_the_root_of_their_weights(faint_data):
    X, kind = faint_data.X * 3 + 100, watch(AgglomerativeClustering)
    SparseClustering(kind(3)).fit(X)
    # With every feature it is asked for its own partition.
    assert all(np.array_equal(given, X) for given in kind.seen)
    estimator = SparseClustering(kind(3), penalty="l1", sparsity=2.0, n_init=1, tol=0.0)
    fit = estimator.fit(X)
    weights = fit.feature_weights_[fit.get_support()]
    last = fit.transform(X) * np.sqrt(weights / weights.max())
    np.testing.assert_allclose(kind.seen[-1], last, rtol=1e-12)


@pytest.fixture(
    params=[
        *[(name, "l0") for name in ("ward", "spectral", "bisecting")],
        *[(name, "l1") for name in ("average linkage", "mixture", "k-means", "medians")],
    ],
    ids=str,
)
def estimator(request):
    name, penalty = request.param
    clusterer = {**CLUSTERERS, "medians": KMediansPartition(3)}[name]
    few = {"sparsity": {"l0": 4, "l1": 1.8}[penalty], "n_init": 2, "random_state": 0}
    return SparseClustering(clusterer, penalty=penalty, **few)


def test_clear_clusters_and_features_are_found(estimator, clear_data):
    fit = estimator.fit(clear_data.X)
    assert len(set(zip(clear_data.labels, fit.labels_, strict=True))) == 3
    assert fit.get_support().tolist() == clear_data.relevant.tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objectives_never_fall_whatever_the_clustering(estimator, faint_data):
    fit = estimator.fit(faint_data.X)
    assert len(fit.objectives_) >= 2
    assert np.diff(fit.objectives_).min() >= -1e-9 * fit.objective_
    assert fit.objective_ == fit.objectives_[-1]
    assert fit.objective_ == pytest.approx(fit.feature_weights_ @ fit.feature_scores_, rel=1e-12)


@pytest.mark.parametrize(("kind", "starts"), [(AgglomerativeClustering, 1), (ReferenceKMeans, 4)])
def test_clusterers_without_chance_start_once_and_others_restart(faint_data, kind, starts):
    watched = watch(kind)
    SparseClustering(watched(3), sparsity=5, n_init=4).fit(faint_data.X)
    widths = [X.shape[1] for X in watched.seen]
    assert set(widths) == {5, 25}
    assert widths.count(25) == starts


def test_fresh_runs_are_by_features_of_two_clusters_and_of_one_factor_in_turn(
    faint_data, monkeypatch
):
    asked = []

    def draw(X, labels, rng, *, among_clusters):
        asked.append(among_clusters)
        return draw_scores(X, labels, rng, among_clusters=among_clusters)

    monkeypatch.setattr(alternation, "draw_scores", draw)
    SparseClustering(AgglomerativeClustering(3), sparsity=5, n_init=4).fit(faint_data.X)
    assert asked == [True, False, True]


def test_a_seed_decides_all_and_the_clusterers_own_is_not_used(faint_data):
    def fit(seed, own):
        clusterer = ReferenceKMeans(3, n_init=1, init="random", max_iter=1, random_state=own)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator = SparseClustering(clusterer, sparsity=5, n_init=1, random_state=seed)
            fitted = estimator.fit(faint_data.X)
        assert clusterer.random_state == own
        assert not hasattr(clusterer, "labels_")
        return fitted.labels_.tolist()

    assert fit(3, 0) == fit(3, 1)
    assert len({tuple(fit(seed, 0)) for seed in range(5)}) > 1


def test_along_a_path_objectives_rise_and_no_other_fit_is_better(estimator, faint_data, best_value):
    penalty = estimator.penalty
    grid = [6, 2, 25, 4] if penalty == "l0" else [2.5, 1.3, 5.0, 1.8]
    steps = []
    path = estimator.path(faint_data.X, grid, progress=lambda *step: steps.append(step))
    assert path.sparsities.tolist() == grid
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert np.diff(path.objectives[np.argsort(grid)]).min() >= 0
    for objective, allowed in zip(path.objectives, grid, strict=True):
        assert objective >= best_value(path.scores, penalty, allowed).max() * (1 - 1e-6)
    assert set(vars(estimator)) == set(estimator.get_params(deep=False))


def test_a_fit_of_a_path_can_be_adopted(faint_data):
    estimator = SparseClustering(AgglomerativeClustering(3))
    path = estimator.path(faint_data.X, [3, 5])
    fit = estimator.adopt(faint_data.X, path, 1)
    np.testing.assert_array_equal(fit.labels_, path.labels[1])
    np.testing.assert_array_equal(fit.feature_weights_, path.weights[1])
    assert fit.objectives_ == [fit.objective_] == [path.objectives[1]]


def test_a_search_tunes_it(clear_data):
    search = GapSearch(
        SparseClustering(AgglomerativeClustering(3)),
        sparsities=[4, 10, 20],
        n_references=3,
        random_state=0,
    ).fit(clear_data.X)
    assert not hasattr(search, "predict")
    assert search.best_sparsity_ == 4
    assert search.get_support().tolist() == clear_data.relevant.tolist()
    assert len(set(zip(clear_data.labels, search.labels_, strict=True))) == 3


def test_references_reach_the_clusterer_in_the_units_of_the_data(clear_data):
    X, kind = clear_data.X + np.arange(20), watch(AgglomerativeClustering)
    search = GapSearch(SparseClustering(kind(3)), sparsities=[2, 4], n_references=2)
    search.set_params(random_state=0).fit(X)
    means = [given.mean(axis=0) for given in kind.seen if given.shape[1] == 20]
    assert len(means) >= 3
    np.testing.assert_allclose(means, np.tile(X.mean(axis=0), (len(means), 1)), atol=1e-9)


@pytest.mark.parametrize(("penalty", "allowed", "seed"), [("l0", 2, 0), ("l1", 1.2, 1)])
def test_an_exact_partition_step_ends_where_neither_step_gains(
    penalty, allowed, seed, all_partitions, score_by_pairs, best_value, try_every_partition
):
    X = np.random.default_rng(seed).normal(size=(7, 6))
    partitions = all_partitions(7, 3).astype(int)
    step = BestOfAll(partitions, score_by_pairs)
    fit = SparseClustering(step, penalty=penalty, sparsity=allowed, n_init=1).fit(X)
    scores = np.array([score_by_pairs(X, labels) for labels in partitions])
    assert fit.objective_ == pytest.approx((scores @ fit.feature_weights_).max(), rel=1e-9)
    best = best_value(fit.feature_scores_, penalty, allowed)[0]
    assert fit.objective_ == pytest.approx(best, rel=1e-9)
    assert fit.objective_ <= try_every_partition(X, 3, penalty, allowed) * (1 + 1e-9)


def test_rounds_that_run_out_are_told(faint_data):
    estimator = SparseClustering(KMediansPartition(3), sparsity=2, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="after max_iter=1 rounds"):
        estimator.fit(faint_data.X)


@pytest.mark.parametrize("scores", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_scores_that_cannot_be_weighed_are_refused(scores):
    class Wrong(BestOfAll):
        def scores(self, X, labels):
            return np.array(scores)

    step = Wrong([np.array([0, 0, 1, 1])], lambda X, labels: np.ones(2))
    with pytest.raises(ValueError, match="should be 2 finite numbers >= 0"):
        SparseClustering(step).fit(FOUR)


class Tabulated:
    """A partition step whose partitions are numbers, with tables of scores and of moves."""

    def __init__(self, scores, moves=(), starts=()):
        self.table = [np.array(row, float) for row in scores]
        self.moves, self.starts = dict(moves), iter(starts)

    def start(self, X, weights, rng):
        return np.array([next(self.starts)])

    def refine(self, X, weights, labels):
        return np.array([self.moves.get(labels[0], labels[0])])

    def scores(self, X, labels):
        return self.table[labels[0]]


ONE, THREE = TopFeatures(1), TopFeatures(3)


@pytest.mark.parametrize(
    ("fresh", "objectives"),
    [
        # By the weights of the moment, on the first feature, the second is better, the third not.
        ([0, 1, 0], [2, 3, 3]),
        ([0, 2, 0], [2, 2, 2]),
        ([1, 0, 0], [3, 3, 3]),
    ],
)
def test_a_fresh_start_is_taken_where_it_is_better_by_the_weights_of_the_moment(fresh, objectives):
    step = Tabulated([[2, 1, 0], [3, 0, 0], [0, 0, 9]], starts=fresh[1:])
    start = weigh_partition(None, step, ONE, np.array(fresh[:1]))
    fit = alternate(None, step, ONE, start, rng=np.random.default_rng(0))
    assert fit.objectives == objectives
    assert (fit.n_iter, fit.converged) == (2, True)


def test_each_sparsity_also_goes_on_from_the_end_of_the_next_denser_one(monkeypatch):
    step, starts = Tabulated([[2, 1, 0], [1, 3, 3]], moves={0: 1}, starts=[0] * 9), {}

    def go_on(X, partition, weight_step, *, start, **limits):
        starts.setdefault(weight_step.n_equal, []).append(int(start.labels[0]))
        return alternate(X, partition, weight_step, start=start, **limits)

    monkeypatch.setattr(alternation, "alternate", go_on)
    rng = [np.random.default_rng(0)]
    problem = np.zeros((1, 3)), step, [ONE, THREE]
    alternation.alternate_everywhere(*problem, rng, lambda done, total: None)
    assert starts == {3: [0], 1: [0, 1]}


def test_the_labels_of_any_sparsity_are_tried_at_all_others():
    step = Tabulated([[5, 0, 0], [3, 3, 3], [6, 0, 0]], moves={0: 2})
    steps = [ONE, TopFeatures(2), THREE]
    pairs = zip(steps, (1, 1, 0), strict=True)
    fits = [weigh_partition(None, step, of, np.array([number])) for of, number in pairs]
    shared = share_partitions(None, step, steps, fits)
    # The first takes over what the last has, and refines it; the last what the second has.
    assert [(fit.labels[0], fit.objective) for fit in shared] == [(2, 6), (1, 6), (1, 9)]


@pytest.mark.parametrize(("gain", "ends"), [(0.0, 3), (0.04, 3), (0.06, 2), (0.6, 1)])
def test_a_turn_that_gains_less_than_the_share_asked_for_is_the_last(gain, ends):
    step = Tabulated([[1.0], [1.5], [1.575], [1.7], [1.6]], moves={0: 1, 1: 2, 2: 3, 3: 4})
    start = weigh_partition(None, step, ONE, np.array([0]))
    fit = refine_until_fixed_point(None, step, ONE, start, gain)
    # The last move loses.
    assert (fit.labels[0], fit.objective) == (ends, step.table[ends][0])


def test_fresh_features_tell_two_clusters_apart_or_correlate_with_one():
    rng, labels = np.random.default_rng(0), np.repeat([0, 1, 2], 4)
    X = rng.standard_normal((12, 5)) * np.arange(1, 6)
    means = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    apart = {tuple(((means[a] - means[b]) ** 2).round(9)) for a, b in ((0, 1), (0, 2), (1, 2))}
    like = {tuple((row**2).round(9)) for row in np.corrcoef(X.T)}
    for clusters, among, expected in (
        (labels, True, apart),
        (labels, False, like),
        # Two clusters have no other two.
        (labels // 2, True, like),
    ):
        drawn = [draw_scores(X, clusters, rng, among_clusters=among) for _ in range(60)]
        unit = [1.0 if expected is apart else scores.max() for scores in drawn]
        found = {tuple((s / most).round(9)) for s, most in zip(drawn, unit, strict=True)}
        assert found == expected


def test_the_first_weights_are_equal(faint_data):
    class Watched(KMediansPartition):
        def start(self, X, weights, rng):
            asked.append(weights)
            return super().start(X, weights, rng)

    asked = []
    SparseClustering(Watched(3), sparsity=5, n_init=1, random_state=0).fit(faint_data.X)
    assert len(set(asked[0])) == 1
    assert {np.count_nonzero(weights) for weights in asked[1:]} == {5}


def test_another_criterion_than_least_squares_is_optimised(faint_data):
    step = KMediansPartition(3)
    fit = SparseClustering(step, sparsity=5, random_state=0).fit(faint_data.X)
    np.testing.assert_array_equal(fit.feature_scores_, step.scores(faint_data.X, fit.labels_))
    assert fit.objective_ == pytest.approx(np.sort(fit.feature_scores_)[-5:].sum())


@pytest.mark.parametrize(
    ("clusterer", "error", "message"),
    [
        (ReferenceKMeans, TypeError, "should be a scikit-learn clusterer .* or a partition step"),
        (KMediansPartition, TypeError, "should be a scikit-learn clusterer"),
        ("ward", TypeError, "clusterer='ward' should be"),
        (FeatureAgglomeration(2), TypeError, "should be a scikit-learn clusterer"),
        (DBSCAN(), ValueError, r"DBSCAN\(\) should have a number as n_clusters"),
        (AgglomerativeClustering(0), ValueError, "n_clusters=0 should be >= 1"),
        (AgglomerativeClustering(5), ValueError, "n_samples=4 should be >= n_clusters=5"),
        (Given([[0, -1, 1, -1]]), ValueError, "left 2 of n_samples=4 samples without a cluster"),
        (Given([[0, 1, 2, 2]]), ValueError, "found 3 clusters; should be <= 2"),
        (Given([[0, 1, 1]]), ValueError, r"should be n_samples=4 integers; .* shape \(3,\)"),
    ],
)
def test_what_is_no_partition_is_refused(clusterer, error, message):
    with pytest.raises(error, match=message):
        SparseClustering(clusterer).fit(FOUR)


def test_fewer_clusters_than_asked_for_are_a_partition():
    fit = SparseClustering(Given([[7, 7, 3, 3]], n_clusters=3), sparsity=1).fit(FOUR)
    assert fit.labels_.tolist() == [0, 0, 1, 1]
    assert fit.cluster_centers_.shape == (2, 2)


PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_clustering.md"


def test_the_page_prints_what_it_says():
    text = PAGE.read_text(encoding="utf-8")
    # Every fence opens or closes a block of Python, so that none goes untried.
    assert text.count("```python\n>>> ") * 2 == text.count("```") > 8
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.attempted > 20
    assert outcome.failed == 0
