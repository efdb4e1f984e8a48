"""What the theorems promise: by hand, by brute force and in closed form."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import brentq

from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.studies.theory.theorems import (
    LevelModel,
    best_impure_value,
    ecr_bound,
    expected_score,
    impurity_curve,
    mislabel,
    three_levels,
)

TWO = LevelModel((1.0, -1.0), (0.5, 0.5))


@pytest.fixture(scope="module")
def curve():
    return impurity_curve(three_levels(1.0), 13)


def test_kappa_is_as_worked_by_hand_and_lacks_ln_k_as_stated():
    # mu = 3: sum pi mu^2 = 6, mean 0, so 128 (3 + 6) / 36 = 32.
    assert three_levels(3.0).stated_kappa == pytest.approx(32)
    assert three_levels(3.0).kappa == pytest.approx(32 * np.log(3))
    # mu = 0.6: sum pi mu^2 = 0.24, so 128 (3.24) / 0.0576 = 7200, as the remark of the claim says.
    assert three_levels(0.6).stated_kappa == pytest.approx(7200)
    assert three_levels(0.6).kappa == pytest.approx(7910, abs=1)
    # Levels 0 and 2: second moment 2, mean 1, between 1.
    model = LevelModel((0.0, 2.0), (0.5, 0.5))
    assert model.between_variance == pytest.approx(1)
    assert model.stated_kappa == pytest.approx(128 * 4)
    assert model.rho == pytest.approx(2 / 258)


def test_the_papers_double_sum_is_twice_the_lemmas_score(seed):
    rng = np.random.default_rng(seed)
    x, labels = rng.normal(size=12), np.repeat([0, 1, 2], 4).astype(np.int32)
    squares = (x[:, None] - x) ** 2
    within = sum(squares[np.ix_(labels == k, labels == k)].sum() / 4 for k in range(3))
    score = feature_scores(CentredMatrix(x[:, None]), labels, 3)[0]
    assert squares.sum() / 12 - within == pytest.approx(2 * score)


def test_the_expectation_is_half_the_double_sum_of_levels_plus_k_minus_one(seed):
    levels, labels = np.random.default_rng(seed).normal(size=12), np.array([0, 1, 2] * 4)
    squares = (levels[:, None] - levels) ** 2
    within = sum(squares[np.ix_(labels == k, labels == k)].sum() / 4 for k in range(3))
    between = (squares.sum() / 12 - within) / 2
    assert expected_score(levels, labels, 3) == pytest.approx(between + 2)
    assert expected_score(np.full(12, 1.7), labels, 3) == pytest.approx(2)


def test_no_partition_of_six_samples_expects_more_than_the_natural_one():
    levels = np.repeat([1.0, -1.0, 0.0], 2)
    values = {
        labels: expected_score(levels, np.array(labels), 3)
        for labels in product(range(3), repeat=6)
        if set(labels) == {0, 1, 2}
    }
    best = [labels for labels, value in values.items() if np.isclose(value, max(values.values()))]
    assert len(best) == 6
    assert all(labels[::2] == labels[1::2] for labels in best)


def test_l2_and_l0_constraints_have_a_closed_form_that_keeps_the_same_features():
    scores = np.array([3.0, 0.5, 2.0, 2.5, 0.1])
    norms = {kept: np.linalg.norm(scores[list(kept)]) for kept in combinations(range(5), 2)}
    best = max(norms, key=norms.get)
    top = np.sort(scores)[-2:]
    assert top @ top / np.linalg.norm(top) == pytest.approx(norms[best])
    assert tuple(np.flatnonzero(TopFeatures(2).weigh(scores))) == best


def test_theorem_4_goes_through_from_the_least_features_that_its_claim_names():
    model = three_levels(8.0)

    def excess(error):
        spent = -error * np.log(error) - (1 - error) * np.log1p(-error) + error * np.log(2)
        return spent - model.second_moment * (1 / 257 - 1 / 258)

    # To first order f(0) - f(error) is the error times the least squared distance of levels.
    lost = brentq(excess, 1e-12, 0.5) * 64
    least = 128 * np.log(3) * (model.second_moment + 3) / lost**2
    assert f"{least:.0e}" == "5e+08"


def test_mislabelling_moves_exactly_the_number_asked_for_and_empties_no_cluster(seed):
    rng, truth = np.random.default_rng(seed), np.repeat([0, 1, 2], 2)
    for n_moved in range(7):
        moved = mislabel(truth, n_moved, rng)
        assert (moved != truth).sum() == n_moved
        assert np.unique(moved).tolist() == [0, 1, 2]


@pytest.mark.parametrize("error", [0.0, 0.2, 1 / 3])
def test_up_to_one_third_f_moves_one_cluster_into_its_neighbour(error):
    # Moving a share e from level mu to level 0 costs mu^2 e / (1 + 3 e).
    value = best_impure_value(three_levels(1.0), error)
    assert value == pytest.approx(2 / 3 - error / (1 + 3 * error), abs=1e-9)


@pytest.mark.parametrize("error", [0.1, 0.45])
def test_two_clusters_have_a_closed_form(error):
    # The first cluster gives a share g to the second, which gives the rest of the error back.
    given = np.linspace(0, error, 2001)
    taken = error - given
    value = sum((a - b) ** 2 / (a + b) for a, b in ((0.5 - given, taken), (given, 0.5 - taken)))
    assert best_impure_value(TWO, error) == pytest.approx(value.max(), abs=1e-6)


def test_no_random_bad_partition_beats_f(seed):
    rng = np.random.default_rng(seed)
    model = LevelModel((1.0, -0.4, 0.2), (0.5, 0.3, 0.2))
    errors = np.linspace(0, 0.5, 6)
    best = np.array([best_impure_value(model, error) for error in errors])
    joint = rng.dirichlet(np.full(3, 0.4), size=(4000, 3)) * np.array(model.shares)[:, None]
    error = 1 - joint.max(axis=1).sum(axis=1)
    sums = np.einsum("k,mkl->ml", model.levels, joint)
    value = (sums**2 / joint.sum(axis=1)).sum(axis=1)
    # f at the grid's next smaller error allows at least as much.
    allowed = best[np.searchsorted(errors, error, side="right") - 1]
    assert (value <= allowed + 1e-9).all()
    assert len(np.unique(allowed)) >= 3


def test_f_falls_from_the_second_moment_to_the_squared_mean_and_is_quadratic(curve):
    errors, values = curve
    assert values[0] == pytest.approx(2 / 3)
    assert values[-1] == pytest.approx(0, abs=1e-9)
    assert (np.diff(values) < 0).all()
    assert errors[-1] == pytest.approx(2 / 3)
    assert 9 * values[2] == pytest.approx(best_impure_value(three_levels(3.0), errors[2]))


def test_the_bound_inverts_the_proofs_function_from_chance_at_kappa_towards_zero(curve):
    model, (errors, values) = three_levels(3.0), curve
    nine = errors, 9 * values
    for place in (2, 9):
        n_relevant = 128 * np.log(3) * (6 + 3) / (9 * (values[0] - values[place])) ** 2
        assert ecr_bound(model, n_relevant, nine) == pytest.approx(errors[place])
    bounds = [ecr_bound(model, model.kappa * factor, nine) for factor in (1, 2, 10, 1e3, 1e8)]
    assert bounds[0] == pytest.approx(2 / 3)
    assert (np.diff(bounds) < 0).all()
    assert bounds[-1] < 0.001
    assert np.isnan(ecr_bound(model, model.kappa - 1, nine))
