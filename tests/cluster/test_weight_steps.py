"""The weights of each penalty: optimality conditions, and the same from Python and compiled."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sparsekm.cluster.estimators import L1KMeans
from sparsekm.cluster.kmeans.few_samples import climb
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.memetic_search import Search
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.weight_step import SoftThreshold, TopFeatures, WeightStep

score_vectors = st.lists(st.floats(0, 1e3, allow_subnormal=False), min_size=1, max_size=25)


def binds(scores, sparsity):
    """Whether the unconstrained direction a / ||a||_2 breaks the bound."""
    return scores.sum() > sparsity * np.linalg.norm(scores)


def check_optimality(scores, weights, sparsity):
    """Assert the conditions of Karush, Kuhn and Tucker for max w'a, ||w||_2 <= 1, ||w||_1 <= s.

    There are Delta >= 0 and lambda > 0 with a_j = Delta + lambda w_j on the kept features and
    a_j <= Delta on the others; Delta = 0 unless ||w||_1 = s.
    """
    assert (weights >= 0).all()
    assert np.linalg.norm(weights) == pytest.approx(1, abs=1e-9)
    assert weights.sum() <= sparsity * (1 + 1e-6)
    scale = scores.max()
    if not binds(scores, sparsity):
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


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("sparsity", [1.1, 3.0, 9.0])
@pytest.mark.parametrize("search", ["alternate", "global"])
def test_both_norms_hold_whatever_the_scale_of_the_data(faint_data, search, sparsity, scale):
    fit = L1KMeans(3, sparsity=sparsity, search=search, n_init=3, random_state=0).fit(
        scale * faint_data.X
    )
    check_optimality(fit.feature_scores_, fit.feature_weights_, sparsity)


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


def nearly_tied_scores(rng):
    """Scores of which the largest differ in their last digits only, as those of copies do."""
    scores = rng.exponential(size=rng.integers(2, 12))
    n_tied = rng.integers(2, len(scores) + 1)
    digits = rng.integers(-3, 4, size=n_tied) * 10.0 ** rng.uniform(-16.5, -7)
    scores[:n_tied] = scores.max() * (1 + digits)
    return rng.permutation(scores), n_tied


def test_both_norms_hold_when_scores_differ_in_their_last_digits_only():
    rng = np.random.default_rng(0)
    broken = []
    for _ in range(3000):
        scores, n_tied = nearly_tied_scores(rng)
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

    def weigh_into(self, scores, support, values):
        order = np.argsort(-scores, kind="mergesort")
        best, following = order[0], order[1]
        support[0], support[1] = min(best, following), max(best, following)
        values[0] = self.first if best < following else self.second
        values[1] = self.second if best < following else self.first
        return 2


STEPS = [TopFeatures(2), TopFeatures(9), SoftThreshold(1.5), Podium(1.0, 0.5)]


def best_of_all_partitions(rows, n_clusters, step):
    """Return the largest objective, the labels of the first sample being 0."""
    largest = 0.0
    for others in product(range(n_clusters), repeat=len(rows) - 1):
        members = np.eye(n_clusters)[[0, *others]]
        sizes = members.sum(axis=0)
        if sizes.min() > 0:
            scores = ((members.T @ rows) ** 2 / sizes[:, None]).sum(axis=0)
            largest = max(largest, step.weigh(scores) @ scores)
    return largest


@pytest.fixture
def rows():
    rows = np.random.default_rng(4).normal(size=(9, 9))
    return rows - rows.mean(axis=0)


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_penalty_weighs_alike_from_python_and_compiled(step):
    scores = np.random.default_rng(0).random(9)
    support, values = np.empty(9, np.int64), np.empty(9)
    by_hand = np.zeros(9)
    size = step.weigh_into(scores, support, values)
    by_hand[support[:size]] = values[:size]
    np.testing.assert_array_equal(step.weigh(scores), by_hand)
    assert step.keeps_all(9) == bool((by_hand == 1).all())


def test_a_penalty_of_ones_own_has_the_weights_it_says():
    assert Podium(3.0, 2.0).weigh([1.0, 5.0, 4.0, 5.0]).tolist() == [0, 3, 0, 2]


# Searches are compiled anew for a penalty of one's own, which takes half a minute.
OWN = pytest.param(STEPS[-1], marks=pytest.mark.release)


@pytest.mark.parametrize("step", [*STEPS[:-1], OWN], ids=str)
def test_every_penalty_steers_the_compiled_searches(step, rows, score_by_pairs):
    largest = best_of_all_partitions(rows, 3, step)
    rng = np.random.default_rng(0)
    search = Search(CentredMatrix(rows), KMeansPartition(3), [step], 3, rng)
    search.start()
    search.evolve(10, lambda done: None)
    scores = score_by_pairs(rows, search.best[0])
    assert step.weigh(scores) @ scores == pytest.approx(largest, rel=1e-12)
    labels = (np.arange(9) % 3).astype(np.int32)
    before = score_by_pairs(rows, labels)
    objective = climb(rows, labels, 3, step, 1, 0.0)
    scores = score_by_pairs(rows, labels)
    assert objective == pytest.approx(step.weigh(scores) @ scores, rel=1e-12)
    assert step.weigh(before) @ before < objective <= largest * (1 + 1e-12)
