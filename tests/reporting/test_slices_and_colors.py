"""Pictures of a brain: slices, colours of clusters and of everything else."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sparsekm.annotation.clusters import count_overlap
from sparsekm.atlas.phantom import REGIONS
from sparsekm.atlas.phantom.anatomy import UPPER
from sparsekm.figures.style import categorical_colors, shades
from sparsekm.pipeline.registry import METHODS
from sparsekm.reporting.brain_figures import (
    boundary_lines,
    richest_slice,
    slice_figure,
)
from sparsekm.reporting.clusters import class_colors, color_clusters
from sparsekm.reporting.figures import principal_plane
from sparsekm.reporting.gene_tables import LOOKS
from sparsekm.reporting.simulation_page import row_look
from sparsekm.studies import METHOD_ROWS


def test_a_cluster_has_the_colour_of_its_first_best_region_in_shades_if_it_is_not_alone():
    labels, regions = (
        np.array([0, 0, 0, 1, 1, 2, 2, 2, 2]),
        np.array(list("AABAACCCB"), dtype=object),
    )
    known = {"A": "#0072b2", "B": "#000000", "C": "#e69f00"}
    colors = color_clusters(count_overlap(labels, regions, list(known)), known)
    assert (colors[0], colors[2]) == ("#0072b2", "#e69f00")
    assert colors[1] not in known.values()
    tied = count_overlap(np.zeros(2, int), np.array(["B", "A"]), list(known))
    assert color_clusters(tied, known) == {0: "#0072b2"}


def test_region_colours_follow_the_atlas_and_leave_absent_regions_out(brain_result):
    assert class_colors(brain_result) == {"RSP": "#a84d10", "CSP": "#ed985c", "r1": "#ee5dff"}


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
    image = np.array([[0, 0, 1], [0, 0, -1]])
    lines = boundary_lines(image, (2.0, 1.0))
    length = np.abs(lines[:, 1] - lines[:, 0]).sum()
    # Around the 2 x 2 block: 4 + 8, of which 2 shared; around the single pixel: 6.
    assert length == pytest.approx((4 + 8) + 6 - 2)


def test_slice_figure_has_a_panel_for_atlas_and_methods_and_a_scale_bar(brain_result):
    figure = slice_figure(brain_result)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["atlas regions", "k-means", "ℓ₁-k-means", "ℓ₀-k-means"]
    words = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert any(word.endswith(" mm") and "=" not in word for word in words)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["RSP", "CSP", "r1"]


@pytest.mark.parametrize("shape", [(30, 5), (5, 30), (10, 1)])
def test_components_are_those_of_a_singular_value_decomposition(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    components, explained = principal_plane(X)
    left, values, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    n = min(2, shape[1])
    np.testing.assert_allclose(
        np.abs(components[:, :n]), np.abs(left[:, :n] * values[:n]), atol=1e-6
    )
    np.testing.assert_allclose(explained[:n], values[:n] ** 2 / np.sum(values**2), atol=1e-8)
    assert components.shape == (shape[0], 2)
    np.testing.assert_array_equal(components, principal_plane(X.copy())[0])


ATLAS_COLORS = {region: f"#{UPPER[region][2]}" for region in REGIONS}


def smallest_distance(colors):
    rgb = np.array([to_rgb(color) for color in colors])
    distances = np.linalg.norm(rgb[:, None] - rgb[None], axis=2)
    return distances[np.triu_indices(len(rgb), 1)].min()


def test_colours_of_methods_verdicts_and_a_few_classes_stay_apart():
    methods = {look.color for look in METHODS.values()}
    methods |= {row_look(name).color for name, row in METHOD_ROWS.items() if not row.is_variant}
    verdicts = list(dict.fromkeys(LOOKS.values()))
    for colors in (sorted(methods), verdicts, categorical_colors(7)):
        assert smallest_distance(colors) > 0.15


def test_many_classes_stay_apart():
    colors = categorical_colors(20)
    assert colors[:7] == categorical_colors(7)
    assert smallest_distance(colors) > 0.15


@pytest.mark.parametrize("color", [*ATLAS_COLORS.values(), "#0072b2", "#808080", "#000000"])
def test_clusters_that_share_a_region_stay_apart(color):
    found = shades(color, 4)
    np.testing.assert_allclose(to_rgb(found[0]), to_rgb(color), atol=0.01)
    assert smallest_distance(found) > 0.15


def test_a_split_region_adds_no_pair_that_is_closer_than_the_atlas_own_colours():
    """The atlas chose its colours; they are given. What is added to them keeps its distance."""
    own = smallest_distance(list(ATLAS_COLORS.values()))
    rng = np.random.default_rng(0)
    regions = np.repeat(list(REGIONS), 30).astype(object)
    # Twenty clusters, of which three share the largest region and two the midbrain.
    labels = np.repeat(np.arange(20), 30)
    labels[labels == 2] = rng.choice([1, 2, 20], 30)
    found = color_clusters(count_overlap(labels, regions, list(REGIONS)), ATLAS_COLORS)
    assert smallest_distance(list(found.values())) >= own
