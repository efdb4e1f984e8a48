"""Slices of the brain: the regions of the atlas and the clusters of each method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from scipy.ndimage import distance_transform_edt

from sparsekm.annotation.clusters import overlap_clusters
from sparsekm.figures.palette import INK
from sparsekm.figures.style import figure_style, name_legend, text_color_on
from sparsekm.reporting.brain_slices import PLANES, Slice, richest_slice
from sparsekm.reporting.cluster_colors import color_clusters, region_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.slice_panels import lay_out_panels, show_slice

_PANEL_WIDTH = 2.35
_LEGEND_COLUMNS = 10
# Printed, the figure is about half as wide.
_ACRONYM_SIZE = 8  # points
_LETTER_WIDTH = 0.0087 * _ACRONYM_SIZE  # inches


@dataclass(frozen=True)
class _Partition:
    """One column of the figure: codes (n,), with a colour and a region for each code."""

    title: str
    codes: np.ndarray
    colors: Sequence[str]
    names: Sequence[str]


def slice_figure(result: DatasetResult) -> Figure:
    """Draw three slices of an atlas age, coloured by region and by the clusters of each method.

    Columns are the atlas and the methods, rows the sagittal, coronal and horizontal slices with the
    most regions. A cluster has the colour and, where there is room, the name of the region it
    overlaps most; clusters that share a region have different shades. Thin lines are the borders of
    regions.
    """
    colors = region_colors(result)
    regions = result.obs["region"].astype(str).to_numpy(dtype=object)
    codes = np.array([list(colors).index(region) for region in regions])
    partitions = [
        _Partition("atlas regions", codes, list(colors.values()), list(colors)),
        *_method_partitions(result, regions, colors),
    ]
    slices = [richest_slice(result.obs, result.spatial, codes, plane) for plane in PLANES]
    legend = 0.22 * (1 + (len(colors) - 1) // _LEGEND_COLUMNS)
    with figure_style():
        panels = lay_out_panels(slices, len(partitions), _PANEL_WIDTH, (0.4, 0.25 + legend))
        for axes_row, piece in zip(panels.grid, slices, strict=True):
            for axes, partition in zip(axes_row, partitions, strict=True):
                _draw_slice(axes, piece, partition, codes, panels.inches)
        for axes, partition in zip(panels.grid[0], partitions, strict=True):
            axes.set_title(partition.title)
        name_legend(
            panels.figure,
            [(r, Patch(facecolor=c, edgecolor=INK, lw=0.4)) for r, c in colors.items()],
            ncols=min(len(colors), _LEGEND_COLUMNS),
            handlelength=1.2,
            handleheight=1.1,
            columnspacing=1.1,
        )
    return panels.figure


def _method_partitions(
    result: DatasetResult, regions: np.ndarray, colors: Mapping[str, str]
) -> list[_Partition]:
    partitions = []
    for method in result.methods.values():
        overlap = overlap_clusters(method.labels, regions, list(colors))
        by_cluster = color_clusters(overlap, colors)
        clusters = list(by_cluster)
        codes = np.searchsorted(clusters, method.labels)
        names = [str(overlap.best_region[cluster]) for cluster in clusters]
        partitions.append(_Partition(method.title, codes, list(by_cluster.values()), names))
    return partitions


def _draw_slice(
    axes: Axes, piece: Slice, partition: _Partition, atlas: np.ndarray, inches: float
) -> None:
    image = piece.image(partition.codes)
    palette = np.array([to_rgba(color) for color in partition.colors] + [(0, 0, 0, 0)])
    show_slice(axes, piece, palette[image], atlas)
    _name_regions(axes, piece, image, partition, inches)


def _name_regions(
    axes: Axes, piece: Slice, image: np.ndarray, partition: _Partition, inches: float
) -> None:
    """Write acronyms where there is room, so that the figure can be read without colours."""
    pixel = inches * min(piece.spacing)
    for code in np.unique(image[image >= 0]):
        row, column, depth = _deepest_place(image == code)
        if (depth - 0.5) * pixel < 0.5 * _LETTER_WIDTH * len(partition.names[code]) + 0.01:
            continue
        axes.text(
            (column + 0.5) * piece.spacing[1],
            (row + 0.5) * piece.spacing[0],
            partition.names[code],
            color=text_color_on(partition.colors[code]),
            fontsize=_ACRONYM_SIZE,
            ha="center",
            va="center",
        )


def _deepest_place(inside: np.ndarray) -> tuple[int, int, float]:
    """Return the pixel farthest from the edge; if there are several, the one nearest their mean."""
    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    places = np.argwhere(depth == depth.max())
    nearest = np.square(places - places.mean(axis=0)).sum(axis=1).argmin()
    row, column = places[nearest]
    return int(row), int(column), float(depth.max())
