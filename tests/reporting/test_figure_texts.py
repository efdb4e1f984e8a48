"""Texts in figures: names of any length and characters neither break nor fill a figure."""

import dataclasses

import pytest
from matplotlib.text import Text

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.figures.style import (
    MOST_LETTERS,
    figure_svg,
    new_figure,
    short_name,
)
from sparsekm.reporting.figures import answer_figure

LONG = "name" * 2500


def texts_of(figure):
    return {text.get_text() for text in figure.findobj(Text)}


@pytest.mark.parametrize("name", [LONG, "a\nb\x01\x85", "$x^2$", "_x", "Sox2"])
def test_a_name_is_one_printable_line_and_unchanged_if_it_is_one(name):
    shown = short_name(name)
    assert shown.isprintable()
    assert len(shown) <= MOST_LETTERS
    assert (shown == name) == (name in ("$x^2$", "_x", "Sox2"))


def test_every_text_of_a_figure_is_cut_wherever_it_stands():
    figure = new_figure(9, 9)
    axes = figure.subplots()
    axes.plot([1, 2], label=LONG)
    axes.set_xticks([0, 1], [LONG, "a\x01b"])
    axes.set_title(f"{LONG}\nrank 1")
    axes.set_ylabel("\n".join("abcdef"))
    axes.legend()
    figure.suptitle("own words of a title stay as they are")
    svg = figure_svg(figure)
    shown = texts_of(figure)
    assert max(map(len, shown)) < 100
    assert {"own words of a title stay as they are", "a\\x01b", "a\n...\nf"} <= shown
    assert {text.rpartition("\n")[2] for text in shown} >= {"rank 1"}
    assert "\x01" not in svg


def test_the_legend_has_every_cluster_whatever_its_majority_class(matrix_result):
    names = {"class 0": "_x", "class 1": "$\\frac$", "class 2": LONG}
    obs = matrix_result.obs.assign(label=[names[label] for label in matrix_result.labels])
    clusters = {"l0": matrix_result.methods["l0"].labels}
    result = dataclasses.replace(matrix_result, obs=obs)
    overlap = tabulate_overlap(clusters, result.labels)
    figure = answer_figure(dataclasses.replace(result, contingency=overlap))
    (legend,) = figure.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {"cluster 0: _x", "cluster 1: $\\frac$", short_name(f"cluster 2: {LONG}")}
    figure_svg(figure)
    assert max(figure.get_size_inches()) < 10
