"""Theorems 4 and 5: the oracle's exact probability, the conditions, and fits that recover."""

import numpy as np
import pytest

from sparsekm.studies.theory.level_model import LevelModel, three_levels
from sparsekm.studies.theory.partition_bound import best_impure_value
from sparsekm.studies.theory.plane import Plane
from sparsekm.studies.theory.recovery_diagram import FITS, simulate_recovery
from sparsekm.studies.theory.support_recovery import (
    conditions_of_theorem_5,
    least_features,
    oracle_recovery_probability,
    samples_for_growth,
    tolerated_error,
)


def test_without_signal_every_support_is_as_likely():
    # One feature of four has the highest score with probability 1/4, two are on top with 1/6.
    flat = LevelModel.of_equal_shares([0.0, 0.0, 0.0])
    assert oracle_recovery_probability(flat, 30, 4, 1) == pytest.approx(1 / 4, abs=1e-3)
    assert oracle_recovery_probability(flat, 30, 4, 2) == pytest.approx(1 / 6, abs=1e-3)


def test_without_noise_features_nothing_can_go_wrong():
    assert oracle_recovery_probability(three_levels(0.1), 30, 4, 4) == 1


def test_the_exact_probability_is_what_chi_squares_give(seed):
    rng = np.random.default_rng(seed)
    n_samples, n_relevant, n_noise = 60, 6, 50
    shift = n_samples * three_levels(0.6).between_variance
    relevant = rng.noncentral_chisquare(2, shift, size=(20_000, n_relevant)).min(axis=1)
    noise = rng.chisquare(2, size=(20_000, n_noise)).max(axis=1)
    exact = oracle_recovery_probability(three_levels(0.6), n_samples, 56, n_relevant)
    assert exact == pytest.approx((relevant > noise).mean(), abs=0.02)
    assert 0.05 < exact < 0.95


def test_recovery_grows_with_samples_and_level_and_falls_with_features():
    def chance(mu=0.7, n=60, p=200, s=20):
        return oracle_recovery_probability(three_levels(mu), n, p, s)

    assert chance(n=60) < chance(n=90) < chance(n=150)
    assert chance(mu=0.5) < chance(mu=0.7) < chance(mu=0.9)
    assert chance(p=2000) < chance(p=500) < chance(p=100)


def test_the_conditions_are_read_as_the_theorem_states_them():
    model = three_levels(3.0)
    assert conditions_of_theorem_5(model, 10, 400, 40) == {
        "features_per_sample": True,
        "relevant_features": True,
        "growth": False,
        "least_features": False,
    }
    assert not conditions_of_theorem_5(model, 10, 401, 40)["features_per_sample"]
    assert not conditions_of_theorem_5(model, 10, 100, 35)["relevant_features"]
    n_needed = samples_for_growth(model, 400)
    assert conditions_of_theorem_5(model, int(n_needed) + 1, 400, 40)["growth"]
    assert not conditions_of_theorem_5(model, int(n_needed), 400, 40)["growth"]


def test_the_tolerated_error_meets_the_proofs_inequality_exactly():
    model = three_levels(3.0)
    error = tolerated_error(model)
    spent = -error * np.log(error) - (1 - error) * np.log(1 - error) + error * np.log(2)
    assert spent == pytest.approx(6 * (1 / 257 - 1 / 258), rel=1e-6)
    # With signals strong beyond measure any error up to one half would do.
    assert tolerated_error(three_levels(1000.0)) == 0.5


def test_the_least_number_of_features_takes_a_small_error_to_cost_its_nearest_levels():
    model, error = LevelModel.of_equal_shares([2.0, -1.0, 0.5]), 0.002
    lost = best_impure_value(model, 0.0) - best_impure_value(model, error)
    assert lost == pytest.approx(error * 1.5**2, rel=0.02)
    # At mu = 3 it is some 10^11, so no setting of the study meets it.
    assert 1e10 < least_features(three_levels(3.0)) < 1e12


def test_a_plane_lists_its_grid_and_leaves_out_what_has_no_noise():
    values = {"n_samples": [30, 60], "n_features": [20, 50], "n_relevant": 20, "mu": 1.0}
    plane = Plane.named("samples_features", values)
    assert plane.settings() == [
        {"n_relevant": 20, "mu": 1.0, "n_samples": n, "n_features": 50} for n in (30, 60)
    ]
    wide = plane.spanned(5)
    assert len(wide.xs) == 5
    assert (wide.xs[0], wide.xs[-1]) == pytest.approx((30, 60))


def test_an_unknown_plane_or_setting_is_refused():
    with pytest.raises(ValueError, match="plane='mu' should be one of"):
        Plane.named("mu", {})
    with pytest.raises(ValueError, match=r"settings=\['mu'\] should be"):
        Plane.named("relevant_mu", {"mu": [1.0]})


def test_strong_signals_are_recovered_by_every_fit_and_none_by_none(seed):
    base = {"n_samples": 30, "n_features": 40, "n_relevant": 5}
    table = simulate_recovery(
        [{**base, "mu": 3.0}, {**base, "mu": 0.01}], n_init=3, repetitions=4, root=seed
    )
    shares = table.pivot(index="mu", columns="fit", values="recovered")
    assert set(shares.columns) == set(FITS)
    assert (shares.loc[3.0] == 1).all()
    assert (shares.loc[0.01] == 0).all()


def test_the_oracles_share_agrees_with_its_exact_probability(seed):
    setting = {"n_samples": 60, "n_features": 60, "n_relevant": 6, "mu": 0.6}
    table = simulate_recovery([setting], n_init=1, repetitions=60, root=seed)
    oracle = table[table["fit"] == "oracle"].iloc[0]
    assert abs(oracle["recovered"] - oracle["exact"]) < 4 * np.sqrt(0.25 / 60)
    assert table[table["fit"] != "oracle"]["exact"].isna().all()


def test_clusters_of_unequal_size_are_refused():
    setting = {"n_samples": 31, "n_features": 6, "n_relevant": 2, "mu": 1.0}
    with pytest.raises(ValueError, match="n_samples=31 should be a multiple of 3"):
        simulate_recovery([setting], n_init=1, repetitions=2, root=0)
