"""Slices of a brain: regions, clusters and the expression of single genes.

Grid axes are those of the Allen developing-mouse grids: x runs from anterior to posterior, y from
dorsal to ventral, z from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from scipy.ndimage import distance_transform_edt

from sparsekm.annotation.clusters import majority_classes
from sparsekm.figures import style
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.clusters import class_colors, color_clusters
from sparsekm.reporting.results import DatasetResult

AXES = ("x", "y", "z")
PLANES = {"sagittal": ("z", "x", "y"), "coronal": ("x", "z", "y"), "horizontal": ("y", "x", "z")}
"""For each family of slices, the axis that it cuts, and the axes drawn right and down."""
_MIN_VOXELS_SHOWN = 3


@dataclass(frozen=True)
class Slice:
    """One slice: the voxels on it, as image positions."""

    title: str
    index: int  # grid index along the cut axis
    voxels: np.ndarray  # (v,): rows of obs that lie on the slice
    pixels: tuple[np.ndarray, np.ndarray]  # (v,), (v,): their rows and columns
    shape: tuple[int, int]
    spacing: tuple[float, float]  # height and width of a pixel in millimetres

    @property
    def size_mm(self) -> tuple[float, float]:
        """Height and width of the image in millimetres."""
        return self.shape[0] * self.spacing[0], self.shape[1] * self.spacing[1]

    def image(self, values: np.ndarray, outside: float = -1) -> np.ndarray:
        """Lay values of voxels (n,) out as an image of ``shape``, with a value for the outside."""
        image = np.full(self.shape, outside, dtype=np.asarray(values).dtype)
        image[self.pixels] = np.asarray(values)[self.voxels]
        return image


def richest_slice(obs: pd.DataFrame, spatial: np.ndarray, regions: np.ndarray, name: str) -> Slice:
    """Return the slice of a plane with the most regions; ties go to the slice nearest the middle.

    `obs` has the grid indices x, y, z, and `spatial` (n, 3) the coordinates in millimetres.
    """
    cut_axis, right_axis, down_axis = PLANES[name]
    cut = obs[cut_axis].to_numpy()
    shown = (pd.crosstab(cut, np.asarray(regions)) >= _MIN_VOXELS_SHOWN).sum(axis=1)
    best = shown.index[shown == shown.max()].to_numpy()
    index = int(best[np.abs(best - np.median(cut)).argmin()])
    voxels = np.flatnonzero(cut == index)
    position = spatial[voxels[0], AXES.index(cut_axis)]
    steps, lengths = np.ptp(obs[list(AXES)].to_numpy(), axis=0), np.ptp(spatial, axis=0)
    # All voxels may have the same index.
    spacing = dict(zip(AXES, np.where(steps, lengths / np.maximum(steps, 1), 1.0), strict=True))
    down, right = (obs[axis].to_numpy()[voxels] for axis in (down_axis, right_axis))
    return Slice(
        title=f"{name}\n{cut_axis} = {position:.2f} mm",
        index=index,
        voxels=voxels,
        pixels=(down - down.min(), right - right.min()),
        shape=(int(np.ptp(down)) + 1, int(np.ptp(right)) + 1),
        spacing=(float(spacing[down_axis]), float(spacing[right_axis])),
    )


def boundary_lines(image: np.ndarray, spacing: tuple[float, float]) -> np.ndarray:
    """Return the lines (m, 2, 2) at which an integer image changes its value; -1 is outside.

    Collinear edges are joined to keep drawings small. Ends are (right, down) in the unit of
    `spacing`, the height and width of a pixel.
    """
    padded = np.pad(image, 1, constant_values=-1)
    level = _join_edges(padded[1:, 1:-1] != padded[:-1, 1:-1])
    upright = _join_edges((padded[1:-1, 1:] != padded[1:-1, :-1]).T)[:, :, ::-1]
    return np.concatenate([level, upright]) * np.array([spacing[1], spacing[0]])


def _join_edges(edges: np.ndarray) -> np.ndarray:
    """Return the ends (start, row), (stop, row) of every run along the rows of a bool array."""
    steps = np.diff(np.pad(edges.astype(np.int8), [(0, 0), (1, 1)]), axis=1)
    row, start = np.nonzero(steps == 1)
    stop = np.nonzero(steps == -1)[1]
    ends = [np.column_stack([start, row]), np.column_stack([stop, row])]
    return np.stack(ends, axis=1).astype(np.float64)


_LOWEST_ROW = 0.85  # inches: a lower row would be too short for its name
_SCALE_BAR = 1.0  # millimetres
_PANEL_WIDTH = 2.35
_EXPRESSION_WIDTH = 1.75
_LEGEND_COLUMNS = 10
_ACRONYM_SIZE = 8  # points; printed, the figure is about half as wide
_LETTER_WIDTH = 0.0087 * _ACRONYM_SIZE  # inches
_LIMITS = (-1.5, 3.0)  # standard deviations: energies are skewed to the right


def _lay_out(
    result: DatasetResult, codes: np.ndarray, n_columns: int, width: float, room: tuple
) -> tuple[Figure, np.ndarray, list[Slice], float]:
    """Lay out panels at a common scale: a row for each plane, the widest slice `width` inches.

    `codes` are the regions, and `room` is the space of the figure beside its panels. Returns the
    figure, its axes in millimetres, the slices and the inches per millimetre.
    """
    slices = [richest_slice(result.obs, result.spatial, codes, name) for name in PLANES]
    widest = max(piece.size_mm[1] for piece in slices)
    inches = width / widest
    heights = [max(1.02 * piece.size_mm[0], _LOWEST_ROW / inches) for piece in slices]
    heights[-1] += 0.13 * widest
    figure = style.new_figure(
        width * n_columns + room[0], sum(heights) * inches + 0.1 * len(slices) + room[1]
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.01, hspace=0.01)
    grid = figure.subplots(len(slices), n_columns, squeeze=False, height_ratios=heights)
    for axes_row, piece, height in zip(grid, slices, heights, strict=True):
        beside = (1.02 * widest - piece.size_mm[1]) / 2
        limits = {"xlim": (-beside, piece.size_mm[1] + beside), "ylim": (height, -0.01 * widest)}
        for axes in axes_row:
            axes.set(**limits, aspect="equal")
            axes.axis("off")
        look = {"rotation": 90, "ha": "right", "va": "center", "fontsize": 7.5}
        axes_row[0].text(-0.02, 0.5, piece.title, transform=axes_row[0].transAxes, **look)
    level, left = heights[-1] - 0.04 * widest, grid[-1, 0].get_xlim()[0]
    bar = [left, left + _SCALE_BAR]
    grid[-1, 0].plot(bar, [level, level], color=style.INK, lw=2.2, solid_capstyle="butt")
    text = f"{_SCALE_BAR:g} mm"
    style.write_near(grid[-1, 0], text, (bar[1], level), (4, 0), size=7.5, va="center")
    return figure, grid, slices, inches


def _show_slice(
    axes: Axes, piece: Slice, picture: np.ndarray, borders: np.ndarray, **look: Any
) -> mpl.image.AxesImage:
    """Draw a slice into its panel, with lines where the codes of neighbouring voxels differ."""
    height, width = piece.size_mm
    limits = {"xlim": axes.get_xlim(), "ylim": axes.get_ylim()}
    extent = (0, width, height, 0)
    image = axes.imshow(picture, extent=extent, interpolation="nearest", aspect="equal", **look)
    lines = boundary_lines(piece.image(borders), piece.spacing)
    # All lines are one path, because a collection would write each line as an element.
    path = Path(lines.reshape(-1, 2), [Path.MOVETO, Path.LINETO] * len(lines))
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=style.INK, linewidth=0.45))
    axes.set(**limits)
    return image


@style.figure_style()
def slice_figure(result: DatasetResult) -> Figure:
    """Draw three slices of an atlas age, coloured by region and by the clusters of each method."""
    colors = class_colors(result)
    regions = result.obs["region"].astype(str).to_numpy(dtype=object)
    codes = pd.Index(colors).get_indexer(regions)
    # The title of each column, and the codes of the voxels with their colours and names.
    columns = [("atlas regions", codes, list(colors.values()), list(colors))]
    for name, method in result.methods.items():
        shades = color_clusters(method.labels, regions, colors)
        best = majority_classes(method.labels, regions)
        names = [best.get(cluster, "") for cluster in shades]
        own = np.searchsorted(list(shades), method.labels)
        columns.append((method_look(name).title, own, list(shades.values()), names))
    legend = 0.22 * (1 + (len(colors) - 1) // _LEGEND_COLUMNS)
    room = (0.4, 0.25 + legend)
    figure, grid, slices, inches = _lay_out(result, codes, len(columns), _PANEL_WIDTH, room)
    for axes_column, (title, own, looks, names) in zip(grid.T, columns, strict=True):
        axes_column[0].set_title(title)
        palette = np.vstack([to_rgba_array(looks), np.zeros(4)])
        for axes, piece in zip(axes_column, slices, strict=True):
            image = piece.image(own)
            _show_slice(axes, piece, palette[image], codes)
            _name_regions(axes, piece, image, looks, names, inches)
    patches = [(r, Patch(facecolor=c, edgecolor=style.INK, lw=0.4)) for r, c in colors.items()]
    look = {"handlelength": 1.2, "handleheight": 1.1, "columnspacing": 1.1}
    style.name_legend(figure, patches, ncols=min(len(colors), _LEGEND_COLUMNS), **look)
    return figure


def _name_regions(
    axes: Axes,
    piece: Slice,
    image: np.ndarray,
    colors: Sequence[str],
    names: Sequence[str],
    inches: float,
) -> None:
    """Write acronyms where there is room, so that the figure can be read without colours."""
    for code in np.unique(image[image >= 0]):
        # The pixel farthest from the edge.
        depth = distance_transform_edt(np.pad(image == code, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(depth.argmax(), depth.shape)
        half = (depth.max() - 0.5) * inches * min(piece.spacing)
        if half >= 0.5 * _LETTER_WIDTH * len(names[code]) + 0.01:
            place = (column + 0.5) * piece.spacing[1], (row + 0.5) * piece.spacing[0]
            look = {"fontsize": _ACRONYM_SIZE, "ha": "center", "va": "center"}
            axes.text(*place, names[code], color=style.text_color_on(colors[code]), **look)


@style.figure_style()
def expression_figure(
    result: DatasetResult, rows: Sequence[int], notes: Sequence[str] | None = None
) -> Figure:
    """Draw rows of ``result.genes`` in slices, a column each; notes are below their symbols."""
    symbols = list(result.genes["symbol"].iloc[list(rows)].astype(str))
    places = result.var.index.astype(str).get_indexer(symbols)
    values = np.empty((result.n_samples, len(rows)))
    values[:, np.argsort(places)] = result.read_features(np.sort(places))
    codes = np.unique(result.obs["region"].astype(str), return_inverse=True)[1]
    colormap = mpl.colormaps["viridis"].with_extremes(bad=(0, 0, 0, 0))
    look = {"cmap": colormap, "norm": Normalize(*_LIMITS)}
    figure, grid, slices, _ = _lay_out(result, codes, len(rows), _EXPRESSION_WIDTH, (1.1, 0.45))
    for axes_row, piece in zip(grid, slices, strict=True):
        for axes, column in zip(axes_row, values.T, strict=True):
            shown = np.ma.masked_invalid(piece.image(column, outside=np.nan))
            image = _show_slice(axes, piece, shown, codes, **look)
    for number, (axes, symbol) in enumerate(zip(grid[0], symbols, strict=True)):
        axes.set_title(symbol + (f"\n{notes[number]}" if notes else ""), fontsize=8.5)
    bar = figure.colorbar(image, ax=grid, shrink=0.6, aspect=20, extend="both")
    bar.set_label("expression (z-score)")
    bar.outline.set_linewidth(0.4)
    return figure
