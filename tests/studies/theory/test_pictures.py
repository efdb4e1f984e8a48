"""The pictures show what is simulated, and their captions carry computed numbers."""

import numpy as np
import pytest

from sparsekm.studies.theory.pictures import PICTURES
from sparsekm.studies.theory.simulations import (
    DISTRIBUTIONS,
    FITS,
    simulate_partitions,
    simulate_recovery,
    simulate_scores,
)
from sparsekm.studies.theory.theorems import three_levels

# What the tests look at is made once in each process.
pytestmark = pytest.mark.xdist_group("theory pictures")
SMALL = {
    "samples_features": {
        **{"n_samples": (12, 30), "n_features": (20, 40)},
        **{"n_relevant": (5,), "mu": (1.0,)},
    },
    "relevant_mu": {
        **{"n_relevant": (5, 50), "mu": (0.01, 3.0)},
        **{"n_samples": (30,), "n_features": (60,)},
    },
}


@pytest.fixture(scope="module")
def tables():
    return {
        "expected_scores": simulate_scores(1, [0.0, 0.3], n_features=20, repetitions=60),
        "partition_bound": simulate_partitions(
            1, [0.6, 3.0], [5, 40], cluster_size=8, repetitions=3
        ),
        "support_recovery": simulate_recovery(1, SMALL, n_init=3, repetitions=4),
    }


@pytest.fixture(scope="module")
def drawn(tables):
    return {name: draw(tables[name]) for name, (_, draw) in PICTURES.items()}


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_noise_has_mean_zero_and_variance_one(name, seed):
    values = DISTRIBUTIONS[name](np.random.default_rng(seed), 200_000)
    assert abs(values.mean()) < 0.015
    assert values.var() == pytest.approx(1, abs=0.04)


def test_simulated_scores_agree_with_the_closed_form(tables):
    scores = tables["expected_scores"]
    assert len(scores) == 2 * 2 * 2
    distance = (scores["score"] - scores["expected"]).abs() / scores["standard_error"]
    assert (distance < 5).all()
    assert (scores.loc[scores["feature"] == "noise", "expected"] == 2).all()
    relevant = scores[scores["feature"] == "relevant"].set_index("mislabelled")["score"]
    assert relevant[0.0].min() > relevant[0.3].max()


def test_errors_of_kmeans_fall_and_keep_to_the_bound_where_there_is_one(tables):
    table = tables["partition_bound"]
    seen = table.dropna(subset="ecr").set_index(["mu", "n_relevant"])["ecr"]
    assert seen[0.6, 40] < seen[0.6, 5]
    bounds = table[table["mu"] == 3.0].dropna(subset="bound")
    bound = np.interp(40, bounds["n_relevant"], bounds["bound"])
    assert seen[3.0, 40] <= bound
    # Each bound begins at kappa, far beyond the 50 of Experiment 2 at mu = 0.6.
    assert table[table["mu"] == 0.6].dropna(subset="bound")["n_relevant"].iloc[0] > 7900


def test_strong_signals_are_recovered_by_every_fit_and_none_by_none(tables):
    table = tables["support_recovery"]
    plane = table[(table["plane"] == "relevant_mu") & (table["n_relevant"] == 5)]
    shares = plane.pivot(index="mu", columns="fit", values="recovered")
    assert set(shares.columns) == set(FITS)
    assert (shares.loc[3.0] == 1).all()
    assert (shares.loc[0.01] == 0).all()


def test_the_bounds_caption_says_where_the_theorem_is_vacuous(drawn):
    caption = drawn["partition_bound"][1]
    assert "7,200 and 7,910 at μ = 0.6; 32 and 35 at μ = 3" in caption
    assert "vacuous: at μ = 0.6 it needs p* ≥ 7,910" in caption


def test_the_panels_show_the_shares_of_the_table_and_the_condition_that_crosses_them(drawn, tables):
    figure = drawn["support_recovery"][0]
    panels = figure.axes[:8]
    assert panels[0].get_title(loc="left").startswith("true labels")
    table = tables["support_recovery"]
    for panel, fit in zip(panels[4:], FITS, strict=True):
        cells = table[(table["plane"] == "relevant_mu") & (table["fit"] == fit)]
        shares = cells.pivot(index="mu", columns="n_relevant", values="recovered")
        np.testing.assert_array_equal(panel.collections[0].get_array(), shares)
        (line,) = panel.lines
        assert len(line.get_xydata()) > 1
        for x, y in line.get_xydata()[::40]:
            assert x == pytest.approx(three_levels(y).kappa)
