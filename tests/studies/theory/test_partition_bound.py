"""Theorem 3: its constants, f by brute force and in closed form, F as its inverse."""

import numpy as np
import pytest

from sparsekm.studies.theory.level_model import LevelModel, three_levels
from sparsekm.studies.theory.partition_bound import best_impure_value, ecr_bound, impurity_curve
from sparsekm.studies.theory.partition_consistency import simulate_partitions, tabulate_bounds


@pytest.fixture(scope="module")
def unit_curve():
    return impurity_curve(three_levels(1.0), 13)


def test_kappa_is_as_worked_by_hand():
    # mu = 3: sum pi mu^2 = 6, mean 0, so 128 (3 + 6) / 36 = 32.
    model = three_levels(3.0)
    assert model.stated_kappa == pytest.approx(32)
    assert model.kappa == pytest.approx(32 * np.log(3))
    # mu = 0.6: sum pi mu^2 = 0.24, so 128 (3.24) / 0.0576 = 7200.
    assert three_levels(0.6).stated_kappa == pytest.approx(7200)
    assert three_levels(0.6).kappa > 7900


def test_kappa_sees_the_mean_of_the_levels():
    # Levels 0 and 2: second moment 2, mean 1, between 1.
    model = LevelModel.of_equal_shares([0.0, 2.0])
    assert model.between_variance == pytest.approx(1)
    assert model.stated_kappa == pytest.approx(128 * 4)
    assert model.rho == pytest.approx(2 / 258)


def test_without_error_f_is_the_second_moment():
    assert best_impure_value(three_levels(1.3), 0.0) == pytest.approx(
        three_levels(1.3).second_moment
    )


@pytest.mark.parametrize("error", [0.05, 0.2, 1 / 3])
def test_up_to_one_third_f_moves_one_cluster_into_its_neighbour(error):
    # Moving a share e from level mu to level 0 costs mu^2 e / (1 + 3 e).
    assert best_impure_value(three_levels(1.0), error) == pytest.approx(
        2 / 3 - error / (1 + 3 * error), abs=1e-9
    )


@pytest.mark.parametrize("error", [0.1, 0.3, 0.45])
def test_two_clusters_have_a_closed_form(error):
    # The first cluster gives a share g to the second, which gives the rest of the error back.
    model = LevelModel.of_equal_shares([1.0, -1.0])
    shares = np.linspace(0, error, 2001)
    given, taken = shares, error - shares
    value = sum((a - b) ** 2 / (a + b) for a, b in ((0.5 - given, taken), (given, 0.5 - taken)))
    assert best_impure_value(model, error) == pytest.approx(value.max(), abs=1e-6)


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


def test_f_falls_from_the_second_moment_to_the_squared_mean(unit_curve):
    assert unit_curve.values[0] == pytest.approx(2 / 3)
    assert unit_curve.values[-1] == pytest.approx(0, abs=1e-9)
    assert (np.diff(unit_curve.values) < 0).all()
    assert unit_curve.errors[-1] == pytest.approx(2 / 3)


def test_f_is_quadratic_in_the_levels(unit_curve):
    tripled = unit_curve.for_levels_times(3.0)
    for place in (2, 7):
        direct = best_impure_value(three_levels(3.0), unit_curve.errors[place])
        assert tripled.values[place] == pytest.approx(direct)


def test_the_bound_inverts_the_proofs_function(unit_curve):
    model, curve = three_levels(3.0), unit_curve.for_levels_times(3.0)
    for place in (2, 5, 9):
        gap = curve.values[0] - curve.values[place]
        n_relevant = 128 * np.log(3) * (curve.values[0] + 3) / gap**2
        assert ecr_bound(model, n_relevant, curve) == pytest.approx(curve.errors[place])


def test_the_bound_falls_from_chance_at_kappa_towards_zero(unit_curve):
    model, curve = three_levels(3.0), unit_curve.for_levels_times(3.0)
    bounds = [ecr_bound(model, model.kappa * factor, curve) for factor in (1, 2, 10, 1e3, 1e8)]
    assert bounds[0] == pytest.approx(2 / 3)
    assert (np.diff(bounds) < 0).all()
    assert bounds[-1] < 0.001


def test_below_kappa_there_is_no_bound(unit_curve):
    assert np.isnan(ecr_bound(three_levels(1.0), three_levels(1.0).kappa - 1, unit_curve))


def test_the_bound_says_nothing_at_the_settings_of_the_experiments():
    table = tabulate_bounds([0.6, 0.7], [50], 60, n_points=5)
    assert table["n_relevant"].tolist() == table["kappa"].tolist()
    assert (table["kappa"] > 50).all()


def test_observed_rates_keep_to_the_bound_where_there_is_one(seed):
    seen = simulate_partitions(
        [3.0], [40, 60], cluster_size=8, noise_ratio=3, repetitions=3, root=seed
    )
    bounds = tabulate_bounds([3.0], [40, 60], 24, n_points=9)
    # The first row is at kappa itself.
    assert bounds["n_relevant"].tolist()[1:] == [40, 60]
    assert (seen["ecr"].to_numpy() <= bounds["bound"].to_numpy()[1:]).all()
    assert (seen["ecr"] < 0.05).all()
    assert (seen["n_features"] == 4 * seen["n_relevant"]).all()


def test_errors_of_kmeans_fall_as_relevant_features_are_added(seed):
    seen = simulate_partitions(
        [0.8], [3, 100], cluster_size=10, noise_ratio=2, repetitions=6, root=seed
    )
    few, many = seen["ecr"]
    assert many < few
