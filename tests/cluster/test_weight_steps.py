"""What a sparsity stands for, and the weights of each penalty, of features or of groups of them."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sparsekm import GapSearch
from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.memetic_search import Search
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.weight_step import (
    FeatureGroups,
    SoftThreshold,
    TopFeatures,
    WeighedGroups,
    WeightStep,
    make_step,
)

score_vectors = st.lists(st.floats(0, 1e3, allow_subnormal=False), min_size=1, max_size=25)


def check_optimality(scores, weights, sparsity):
    """Assert the conditions of Karush, Kuhn and Tucker for max w'a, ||w||_2 <= 1, ||w||_1 <= s."""
    # There are Delta >= 0 and lambda > 0 with a_j = Delta + lambda w_j on the kept features and
    # a_j <= Delta on the others; Delta = 0 unless ||w||_1 = s.
    assert (weights >= 0).all()
    assert np.linalg.norm(weights) == pytest.approx(1, abs=1e-9)
    assert weights.sum() <= sparsity * (1 + 1e-6)
    scale = scores.max()
    # The unconstrained direction a / ||a||_2 keeps the bound.
    if scores.sum() <= sparsity * np.linalg.norm(scores):
        np.testing.assert_allclose(weights, scores / np.linalg.norm(scores), atol=1e-9)
        return
    assert weights.sum() >= sparsity * (1 - 1e-6)
    kept = weights > 0
    if not kept.all():
        assert scores[~kept].max() <= scores[kept].min()
    if np.ptp(weights[kept]) < 1e-3:
        # Nearly equal weights: a line through them is too short to be extrapolated to Delta.
        return
    slope, threshold = np.polyfit(weights[kept], scores[kept], 1)
    assert slope > 0
    assert threshold >= -1e-7 * scale
    np.testing.assert_allclose(scores[kept], threshold + slope * weights[kept], atol=1e-7 * scale)
    if not kept.all():
        assert scores[~kept].max() <= threshold + 1e-7 * scale


@given(scores=score_vectors, sparsity=st.floats(1, 6))
@example(scores=[3.0, 1.0], sparsity=1.0)
@example(scores=[2.0, 1.0], sparsity=1.2)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_weight_step_solves_its_problem(scores, sparsity):
    scores = np.array(scores)
    top = scores.max()
    assume(top > 1e-3)
    # Near-ties at the top have their own documented answer and are tested with the ties.
    assume(np.count_nonzero(scores > top * (1 - 1e-6)) <= sparsity**2)
    check_optimality(scores, SoftThreshold(sparsity).weigh(scores), sparsity)


@given(scores=score_vectors, data=st.data())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_l0_weight_step_takes_the_largest_and_of_equals_the_first(scores, data):
    scores = np.round(np.array(scores) / 100)  # many ties
    size = data.draw(st.integers(1, len(scores)))
    order = np.argsort(-scores, kind="stable")
    expected = np.zeros(len(scores))
    expected[order[:size]] = 1
    np.testing.assert_array_equal(TopFeatures(size).weigh(scores), expected)


def test_when_no_feature_scores_anything_the_weights_are_those_of_a_tie():
    weights = SoftThreshold(1.5).weigh(np.zeros(5))
    np.testing.assert_allclose(weights, np.array([1, 1, 0, 0, 0]) / np.sqrt(2))
    # As where more tie for the largest score than the bound lets in: the first floor(s^2) share.
    for n_tied, bound, n_kept in ((4, 1.5, 2), (4, 1.99, 3), (9, 2.4, 5)):
        weights = SoftThreshold(bound).weigh(np.r_[0.5, np.full(n_tied, 3.0)])
        np.testing.assert_allclose(weights[1 : 1 + n_kept], 1 / np.sqrt(n_kept))
        assert np.count_nonzero(weights) == n_kept


@pytest.mark.parametrize("step", [TopFeatures, SoftThreshold])
def test_the_bound_for_a_number_of_features_keeps_this_number_of_the_largest(step):
    scores = np.array([5.0, 1, 4, 2, 3])
    for count in range(1, 6):
        kept = np.flatnonzero(step(step.bound_for(scores, count)).weigh(scores))
        assert kept.tolist() == np.sort(np.argsort(-scores)[:count]).tolist()
    assert step.bound_for(np.ones(5), 2) == step.bound_of(2)


def test_both_norms_hold_when_scores_differ_in_their_last_digits_only():
    rng = np.random.default_rng(0)
    broken = []
    for _ in range(3000):
        # The largest differ in their last digits only, as those of copies do.
        scores = rng.exponential(size=rng.integers(2, 12))
        n_tied = rng.integers(2, len(scores) + 1)
        digits = rng.integers(-3, 4, size=n_tied) * 10.0 ** rng.uniform(-16.5, -7)
        scores[:n_tied] = scores.max() * (1 + digits)
        scores = rng.permutation(scores)
        s = rng.choice([rng.uniform(1, 3.5), np.sqrt(rng.integers(1, 12))])
        weights = SoftThreshold(s).weigh(scores)
        too_long = weights.sum() > s * (1 + 1e-6) or abs(np.linalg.norm(weights) - 1) > 1e-9
        # Equal weights on the first floor(s^2) of the tied features are always to be had.
        equal_shares = np.sqrt(min(n_tied, np.floor(s**2 * (1 + 1e-12)))) * scores.max()
        if too_long or weights @ scores < equal_shares * (1 - 1e-5):
            broken.append((s, scores, weights))
    assert not broken, f"{len(broken)} of 3000, the first: {broken[0]}"


class Podium(WeightStep, NamedTuple("Podium", [("first", float), ("second", float)])):
    """Two features have a weight: the best and the next best, ties by index."""

    def choose(self, scores):
        order = np.argsort(-scores, kind="mergesort")[:2]
        values = np.array([self.first, self.second])
        return np.sort(order), values if order[0] < order[1] else values[::-1].copy()


STEPS = [TopFeatures(2), TopFeatures(9), SoftThreshold(1.5), Podium(1.0, 0.5)]


# Searches are compiled anew for a penalty of one's own, which takes half a minute.
OWN = pytest.param(STEPS[-1], marks=pytest.mark.release)


@pytest.mark.parametrize("step", [*STEPS[:-1], OWN], ids=str)
def test_every_penalty_steers_the_compiled_searches(step, all_partitions, score_by_pairs):
    # Whole numbers of mean 0: searches compute in float32, which holds them exactly.
    rows = np.random.default_rng(4).integers(-99, 100, size=(9, 9)).astype(float)
    rows[8] = -rows[:8].sum(axis=0)
    of_all = [score_by_pairs(rows, labels) for labels in all_partitions(9, 3)]
    search = Search(CentredMatrix(rows), KMeansPartition(3), [step], 3, np.random.default_rng(0))
    search.begin()
    search.evolve(10, lambda done: None)
    largest = max(step.weigh(scores) @ scores for scores in of_all)
    assert search.best_objectives == pytest.approx([largest], rel=1e-9)
    scores = score_by_pairs(rows, search.best[0])
    assert step.weigh(scores) @ scores == pytest.approx(largest, rel=1e-12)


@pytest.fixture(scope="module", name="X")
def hundred_features():
    X = np.random.default_rng(0).normal(size=(30, 100))
    X[:15, :5] += 4
    return X


def test_a_share_is_rounded_to_the_nearest_number_of_features():
    for share, kept in ((0.29, 29), (0.294, 29), (0.296, 30), (0.001, 1)):
        assert TopFeatures.check(share, 100) == kept
    for n_features in (7, 326, 1724):
        for kept in range(1, n_features):
            assert TopFeatures.check(kept / n_features, n_features) == kept


def test_a_sparsity_of_one_point_zero_is_refused_and_the_ways_out_are_named(X):
    for one in (1.0, np.float32(1)):
        with pytest.raises(ValueError, match="write 1 to keep one feature, None to keep all"):
            L0KMeans(2, sparsity=one).fit(X)
    for one in (1, np.int64(1)):
        assert L0KMeans(2, sparsity=one, random_state=0).fit(X).get_support().sum() == 1


def test_in_a_grid_every_value_from_one_up_is_a_count(X):
    path = L0KMeans(2, n_init=2, random_state=0).path(X, [1.0, 10, 0.5, 2.7])
    assert path.n_selected.tolist() == path.weights.sum(axis=1).tolist() == [1, 10, 50, 2]
    assert path.sparsities.tolist() == [1, 10, 50, 2]
    # In ascending order of what they stand for the objective never falls.
    assert np.all(np.diff(path.objectives[np.argsort(path.n_selected)]) >= 0)
    for grid, rule in (([2, -0.5], "=-0.5 should be >= 1"), ([101], "<= n_f"), ([], "one-dimens")):
        with pytest.raises(ValueError, match=rule):
            L0KMeans(2).path(X, grid)


@pytest.mark.parametrize(
    ("Estimator", "grid", "kind"),
    [(L0KMeans, [1.0, 5.5], int), (L0KMeans, None, int), (L1KMeans, [1, 4], float)],
)
def test_the_best_sparsity_fits_again_and_is_whole_for_l0(X, Estimator, grid, kind):
    search = GapSearch(Estimator(2, n_init=1), sparsities=grid, n_references=2, random_state=0)
    best = search.fit(X).best_sparsity_
    assert type(best) is type(search.best_estimator_.sparsity) is kind
    again = Estimator(2, sparsity=best, random_state=0).fit(X)
    assert kind is float or again.get_support().sum() == best


def weigh(penalty, bound):
    features = VaryingFeatures(np.ones(6, bool), np.zeros(6))
    groups = FeatureGroups.of_labels(["a", "b", "a", "c", "b", "a"], features).groups
    return make_step(penalty, bound, groups).weigh(np.array([6.0, 4.0, 3.0, 5.0, 2.0, 0.0]))


def test_three_times_as_many_features_lead_and_searches_go_on_at_as_many_more():
    scores = np.array([1.0, 9, 2, 8, 3, 7, 4, 6, 5, 5])
    assert TopFeatures(2).leading(scores).tolist() == [1, 3, 5, 7, 8, 9]
    # Two features of equal weight meet the bound sqrt(2.5).
    assert SoftThreshold(2.5**0.5).leading(scores).tolist() == [1, 3, 5, 7, 8, 9]
    assert [step.bound for step in TopFeatures(2).denser(55)] == [6, 18, 54]
    bounds = [step.bound for step in SoftThreshold(2.0).denser(30)]
    assert bounds == pytest.approx([2 * 3**0.5])
    # The means of the groups are 9, 8, 5, 2 and 1: three of these lead.
    groups = np.array([4, 0, 3, 1, 2, 1, 2, 1, 0, 0]), np.array([3.0, 3, 2, 1, 1])
    values = np.array([1.0, 9, 2, 8, 5, 8, 5, 8, 9, 9])
    grouped = WeighedGroups(TopFeatures(1), *groups)
    leading = grouped.leading(values)
    assert leading.tolist() == [1, *range(3, 10)]
    # Among the leading, groups are weighed as among all.
    among = grouped.among(leading).weigh(values[leading])
    np.testing.assert_array_equal(among, grouped.weigh(values)[leading])


def test_l0_keeps_the_groups_of_largest_mean_and_shares_their_weight():
    np.testing.assert_allclose(weigh("l0", 1.0), [0, 0, 0, 1, 0, 0])
    # Of two alike the first.
    np.testing.assert_allclose(weigh("l0", 2.0), [1 / 3, 0, 1 / 3, 1, 0, 1 / 3])


@pytest.mark.parametrize(("sparsity", "seed"), [(1, 0), (2, 1)])
def test_the_optimum_over_all_partitions_is_found(seed, sparsity, all_partitions, score_by_pairs):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 6))
    X[:, [0, 2, 5]] += 1.5 * rng.integers(2, size=(8, 1))
    groups = np.array([7, 3, 7, 9, 3, 7])
    of_all = np.array([score_by_pairs(X, labels) for labels in all_partitions(8, 2)])
    means = np.array([of_all[:, groups == name].mean(axis=1) for name in (7, 3, 9)])
    best = np.sort(means, axis=0)[-sparsity:].sum(axis=0).max()
    fit = L0KMeans(2, sparsity=sparsity, feature_groups=groups, random_state=0).fit(X)
    assert fit.objective_ == pytest.approx(best, rel=1e-9)
    assert fit.objective_ == pytest.approx(fit.feature_weights_ @ fit.feature_scores_, rel=1e-12)
    kept = groups[fit.get_support()]
    assert len(np.unique(kept)) == sparsity
    assert fit.get_support().tolist() == np.isin(groups, kept).tolist()


def test_constant_features_and_groups_have_no_weight(clear_data):
    X = np.column_stack([clear_data.X[:, :4], np.ones((36, 3)), clear_data.X[:, 4:8]])
    groups = ["first", "first", "second", "second", "first", "none", "none", *"wxyz"]
    fit = L0KMeans(3, sparsity=2, feature_groups=groups, random_state=0).fit(X)
    np.testing.assert_allclose(fit.feature_weights_, [0.5] * 4 + [0] * 7)
    everything = L0KMeans(3, sparsity=7, feature_groups=groups, random_state=0).fit(X)
    assert not everything.get_support()[[4, 5, 6]].any()
    # A share is of the six groups that vary.
    half = L0KMeans(3, sparsity=0.34, feature_groups=groups, random_state=0).fit(X)
    np.testing.assert_array_equal(half.feature_weights_, fit.feature_weights_)


@pytest.mark.parametrize(
    ("groups", "sparsity", "message"),
    [
        (["a"] * 3, 1, r"feature_groups: shape=\(3,\) should be \(n_features,\)=\(20,\)"),
        (np.arange(20) // 2, 11, r"sparsity=11 should be <= n_features=10"),
        ([None] * 20, 1, r"feature_groups should have no missing value"),
    ],
)
def test_groups_that_cannot_be_are_refused(clear_data, groups, sparsity, message):
    with pytest.raises(ValueError, match=message):
        L0KMeans(3, sparsity=sparsity, feature_groups=groups).fit(clear_data.X)
