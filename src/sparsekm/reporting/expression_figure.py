"""Slices of the brain that show where single genes are expressed."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from sparsekm.reporting.brain_slices import (
    PLANES,
    Slice,
    boundary_lines,
    richest_slice,
    scale_bar_length,
)
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.style import INK, figure_style, new_figure

_PANEL_WIDTH = 1.75  # inches
_LIMITS = (-1.5, 3.0)  # standard deviations: energies are skewed to the right
_COLORMAP = "viridis"
_SHOWN_PLANES = PLANES[:2]


def expression_figure(
    result: DatasetResult, rows: Sequence[int], notes: Sequence[str] | None = None
) -> Figure:
    """Draw the expression of some genes on a sagittal and a coronal slice.

    Parameters
    ----------
    result : DatasetResult
        Of an atlas age, with its normalised file.
    rows : sequence of int
        Positions in ``result.genes``; a column of the figure each.
    notes : sequence of str, optional
        A second line of each column's title.

    Returns
    -------
    figure : Figure
    """
    symbols = [str(result.genes["symbol"].iloc[row]) for row in rows]
    places = [_place(result, symbol) for symbol in symbols]
    order = np.argsort(places)
    columns = np.empty((result.n_samples, len(rows)))
    columns[:, order] = result.read_features(sorted(places))
    regions = result.obs["region"].astype(str).to_numpy(dtype=object)
    codes = np.unique(regions, return_inverse=True)[1]
    slices = [richest_slice(result.obs, result.spatial, codes, p) for p in _SHOWN_PLANES]
    widest = max(piece.size_mm[1] for piece in slices)
    heights = [piece.size_mm[0] for piece in slices]
    heights[-1] += 0.16 * widest
    with figure_style():
        figure = new_figure(
            _PANEL_WIDTH * len(rows) + 0.9, _PANEL_WIDTH * sum(heights) / widest + 0.65
        )
        figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.01, hspace=0.01)
        grid = figure.subplots(len(slices), len(rows), squeeze=False, height_ratios=heights)
        for axes_row, piece, height in zip(grid, slices, heights, strict=True):
            for axes, values in zip(axes_row, columns.T, strict=True):
                image = _draw_gene(axes, piece, values, codes)
                beside = (widest - piece.size_mm[1]) / 2
                axes.set(xlim=(-beside, widest - beside), ylim=(height, 0))
                axes.axis("off")
        for number, (axes, symbol) in enumerate(zip(grid[0], symbols, strict=True)):
            axes.set_title(symbol + (f"\n{notes[number]}" if notes else ""), fontsize=8.5)
        _draw_scale_bar(grid[-1, 0], slices[-1])
        bar = figure.colorbar(image, ax=grid, shrink=0.6, aspect=16, extend="both")
        bar.set_label("expression (z-score)")
        bar.outline.set_linewidth(0.4)
    return figure


def _place(result: DatasetResult, symbol: str) -> int:
    return int(np.flatnonzero(result.var.index.astype(str) == symbol)[0])


def _draw_gene(axes: Axes, piece: Slice, values: np.ndarray, regions: np.ndarray):
    picture = np.full(piece.shape, np.nan)
    picture[piece.rows, piece.columns] = values[piece.voxels]
    height, width = piece.size_mm
    colors = mpl.colormaps[_COLORMAP].with_extremes(bad=(0, 0, 0, 0))
    image = axes.imshow(
        np.ma.masked_invalid(picture),
        extent=(0, width, height, 0),
        interpolation="nearest",
        aspect="equal",
        cmap=colors,
        norm=Normalize(*_LIMITS),
    )
    lines = boundary_lines(piece.image(regions), piece.spacing)
    axes.add_patch(
        PathPatch(
            Path(lines.reshape(-1, 2), [Path.MOVETO, Path.LINETO] * len(lines)),
            facecolor="none",
            edgecolor=INK,
            linewidth=0.35,
        )
    )
    return image


def _draw_scale_bar(axes: Axes, piece: Slice) -> None:
    left, right = axes.get_xlim()
    level = piece.size_mm[0] + 0.08 * (right - left)
    length = scale_bar_length(right - left)
    start = left + 0.04 * (right - left)
    axes.plot([start, start + length], [level, level], color=INK, lw=2.2, solid_capstyle="butt")
    axes.annotate(
        f"{length:g} mm",
        (start + length, level),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        fontsize=7.5,
    )
