"""Slices of the brain with the expression of single genes."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from sparsekm.figures.style import figure_style
from sparsekm.reporting.brain_slices import PLANES, Slice, richest_slice
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.slice_panels import lay_out_panels, show_slice

_PANEL_WIDTH = 1.75  # inches
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
        panels = lay_out_panels(slices, len(rows), _PANEL_WIDTH, (1.1, 0.45))
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
