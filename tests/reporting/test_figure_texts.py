"""Texts in figures: names of any length and characters neither break nor fill a figure."""

import dataclasses

import numpy as np
import pytest
from matplotlib.text import Text
from sparsekm.reporting.component_figure import component_figure

from sparsekm.figures.style import (
    MOST_LETTERS,
    feature_heat_map,
    figure_svg,
    new_figure,
    short_name,
)

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


def test_a_heat_map_does_not_grow_with_the_longest_name():
    figure = feature_heat_map(np.eye(2), [LONG, "b"], [LONG, "d"], [0, 1])
    assert max(figure.get_size_inches()) < 10


def test_the_legend_has_every_class_whatever_its_name(matrix_result):
    names = {"class 0": "_x", "class 1": "$\\frac$", "class 2": LONG}
    obs = matrix_result.obs.assign(label=[names[label] for label in matrix_result.labels])
    figure = component_figure(dataclasses.replace(matrix_result, obs=obs))
    (legend,) = figure.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {"_x", "$\\frac$", short_name(LONG)}
    figure_svg(figure)
