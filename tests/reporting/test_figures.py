"""Pictures of the report: heat maps, slices of a brain, colours, texts."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from sparsekm.annotation.clusters import majority_classes
from sparsekm.atlas.phantom import REGIONS
from sparsekm.atlas.phantom.anatomy import UPPER
from sparsekm.figures.sample_heat_map import Bar, draw_bar, order_field
from sparsekm.figures.style import (
    MOST_LETTERS,
    categorical_colors,
    figure_svg,
    new_figure,
    shades,
    short_name,
)
from sparsekm.pipeline.registry import METHODS
from sparsekm.reporting.brain_figures import boundary_lines, richest_slice, slice_figure
from sparsekm.reporting.clusters import class_colors, color_clusters
from sparsekm.reporting.gene_tables import LOOKS
from sparsekm.reporting.sample_map import project_samples, samples_figure
from sparsekm.reporting.simulation_page import row_look
from sparsekm.studies import METHOD_ROWS


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
    # Samples without a cluster and features without spread do no harm.
    X[:, 2], labels[:5] = 1.0, -1
    field = order_field(X, labels)
    assert sorted(np.concatenate(field.columns)) == list(range(5, 90))
    assert np.isfinite(field.values).all()


def test_many_samples_are_means_of_bins_of_one_cluster_each(table):
    X, labels = table
    field = order_field(X, labels, most=12)
    assert 10 <= len(field.columns) <= 14
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for column, (those, cluster) in enumerate(zip(field.columns, field.clusters, strict=True)):
        assert set(labels[those]) == {cluster}
        np.testing.assert_allclose(field.values[:, column], Z[those].mean(axis=0)[field.features])


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


def test_a_name_is_one_printable_line_and_unchanged_if_it_is_one():
    odd, plain = (LONG, "a\nb\x01\x85"), ["$x^2$", "_x", "Sox2"]
    assert all(name.isprintable() and len(name) <= MOST_LETTERS for name in map(short_name, odd))
    assert list(map(short_name, plain)) == plain


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
    shown = {text.get_text() for text in figure.findobj(Text)}
    assert max(map(len, shown)) < 100
    assert {"own words of a title stay as they are", "a\\x01b", "a\n...\nf"} <= shown
    assert {text.rpartition("\n")[2] for text in shown} >= {"rank 1"}
    assert "\x01" not in svg


def test_the_legend_has_every_cluster_whatever_its_majority_class(matrix_result):
    names = {"class 0": "_x", "class 1": "$\\frac$", "class 2": LONG}
    obs = matrix_result.obs.assign(label=[names[label] for label in matrix_result.labels])
    figure = samples_figure(dataclasses.replace(matrix_result, obs=obs))
    (legend,) = figure.legends
    shown = {text.get_text() for text in legend.get_texts()}
    assert shown == {"cluster 0: _x", "cluster 1: $\\frac$", short_name(f"cluster 2: {LONG}")}
    figure_svg(figure)
    assert max(figure.get_size_inches()) < 10


def test_a_cluster_has_the_colour_of_its_best_region_in_shades_if_it_is_not_alone(brain_result):
    labels, regions = np.repeat([0, 1, 2], [3, 2, 4]), np.array([*"AABAACCCB"], dtype=object)
    known = {"A": "#0072b2", "B": "#000000", "C": "#e69f00"}
    colors = color_clusters(labels, regions, known)
    assert (colors[0], colors[2]) == ("#0072b2", "#e69f00")
    assert colors[1] not in known.values()
    assert class_colors(brain_result) == {"RSP": "#a84d10", "CSP": "#ed985c", "r1": "#ee5dff"}


def test_a_class_names_and_colours_a_cluster_from_two_thirds_of_all_its_samples_on():
    # Two of three, three of five, and two of three of which one has no class.
    labels = np.repeat([0, 1, 2], [3, 5, 3])
    classes = np.array([*"AAB", *"AAABB", *"AA", ""], dtype=object)
    assert majority_classes(labels, classes) == {0: "A", 2: "A"}
    assert majority_classes(labels, np.array([*"AAB", *"AAABB", *"A", "", ""])) == {0: "A"}
    known = {"A": "#0072b2", "B": "#e69f00"}
    colors = color_clusters(labels, classes, known)
    assert colors[0] == known["A"]
    assert colors[1] not in known.values()
    assert len(set(colors.values())) == 3


def test_slice_shows_the_most_regions_nearest_the_middle(brain_result):
    regions = brain_result.obs["region"].to_numpy()
    piece = richest_slice(brain_result.obs, brain_result.spatial, regions, "sagittal")
    assert piece.index in (4, 5)
    assert piece.shape == (5, 6)
    assert piece.size_mm == pytest.approx((1.0, 0.6))
    image = piece.image(np.arange(len(regions)))
    assert (image >= 0).all()
    assert (brain_result.obs["z"].to_numpy()[image] == piece.index).all()


def test_boundaries_surround_every_region_once():
    lines = boundary_lines(np.array([[0, 0, 1], [0, 0, -1]]), (2.0, 1.0))
    length = np.abs(lines[:, 1] - lines[:, 0]).sum()
    # Around the 2 x 2 block: 4 + 8, of which 2 shared; around the single pixel: 6.
    assert length == pytest.approx((4 + 8) + 6 - 2)


def test_slice_figure_has_a_panel_for_atlas_and_methods_and_a_scale_bar(brain_result):
    figure = slice_figure(brain_result)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["atlas regions", "k-means", "ℓ₁-k-means", "ℓ₀-k-means"]
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any(word.endswith(" mm") and "=" not in word for word in words)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["RSP", "CSP", "r1"]


@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (10, 1)])
def test_components_are_those_of_a_singular_value_decomposition(shape):
    X = np.random.default_rng(0).normal(size=shape)
    method = SimpleNamespace(weights=np.ones(shape[1]), scores=np.ones(shape[1]))
    read = {"read_features": lambda kept, rows: X[np.ix_(rows, kept)]}
    result = SimpleNamespace(primary=method, **read)
    components, names = project_samples(result, np.arange(shape[0]))
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    n, expected = min(2, shape[1]), np.abs(left * values)
    np.testing.assert_allclose(np.abs(components[:, :n]), expected[:, :n], atol=1e-6)
    shares = [*values[:n] ** 2 / np.sum(values**2), 0.0][:2]
    assert list(names) == [
        f"component {number} ({share:.0%} of variance)" for number, share in enumerate(shares, 1)
    ]
    assert components.shape == (shape[0], 2)
    backwards, _ = project_samples(result, np.arange(shape[0])[::-1])
    np.testing.assert_array_equal(components, backwards[::-1])


ATLAS_COLORS = {region: f"#{UPPER[region][2]}" for region in REGIONS}


def smallest_distance(colors):
    rgb = np.array([to_rgb(color) for color in colors])
    distances = np.linalg.norm(rgb[:, None] - rgb[None], axis=2)
    return distances[np.triu_indices(len(rgb), 1)].min()


def test_colours_of_methods_verdicts_and_classes_stay_apart():
    assert categorical_colors(20)[:7] == categorical_colors(7)
    methods = {look.color for look in METHODS.values()}
    methods |= {row_look(name).color for name, row in METHOD_ROWS.items() if not row.is_variant}
    verdicts = list(dict.fromkeys(LOOKS.values()))
    for colors in (sorted(methods), verdicts, categorical_colors(20)):
        assert smallest_distance(colors) > 0.15


def test_clusters_that_share_a_region_stay_apart_and_from_others_as_the_atlas_own_colours():
    for color in (*ATLAS_COLORS.values(), "#0072b2", "#808080", "#000000"):
        found = shades(color, 4)
        np.testing.assert_allclose(to_rgb(found[0]), to_rgb(color), atol=0.01)
        assert smallest_distance(found) > 0.15
    own = smallest_distance(list(ATLAS_COLORS.values()))
    rng = np.random.default_rng(0)
    regions = np.repeat(list(REGIONS), 30).astype(object)
    # Twenty clusters, of which three share the largest region and two the midbrain.
    labels = np.repeat(np.arange(20), 30)
    labels[labels == 2] = rng.choice([1, 2, 20], 30)
    found = color_clusters(labels, regions, ATLAS_COLORS)
    assert smallest_distance(list(found.values())) >= own
