import numpy as np
import pytest

from sparsekm.annotation.clusters import overlap_clusters
from sparsekm.reporting.brain_figures import (
    PLANES,
    boundary_lines,
    grid_spacing,
    richest_slice,
    scale_bar_length,
    slice_figure,
)
from sparsekm.reporting.clusters import color_clusters, region_colors
from sparsekm.reporting.figures import principal_plane


@pytest.fixture
def overlap():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    regions = np.array(list("AABAACCCB"), dtype=object)
    return overlap_clusters(labels, regions, ["A", "B", "C"])


def test_cluster_belongs_to_the_region_it_overlaps_most(overlap):
    assert overlap.best_region.to_dict() == {0: "A", 1: "A", 2: "C"}


def test_tied_overlap_goes_to_the_first_region():
    overlap = overlap_clusters(np.zeros(2, int), np.array(["B", "A"]), ["A", "B"])
    assert overlap.best_region[0] == "A"


def test_clusters_that_share_a_region_differ_in_shade_and_the_first_has_its_colour(overlap):
    colors = color_clusters(overlap, {"A": "#0072b2", "B": "#000000", "C": "#e69f00"})
    assert colors[2] == "#e69f00"
    assert colors[0] == "#0072b2"
    assert colors[1] != colors[0]


def test_region_colours_follow_the_atlas_and_leave_absent_regions_out(brain_result):
    assert region_colors(brain_result) == {"RSP": "#a84d10", "CSP": "#ed985c", "r1": "#ee5dff"}


def test_spacing_comes_from_places_and_indices(brain_result):
    spacing = grid_spacing(brain_result.obs, brain_result.spatial)
    assert spacing == pytest.approx({"x": 0.1, "y": 0.2, "z": 0.3})


def test_slice_shows_the_most_regions_nearest_the_middle(brain_result):
    regions = brain_result.obs["region"].to_numpy()
    piece = richest_slice(brain_result.obs, brain_result.spatial, regions, PLANES[0])
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


@pytest.mark.parametrize(("width", "length"), [(9.0, 2.0), (4.0, 1.0), (2.3, 0.5), (0.9, 0.2)])
def test_scale_bar_has_a_round_length(width, length):
    assert scale_bar_length(width) == pytest.approx(length)


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
