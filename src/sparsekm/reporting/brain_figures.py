"""Slices of a brain: regions, clusters and the expression of single genes.

Grid axes are those of the Allen developing-mouse grids: x runs from anterior to posterior, y from
dorsal to ventral, z from left to right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from scipy.ndimage import distance_transform_edt

from sparsekm.annotation.clusters import overlap_clusters
from sparsekm.figures.palette import INK
from sparsekm.figures.style import figure_style, name_legend, new_figure, text_color_on, write_near
from sparsekm.reporting.cluster_colors import color_clusters, region_colors
from sparsekm.reporting.results import DatasetResult

AXES = ("x", "y", "z")
_MIN_VOXELS_SHOWN = 3


@dataclass(frozen=True)
class Plane:
    """A family of parallel slices: the axis it cuts, and the axes drawn right and down."""

    name: str
    cut: str
    right: str
    down: str


PLANES = (
    Plane("sagittal", cut="z", right="x", down="y"),
    Plane("coronal", cut="x", right="z", down="y"),
    Plane("horizontal", cut="y", right="x", down="z"),
)


@dataclass(frozen=True)
class Slice:
    """One slice: the voxels on it, as image positions."""

    plane: Plane
    index: int  # grid index along the cut axis
    position: float  # the same place in millimetres
    voxels: np.ndarray  # (v,): rows of obs that lie on the slice
    # (v,): their pixels.
    rows: np.ndarray
    columns: np.ndarray
    shape: tuple[int, int]
    spacing: tuple[float, float]  # height and width of a pixel in millimetres

    @property
    def size_mm(self) -> tuple[float, float]:
        """Height and width of the image in millimetres."""
        return self.shape[0] * self.spacing[0], self.shape[1] * self.spacing[1]

    def image(self, values: np.ndarray) -> np.ndarray:
        """Lay per-voxel codes (n,) out as an int image of ``shape``; -1 is outside the brain."""
        image = np.full(self.shape, -1, dtype=np.int64)
        image[self.rows, self.columns] = np.asarray(values)[self.voxels]
        return image


def grid_spacing(obs: pd.DataFrame, spatial: np.ndarray) -> dict[str, float]:
    """Return the millimetres per grid step along each axis, 1.0 if all voxels have one index.

    `obs` has the grid indices x, y, z, and `spatial`, of shape (n, 3), the coordinates in
    millimetres.
    """
    spacing = {}
    for column, axis in enumerate(AXES):
        indices = obs[axis].to_numpy()
        low, high = np.argmin(indices), np.argmax(indices)
        steps = int(indices[high]) - int(indices[low])
        length = float(spatial[high, column] - spatial[low, column])
        spacing[axis] = abs(length) / steps if steps else 1.0
    return spacing


def richest_slice(
    obs: pd.DataFrame, spatial: np.ndarray, regions: np.ndarray, plane: Plane
) -> Slice:
    """Return the slice of a plane with the most regions; ties go to the slice nearest the middle.

    A region counts if the slice has at least three of its voxels. `obs` and `spatial` are as in
    `grid_spacing`.
    """
    cut = obs[plane.cut].to_numpy()
    table = pd.crosstab(cut, pd.Series(regions, index=obs.index).to_numpy())
    shown = (table >= _MIN_VOXELS_SHOWN).sum(axis=1)
    distance = pd.Series(np.abs(shown.index - np.median(cut)), index=shown.index)
    best = shown[shown == shown.max()].index
    index = int(distance[best].idxmin())
    return _cut(obs, spatial, plane, index)


def _cut(obs: pd.DataFrame, spatial: np.ndarray, plane: Plane, index: int) -> Slice:
    spacing = grid_spacing(obs, spatial)
    down, right = obs[plane.down].to_numpy(), obs[plane.right].to_numpy()
    voxels = np.flatnonzero(obs[plane.cut].to_numpy() == index)
    down, right = down[voxels], right[voxels]
    return Slice(
        plane=plane,
        index=index,
        position=float(spatial[voxels[0], AXES.index(plane.cut)]),
        voxels=voxels,
        rows=down - down.min(),
        columns=right - right.min(),
        shape=(int(np.ptp(down)) + 1, int(np.ptp(right)) + 1),
        spacing=(spacing[plane.down], spacing[plane.right]),
    )


def boundary_lines(image: np.ndarray, spacing: tuple[float, float]) -> np.ndarray:
    """Return the lines at which an integer image changes its value; -1 is outside.

    Collinear edges of neighbouring pixels are joined to keep drawings small. The result has shape
    (n_lines, 2, 2): the ends of each line as (right, down) in the unit of `spacing`, the height and
    width of a pixel.
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


def scale_bar_length(width: float) -> float:
    """Return a round length (1, 2 or 5 times a power of ten) of about a quarter of a width.

    Examples
    --------
    >>> scale_bar_length(9.0)
    2.0
    """
    target = width / 4
    power = 10.0 ** np.floor(np.log10(target))
    return float(max(step * power for step in (1, 2, 5) if step * power <= target * (1 + 1e-9)))


_LOWEST_ROW = 0.85  # inches
_MARGIN = 0.01  # around a slice, as a share of the widest
_BAR_ROOM = 0.13  # height of the strip for the scale bar, as a share of the widest slice


@dataclass(frozen=True)
class Panels:
    """A figure with a grid (n_slices, n_columns) of axes in mm; `inches` is the length of a mm."""

    figure: Figure
    grid: np.ndarray
    inches: float


def lay_out_panels(
    slices: Sequence[Slice], n_columns: int, panel_width: float, further: tuple[float, float]
) -> Panels:
    """Lay out panels at a common scale, with row heights proportional to those of the slices.

    The widest slice is `panel_width` inches wide; the width and height of the figure exceed those
    of the panels by `further` inches.
    """
    widest = max(piece.size_mm[1] for piece in slices)
    inches = panel_width / widest
    margin = _MARGIN * widest
    # A low row would be too short for its name.
    heights = [max(piece.size_mm[0] + 2 * margin, _LOWEST_ROW / inches) for piece in slices]
    slack = [(room - piece.size_mm[0]) / 2 for room, piece in zip(heights, slices, strict=True)]
    heights[-1] += _BAR_ROOM * widest
    figure = new_figure(
        panel_width * n_columns + further[0],
        sum(heights) * inches + 0.1 * len(slices) + further[1],
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.03, wspace=0.01, hspace=0.01)
    grid = figure.subplots(len(slices), n_columns, squeeze=False, height_ratios=heights)
    for axes_row, piece, room, above in zip(grid, slices, heights, slack, strict=True):
        width = piece.size_mm[1]
        beside = (widest - width) / 2 + margin
        for axes in axes_row:
            axes.set(xlim=(-beside, width + beside), ylim=(room - above, -above), aspect="equal")
            axes.axis("off")
        _name_row(axes_row[0], piece)
    _draw_scale_bar(grid[-1, 0])
    return Panels(figure, grid, inches)


def show_slice(axes: Axes, piece: Slice, picture: np.ndarray, borders: np.ndarray, **look):
    """Draw a slice into its panel, with lines where the codes of neighbouring voxels differ.

    The picture contains values or RGBA colours; `look` is passed to `Axes.imshow`.
    """
    height, width = piece.size_mm
    limits = axes.get_xlim(), axes.get_ylim()
    image = axes.imshow(
        picture, extent=(0, width, height, 0), interpolation="nearest", aspect="equal", **look
    )
    lines = boundary_lines(piece.image(borders), piece.spacing)
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
    return image


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
    write_near(axes, f"{length:g} mm", (left + length, level), (4, 0), size=7.5, va="center")


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


_EXPRESSION_WIDTH = 1.75  # inches
_LIMITS = (-1.5, 3.0)  # standard deviations: energies are skewed to the right
_COLORMAP = "viridis"


def expression_figure(
    result: DatasetResult, rows: Sequence[int], notes: Sequence[str] | None = None
) -> Figure:
    """Draw the expression of some genes on a sagittal, a coronal and a horizontal slice.

    Each of the given rows of ``result.genes`` has a column, with its note as the second line of the
    title.
    """
    symbols = [str(result.genes["symbol"].iloc[row]) for row in rows]
    places = [find_feature(result, symbol) for symbol in symbols]
    order = np.argsort(places)
    values = np.empty((result.n_samples, len(rows)))
    values[:, order] = result.read_features(sorted(places))
    regions = result.obs["region"].astype(str).to_numpy(dtype=object)
    codes = np.unique(regions, return_inverse=True)[1]
    slices = [richest_slice(result.obs, result.spatial, codes, plane) for plane in PLANES]
    with figure_style():
        panels = lay_out_panels(slices, len(rows), _EXPRESSION_WIDTH, (1.1, 0.45))
        for axes_row, piece in zip(panels.grid, slices, strict=True):
            for axes, column in zip(axes_row, values.T, strict=True):
                image = draw_gene(axes, piece, column, codes)
        for number, (axes, symbol) in enumerate(zip(panels.grid[0], symbols, strict=True)):
            axes.set_title(symbol + (f"\n{notes[number]}" if notes else ""), fontsize=8.5)
        bar = panels.figure.colorbar(image, ax=panels.grid, shrink=0.6, aspect=20, extend="both")
        bar.set_label("expression (z-score)")
        bar.outline.set_linewidth(0.4)
    return panels.figure


def find_feature(result: DatasetResult, symbol: str) -> int:
    """Return the column of a gene in the normalised data."""
    return int(np.flatnonzero(result.var.index.astype(str) == symbol)[0])


def draw_gene(axes: Axes, piece: Slice, values: np.ndarray, regions: np.ndarray):
    """Draw the expression of a gene, values (n,), on a slice, with the borders of the regions."""
    picture = np.full(piece.shape, np.nan)
    picture[piece.rows, piece.columns] = values[piece.voxels]
    return show_slice(
        axes,
        piece,
        np.ma.masked_invalid(picture),
        regions,
        cmap=mpl.colormaps[_COLORMAP].with_extremes(bad=(0, 0, 0, 0)),
        norm=Normalize(*_LIMITS),
    )
