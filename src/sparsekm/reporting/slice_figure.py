"""Slices of the brain: the atlas' regions beside the clusters each method found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from scipy.ndimage import distance_transform_edt

from sparsekm.annotation.cluster_overlap import overlap_clusters
from sparsekm.reporting.brain_slices import (
    PLANES,
    Slice,
    boundary_lines,
    richest_slice,
    scale_bar_length,
)
from sparsekm.reporting.cluster_colors import color_clusters
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.style import (
    INK,
    categorical_colors,
    figure_style,
    new_figure,
    text_color_on,
)

_PANEL_WIDTH = 2.35
_LEGEND_COLUMNS = 10
_LETTER_WIDTH = 0.048  # inches, at the size of the acronyms
_LOWEST_ROW = 0.85  # inches
_MARGIN = 0.01  # around a slice, as a share of the widest
_BAR_ROOM = 0.13  # height of the strip for the scale bar, as a share of the widest slice


@dataclass(frozen=True)
class _Partition:
    """What one column of the figure shows: codes (n,), a colour and a name for each code."""

    title: str
    codes: np.ndarray
    colors: Sequence[str]
    names: Sequence[str]


def region_colors(result: DatasetResult) -> dict[str, str]:
    """Give the atlas' colours by acronym, in the atlas' order, for the regions that occur.

    Regions without a colour in the table get one of the report's own.
    """
    present = set(result.obs["region"].astype(str))
    table = result.regions
    listed = {
        str(acronym): _hex(color)
        for acronym, color in zip(table["acronym"], table["color"], strict=True)
        if str(acronym) in present
    }
    missing = sorted(present - set(listed))
    return listed | dict(zip(missing, categorical_colors(len(missing)), strict=True))


def _hex(color: object) -> str:
    """Put the sign before a colour: the ontology gives the six digits alone."""
    text = str(color)
    return to_hex(text if text.startswith("#") else f"#{text}")


def slice_figure(result: DatasetResult) -> Figure:
    """Draw three slices of the brain, by region and by the clusters of each method.

    Columns are the atlas and the methods, rows the sagittal, coronal and horizontal slice that
    show the most regions. A cluster has the colour of the region it overlaps most, in shades where
    several clusters share one; thin lines on the clusters are the atlas' borders.

    Parameters
    ----------
    result : DatasetResult
        Of an atlas age.

    Returns
    -------
    figure : Figure
    """
    colors = region_colors(result)
    regions = result.obs["region"].astype(str).to_numpy(dtype=object)
    codes = np.array([list(colors).index(region) for region in regions])
    partitions = [
        _Partition("atlas regions", codes, list(colors.values()), list(colors)),
        *_method_partitions(result, regions, colors),
    ]
    slices = [richest_slice(result.obs, result.spatial, codes, plane) for plane in PLANES]
    with figure_style():
        figure, grid = _lay_out(slices, len(partitions), len(colors))
        for row, piece in enumerate(slices):
            for column, partition in enumerate(partitions):
                axes = grid[row, column]
                _draw_slice(axes, piece, partition, atlas=None if column == 0 else codes)
                if row == 0:
                    axes.set_title(partition.title)
            _name_row(grid[row, 0], piece)
        _draw_scale_bar(grid[-1, 0])
        figure.legend(
            handles=[Patch(facecolor=c, edgecolor=INK, lw=0.4, label=r) for r, c in colors.items()],
            loc="outside lower center",
            ncols=min(len(colors), _LEGEND_COLUMNS),
            handlelength=1.2,
            handleheight=1.1,
            columnspacing=1.1,
        )
    return figure


def _method_partitions(
    result: DatasetResult, regions: np.ndarray, colors: Mapping[str, str]
) -> list[_Partition]:
    partitions = []
    for method in result.methods.values():
        by_cluster = color_clusters(overlap_clusters(method.labels, regions, list(colors)), colors)
        clusters = list(by_cluster)
        codes = np.searchsorted(clusters, method.labels)
        partitions.append(
            _Partition(method.title, codes, list(by_cluster.values()), [str(c) for c in clusters])
        )
    return partitions


def _lay_out(slices: Sequence[Slice], n_columns: int, n_regions: int) -> tuple[Figure, np.ndarray]:
    """Make all panels the same scale: rows as high as their slices are in millimetres."""
    widest = max(piece.size_mm[1] for piece in slices)
    inches = _PANEL_WIDTH / widest
    margin = _MARGIN * widest
    # A low row would be too short for its name.
    heights = [max(piece.size_mm[0] + 2 * margin, _LOWEST_ROW / inches) for piece in slices]
    slack = [(room - piece.size_mm[0]) / 2 for room, piece in zip(heights, slices, strict=True)]
    heights[-1] += _BAR_ROOM * widest
    legend = 0.22 * (1 + (n_regions - 1) // _LEGEND_COLUMNS)
    figure = new_figure(
        _PANEL_WIDTH * n_columns + 0.4, sum(heights) * inches + 0.1 * len(slices) + 0.25 + legend
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.01, hspace=0.01)
    grid = figure.subplots(len(slices), n_columns, squeeze=False, height_ratios=heights)
    for axes_row, piece, room, above in zip(grid, slices, heights, slack, strict=True):
        width = piece.size_mm[1]
        beside = (widest - width) / 2 + margin
        for axes in axes_row:
            axes.set(xlim=(-beside, width + beside), ylim=(room - above, -above), aspect="equal")
            axes.axis("off")
    return figure, grid


def _draw_slice(
    axes: Axes, piece: Slice, partition: _Partition, *, atlas: np.ndarray | None
) -> None:
    image = piece.image(partition.codes)
    palette = np.array([to_rgba(color) for color in partition.colors] + [(0, 0, 0, 0)])
    height, width = piece.size_mm
    limits = axes.get_xlim(), axes.get_ylim()
    axes.imshow(
        palette[image], extent=(0, width, height, 0), interpolation="nearest", aspect="equal"
    )
    borders = image if atlas is None else piece.image(atlas)
    lines = boundary_lines(borders, piece.spacing)
    axes.add_patch(
        PathPatch(
            # One path for all lines: a collection would write each as an element of its own.
            Path(lines.reshape(-1, 2), [Path.MOVETO, Path.LINETO] * len(lines)),
            facecolor="none",
            edgecolor=INK,
            linewidth=0.45,
            capstyle="round",
        )
    )
    axes.set(xlim=limits[0], ylim=limits[1])
    if atlas is None:
        _name_regions(axes, piece, image, partition)


def _name_regions(axes: Axes, piece: Slice, image: np.ndarray, partition: _Partition) -> None:
    """Write acronyms where there is room, so that the atlas reads without colour."""
    left, right = axes.get_xlim()
    inches = _PANEL_WIDTH / (right - left) * min(piece.spacing)
    for code in np.unique(image[image >= 0]):
        inside = image == code
        row, column, depth = _deepest_place(inside)
        if (depth - 0.5) * inches < 0.5 * _LETTER_WIDTH * len(partition.names[code]) + 0.01:
            continue
        axes.text(
            (column + 0.5) * piece.spacing[1],
            (row + 0.5) * piece.spacing[0],
            partition.names[code],
            color=text_color_on(partition.colors[code]),
            fontsize=5.5,
            ha="center",
            va="center",
        )


def _deepest_place(inside: np.ndarray) -> tuple[int, int, float]:
    """Find the pixel farthest from the edge; of several, the one nearest their middle."""
    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    places = np.argwhere(depth == depth.max())
    nearest = np.square(places - places.mean(axis=0)).sum(axis=1).argmin()
    row, column = places[nearest]
    return int(row), int(column), float(depth.max())


def _name_row(axes: Axes, piece: Slice) -> None:
    axes.text(
        -0.02,
        0.5,
        f"{piece.plane.name}\n{piece.plane.cut} = {piece.position:.2f} mm",
        transform=axes.transAxes,
        rotation=90,
        ha="right",
        va="center",
        fontsize=7.5,
    )


def _draw_scale_bar(axes: Axes) -> None:
    left, right = axes.get_xlim()
    foot = axes.get_ylim()[0]
    level = foot - 0.3 * _BAR_ROOM * (right - left)
    length = scale_bar_length(right - left)
    axes.plot([left, left + length], [level, level], color=INK, lw=2.2, solid_capstyle="butt")
    axes.annotate(
        f"{length:g} mm",
        (left + length, level),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
    )
