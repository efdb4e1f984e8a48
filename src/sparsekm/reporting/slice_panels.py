"""Panels for slices of the brain at a common scale, with borders, row names and a scale bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from sparsekm.figures.palette import INK
from sparsekm.figures.style import new_figure, write_near
from sparsekm.reporting.brain_slices import Slice, boundary_lines, scale_bar_length

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
