"""Colours stay apart for every reader: also where red and green, or blue and yellow, look alike."""

import numpy as np
import pytest
from matplotlib.colors import hsv_to_rgb, to_rgb

from sparsekm.annotation.clusters import overlap_clusters
from sparsekm.atlas.phantom.anatomy import UPPER
from sparsekm.atlas.phantom.sizes import REGIONS
from sparsekm.figures.style import (
    VISIONS,
    categorical_colors,
    color_distances,
    place_colors,
    shades,
)
from sparsekm.pipeline.registry import METHODS
from sparsekm.reporting.ages_section import LOOKS
from sparsekm.reporting.clusters import color_clusters
from sparsekm.reporting.simulation_figures import row_look
from sparsekm.studies.paper.plan import METHOD_ROWS

NOTICEABLE = 0.02
ATLAS_COLORS = {region: f"#{UPPER[region][2]}" for region in REGIONS}


def smallest_distance(colors):
    distances = color_distances(colors, colors)
    return distances[np.triu_indices(len(colors), 1)].min()


@pytest.mark.parametrize("vision", VISIONS)
def test_every_vision_leaves_greys_as_they_are(vision):
    greys = [str(level) for level in np.linspace(0, 1, 6)]
    np.testing.assert_allclose(place_colors(greys, vision), place_colors(greys), atol=2e-3)


@pytest.mark.parametrize(
    ("vision", "alike", "apart"),
    [
        # Of one lightness to that eye: pairs that lie on a line of confusion, and one across.
        ("protan", ("#ff0000", "#5b4a00"), ("#0000ff", "#5b4a00")),
        ("deutan", ("#00a000", "#7c6c00"), ("#0000ff", "#7c6c00")),
        ("tritan", ("#0000ff", "#004b4f"), ("#ff0000", "#004b4f")),
    ],
)
def test_colours_on_a_line_of_confusion_look_more_alike(vision, alike, apart):
    def distance(colors, eye):
        return np.linalg.norm(np.diff(place_colors(colors, eye), axis=0))

    assert distance(alike, vision) < 0.5 * distance(alike, "normal")
    assert distance(apart, vision) > 0.5 * distance(apart, "normal")
    assert color_distances(alike[:1], alike[1:])[0, 0] <= distance(alike, vision) + 1e-12


def test_colours_of_methods_verdicts_and_a_few_classes_stay_apart_for_every_reader():
    methods = {look.color for look in METHODS.values()}
    methods |= {row_look(name).color for name, row in METHOD_ROWS.items() if not row.is_variant}
    verdicts = list(dict.fromkeys(LOOKS.values()))
    for colors in (sorted(methods), verdicts, categorical_colors(7)):
        assert smallest_distance(colors) > 3 * NOTICEABLE


@pytest.mark.parametrize(("n_colors", "bound"), [(14, 0.05), (20, 0.035)])
def test_many_classes_stay_apart_though_less(n_colors, bound):
    colors = categorical_colors(n_colors)
    assert colors[:7] == categorical_colors(7)
    assert smallest_distance(colors) > bound


@pytest.mark.parametrize("color", [*ATLAS_COLORS.values(), "#0072b2", "#808080", "#000000"])
def test_clusters_that_share_a_region_stay_apart_for_every_reader(color):
    found = shades(color, 4)
    np.testing.assert_allclose(to_rgb(found[0]), to_rgb(color), atol=0.01)
    assert smallest_distance(found) > 4 * NOTICEABLE


def test_shades_of_any_colour_differ(seed):
    rng = np.random.default_rng(seed)
    for color in hsv_to_rgb(rng.uniform(size=(40, 3))):
        assert smallest_distance(shades(color, 3)) > 2 * NOTICEABLE


def test_a_split_region_adds_no_pair_that_is_closer_than_the_atlas_own_colours():
    """The atlas chose its colours; they are given. What is added to them keeps its distance."""
    own = smallest_distance(list(ATLAS_COLORS.values()))
    rng = np.random.default_rng(0)
    regions = np.repeat(list(REGIONS), 30).astype(object)
    # Twenty clusters, of which three share the largest region and two the midbrain.
    labels = np.repeat(np.arange(20), 30)
    labels[labels == 2] = rng.choice([1, 2, 20], 30)
    found = color_clusters(overlap_clusters(labels, regions, list(REGIONS)), ATLAS_COLORS)
    assert smallest_distance(list(found.values())) >= own
    # Its neighbouring hindbrain regions are why slices carry names and borders.
    assert own < NOTICEABLE
