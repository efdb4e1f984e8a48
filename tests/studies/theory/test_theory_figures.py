"""The figures show what the tables hold, and their captions carry computed numbers."""

import pandas as pd
import pytest

from sparsekm.figures.style import figure_svg
from sparsekm.studies.theory.bound_figure import bound_figure
from sparsekm.studies.theory.drawing import draw_theory, write_figure
from sparsekm.studies.theory.expected_scores import simulate_scores
from sparsekm.studies.theory.level_model import three_levels
from sparsekm.studies.theory.partition_consistency import simulate_partitions, tabulate_bounds
from sparsekm.studies.theory.plane import Plane
from sparsekm.studies.theory.recovery_diagram import simulate_recovery

# What the tests look at is made once in each process.
pytestmark = pytest.mark.xdist_group("theory figures")

PLANES = {
    "samples_features": {"n_samples": [12, 30], "n_features": [20, 40], "n_relevant": 5, "mu": 1.0},
    "relevant_mu": {"n_relevant": [2, 50], "mu": [0.5, 3.0], "n_samples": 12, "n_features": 60},
}
SETTINGS = {
    "expected_scores": {"mu": 1.0, "cluster_size": 4, "n_features": 3},
    "support": {"planes": PLANES, "n_init": 1},
    "conditions": {"cells": 3, "planes": PLANES},
}


@pytest.fixture(scope="module")
def drawn():
    few = {"repetitions": 2, "root": 1}
    return draw_theory(
        scores=simulate_scores(three_levels(1.0), 4, [0.0, 0.5], n_features=3, **few),
        partitions=simulate_partitions([0.6, 3.0], [5, 40], cluster_size=4, noise_ratio=1, **few),
        bounds=tabulate_bounds([0.6, 3.0], [100, 1000], 12, n_points=5),
        recovery=[
            simulate_recovery(Plane.named(name, values).settings(), n_init=1, **few)
            for name, values in PLANES.items()
        ],
        settings=SETTINGS,
    )


def test_every_theorem_has_its_figure(drawn):
    assert list(drawn) == [
        "expected_scores",
        "partition_bound",
        "support_recovery",
        "recovery_conditions",
    ]


def test_the_bounds_caption_says_where_the_theorem_is_vacuous(drawn):
    caption = drawn["partition_bound"][1]
    assert "7,200 and 7,910 at μ = 0.6" in caption
    assert "32 and 35 at μ = 3" in caption
    assert "the theorem is vacuous: it needs p* ≥ 7,910" in caption
    assert "factor ln K" in caption


def test_the_condition_that_theorem_5_leaves_out_is_stated(drawn):
    caption = drawn["recovery_conditions"][1]
    assert "p ≥ M, which Theorem 4 states without a value for M" in caption
    assert "even at μ = 3" in caption


def test_a_line_marks_kappa_where_it_crosses_the_panel(drawn):
    figure = drawn["support_recovery"][0]
    # At n_relevant from 2 to 50 and mu from 0.5 to 3 kappa = 35 at mu = 3 lies in the panel.
    panel = figure.axes[4]
    marks = [line for line in panel.lines if line.get_linestyle() == "-"]
    assert marks
    for x, y in marks[0].get_xydata()[::40]:
        assert x == pytest.approx(three_levels(y).kappa)


def test_the_panels_show_the_shares_of_the_table(drawn):
    figure = drawn["support_recovery"][0]
    panels = figure.axes[:8]
    assert panels[0].get_title(loc="left").startswith("true labels")
    for panel in panels:
        values = panel.collections[0].get_array()
        assert values.shape == (2, 2)
        assert ((values >= 0) & (values <= 1)).all()


def test_figures_are_written_with_their_captions(drawn, tmp_path):
    figure, caption = drawn["expected_scores"]
    write_figure(tmp_path, "expected_scores", figure, caption)
    assert (tmp_path / "expected_scores.svg").read_text() == figure_svg(figure)
    assert (tmp_path / "expected_scores.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "expected_scores.txt").read_text() == caption


def test_every_level_has_its_curves_however_many_there_are():
    levels = [round(0.5 + 0.25 * step, 2) for step in range(10)]
    partitions = pd.DataFrame({"mu": levels, "n_relevant": 5, "ecr": 0.1, "standard_error": 0.01})
    bounds = pd.DataFrame({"mu": levels, "n_relevant": 500, "bound": 0.5, "kappa": 100.0})
    figure = bound_figure(partitions, bounds, 50)
    legends = [*figure.legends, *(axes.get_legend() for axes in figure.axes)]
    said = {text.get_text() for legend in legends if legend for text in legend.get_texts()}
    assert {f"μ = {mu:g}: observed" for mu in levels} <= said
