"""Figures of the paper's experiments: gap curve, CER of every method, weight of every feature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from sparsekm.figures import style
from sparsekm.pipeline.registry import METHODS, Method, method_look
from sparsekm.studies import METHOD_ROWS, PAPER_SETTINGS

_LOOKS = {
    # The workflow's own l0; the search that is not the workflow's; and the floor.
    "l0_global": METHODS["l0"],
    "l0_alternate": Method("", style.VERMILION, "X", "--"),
    "l0_printed": Method("", style.PLUM, "d", "-."),
    "relevant": Method("", style.GREEN, "P", ":"),
}
_NAMES = {"relevant": "relevant features\nonly (floor)"}


def row_look(row: str) -> Method:
    """Give a row's colour, marker and line style; variants are grey."""
    return _LOOKS.get(row) or method_look(row)


def row_name(row: str) -> str:
    """Give a row's name on an axis, in two lines where it is long."""
    return _NAMES.get(row, METHOD_ROWS[row].title.replace(", ", ",\n"))


def overview_figure(
    repetitions: pd.DataFrame, gaps: Sequence[pd.DataFrame], weights: Sequence[pd.DataFrame]
) -> Figure:
    """Draw Experiment 1: gap curves, CER, and the average weight of every feature."""
    n_relevant = int(weights[0]["relevant"].sum()) if weights else None
    n_weights = max(len(weights), 1)
    with style.figure_style():
        figure = style.new_figure(10.4, 3.3)
        # Two tall panels and, to their right, one above the other, one per table of weights.
        grid = figure.add_gridspec(n_weights, 3, width_ratios=[1.05, 1, 1.15])
        left, middle = (figure.add_subplot(grid[:, column]) for column in (0, 1))
        right = grid[:, 2].subgridspec(n_weights, 1).subplots(sharex=True, squeeze=False)[:, 0]
        _draw_gaps(left, gaps, n_relevant)
        _draw_rates(middle, repetitions, *_rows_and_highest(repetitions))
        middle.set_title("(b) errors of the partition", loc="left")
        for axes, table in zip(right, weights, strict=False):
            _draw_weights(axes, table, n_relevant)
        right[0].set_title("(c) average weight of each feature", loc="left")
        right[-1].set_xlabel("feature")
    return figure


def rate_figure(repetitions: pd.DataFrame, n_columns: int) -> Figure:
    """Draw the CER of every method in every setting of an experiment, `n_columns` side by side."""
    cells = set(zip(repetitions["experiment"], repetitions["setting"], strict=True))
    settings = [s for s in PAPER_SETTINGS if (s.experiment, s.name) in cells]
    n_columns = min(n_columns, len(settings))
    n_lines = -(-len(settings) // n_columns)
    rows, highest = _rows_and_highest(repetitions)
    with style.figure_style():
        figure = style.new_figure(2.7 * n_columns + 1.3, (0.34 * len(rows) + 0.75) * n_lines)
        grid = figure.subplots(n_lines, n_columns, squeeze=False, sharex=True, sharey=True)
        for axes in grid.flat[len(settings) :]:
            axes.set_visible(False)
        for axes, setting in zip(grid.flat, settings, strict=False):
            own = repetitions[repetitions["setting"] == setting.name]
            _draw_rates(axes, own, rows, highest)
            axes.set_title(setting.title, loc="left")
        for axes in grid[:-1].flat:
            axes.set_xlabel("")
    return figure


def _rows_and_highest(repetitions: pd.DataFrame) -> tuple[list[str], float]:
    """List the main rows that ran, and give the end of their axis."""
    present = set(repetitions["method"])
    rows = [name for name, row in METHOD_ROWS.items() if name in present and not row.is_variant]
    return rows, max(float(repetitions.loc[repetitions["method"].isin(rows), "cer"].max()), 0.01)


def _draw_rates(axes: Axes, repetitions: pd.DataFrame, rows: Sequence[str], highest: float) -> None:
    for place, row in enumerate(rows):
        rates, look = repetitions.loc[repetitions["method"] == row, "cer"].to_numpy(), row_look(row)
        line = {"color": look.color, "linewidth": 0.8}
        pale = style.shift_lightness(look.color, 0.65)
        axes.boxplot(
            [rates],
            positions=[place],
            orientation="horizontal",
            widths=0.62,
            showfliers=False,
            patch_artist=True,
            boxprops={"edgecolor": look.color, "facecolor": pale, "linewidth": 0.8},
            medianprops={"color": style.INK, "linewidth": 1.4},
            whiskerprops=line,
            capprops=line,
        )
        # Spread by a fixed pattern, so that equal rates stay apart and a figure has the same bytes.
        offsets = 0.22 * (np.arange(rates.size) * 0.618034 % 1 * 2 - 1)
        points = {"color": look.color, "markersize": 2.8, "markeredgewidth": 0, "alpha": 0.8}
        axes.plot(rates, place + offsets, look.marker, zorder=3, **points)
    axes.set_yticks(range(len(rows)), [row_name(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=style.DROPPED, linewidth=0.4, alpha=0.6)
    axes.set_axisbelow(True)
    axes.set(xlabel="CER", xlim=(-0.03 * highest, 1.05 * highest))
    axes.xaxis.set_major_locator(MaxNLocator(5))


def shared_sparsities(table: pd.DataFrame) -> pd.DataFrame:
    """Keep, of the gap curves of several repetitions, the sparsities that all of them tried."""
    tried = table.groupby("sparsity")["replicate"].transform("nunique")
    return table[tried == table["replicate"].nunique()]


def _draw_gaps(axes: Axes, gaps: Sequence[pd.DataFrame], n_relevant: int | None) -> None:
    """Draw the mean curve of each row, with the mean of its standard errors as band."""
    for table in gaps:
        row = table["method"].iloc[0]
        look = row_look(row)
        curve = shared_sparsities(table).groupby("sparsity")[["gap", "se"]].mean().reset_index()
        # All are of one method: what sets them apart stands after its name.
        line = {"label": METHOD_ROWS[row].title.partition(", ")[2], "color": look.color}
        line |= {"marker": look.marker, "linestyle": look.linestyle}
        style.draw_gap(axes, curve, "sparsity", **line)
    axes.set_title("(a) gap statistic", loc="left")
    axes.set(xscale="log", xlabel="features to keep, s (log scale)", ylabel="gap")
    if gaps:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.legend(loc="lower left", handlelength=2.4)
    if n_relevant is not None:
        axes.axvline(n_relevant, **style.CHOICE_LINE)
        near = {"xycoords": ("data", "axes fraction"), "size": 7.5}
        style.write_near(axes, f"{n_relevant:,} relevant", (n_relevant, 0.97), (4, 0), **near)


def _draw_weights(axes: Axes, table: pd.DataFrame, n_relevant: int) -> None:
    row = table["method"].iloc[0]
    axes.axvspan(1, n_relevant, color=style.GREEN, alpha=0.14, linewidth=0)
    look = {"color": row_look(row).color, "markersize": 1.8, "markeredgewidth": 0}
    axes.plot(table["feature"], table["mean_weight"], "o", rasterized=True, **look)
    style.write_near(axes, "relevant", (n_relevant, 0.92), (4, 0))
    axes.set(ylabel="weight", ylim=(-0.06, 1.06), yticks=[0, 0.5, 1])
    axes.text(0.98, 0.5, row_name(row), transform=axes.transAxes, ha="right", va="center")
