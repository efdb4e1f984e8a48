"""The heat map of samples, and texts of figures."""

import dataclasses

import numpy as np
import pytest
from matplotlib.text import Text

from sparsekm.annotation.clusters import tabulate_overlap
from sparsekm.figures.sample_heat_map import Bar, draw_bar, order_field
from sparsekm.figures.style import MOST_LETTERS, figure_svg, new_figure, short_name
from sparsekm.reporting.figures import answer_figure


@pytest.fixture
def table():
    """Ninety samples in three groups; features 0 and 3 mark group 2, up and down, 1 group 0."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=90)
    X = rng.normal(size=(90, 4))
    X[labels == 2, 0] += 6
    X[labels == 2, 3] -= 9
    X[labels == 0, 1] += 6
    X[labels == 1, 2] += 6
    return X, labels


def test_samples_stand_by_cluster_and_features_by_the_cluster_that_they_mark(table):
    X, labels = table
    field = order_field(X, labels)
    samples = np.concatenate(field.columns)
    assert sorted(samples) == list(range(90))
    np.testing.assert_array_equal(field.clusters, np.sort(labels))
    np.testing.assert_array_equal(labels[samples], field.clusters)
    # Up before down.
    assert field.features.tolist() == [1, 2, 0, 3]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(field.values, Z[samples][:, field.features].T)


def test_many_samples_are_means_of_bins_of_one_cluster_each(table):
    X, labels = table
    field = order_field(X, labels, most=12)
    assert 10 <= len(field.columns) <= 14
    for column, (those, cluster) in enumerate(zip(field.columns, field.clusters, strict=True)):
        assert set(labels[those]) == {cluster}
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_allclose(field.values[:, column], Z[those].mean(axis=0)[field.features])


def test_samples_without_a_cluster_and_features_without_spread_do_no_harm(table):
    X, labels = table
    X[:, 2], labels[:5] = 1.0, -1
    field = order_field(X, labels)
    assert sorted(np.concatenate(field.columns)) == list(range(5, 90))
    assert np.isfinite(field.values).all()


def test_a_bar_shows_the_most_frequent_category_or_the_mean(table):
    X, labels = table
    field = order_field(X, labels, most=3)
    categories, bar, shares = *new_figure(3, 3).subplots(2), np.linspace(0, 1, 90)
    mixed = np.where(np.arange(90) % 4, labels, -1)
    colors = {-1: "black", 0: "red", 1: "lime", 2: "blue"}
    draw_bar(categories, field, "a", Bar(mixed, colors))
    assert categories.images[0].get_array()[0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    draw_bar(bar, field, "b", Bar(shares))
    expected = [1 - shares[labels == cluster].mean() for cluster in range(3)]
    np.testing.assert_allclose(bar.images[0].get_array()[0, :, 0], expected)


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
    figure, _ = answer_figure(dataclasses.replace(result, contingency=overlap))
    (legend,) = figure.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {"cluster 0: _x", "cluster 1: $\\frac$", short_name(f"cluster 2: {LONG}")}
    figure_svg(figure)
    assert max(figure.get_size_inches()) < 10
