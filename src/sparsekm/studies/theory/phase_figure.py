"""Theorems 4 and 5 drawn: how often the support is recovered, over two planes of settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from sparsekm.figures.palette import BLUE, INK, VERMILION
from sparsekm.figures.style import figure_style, new_figure
from sparsekm.studies.theory.level_model import three_levels
from sparsekm.studies.theory.plane import SYMBOLS, Plane
from sparsekm.studies.theory.support_recovery import oracle_recovery_probability, samples_for_growth

_SHADES = LinearSegmentedColormap.from_list("recovery", ["#FFFFFF", "#9CC8E5", BLUE, "#00304F"])
FIT_TITLES = {
    "oracle": "true labels, top $p^*$",
    "kmeans": "k-means, top $p^*$ (Thm 4)",
    "alternate": "Algorithm 1 (Thm 5)",
    "global": "global search (Thm 5)",
}
_NOUNS = {
    "n_samples": "samples",
    "n_features": "features",
    "n_relevant": "relevant features",
    "mu": "level",
}


def recovery_figure(tables: Sequence[tuple[Plane, pd.DataFrame]]) -> Figure:
    """Draw a row of phase diagrams per plane, a column per fit, all on one scale.

    The tables are those of `simulate_recovery`.
    """
    with figure_style():
        figure = new_figure(8.4, 2.5 * len(tables) + 0.3, has_formulas=True)
        grid = figure.subplots(len(tables), len(FIT_TITLES), squeeze=False, sharey="row")
        for row, (plane, table) in zip(grid, tables, strict=True):
            for axes, (fit, title) in zip(row, FIT_TITLES.items(), strict=True):
                shares = table[table["fit"] == fit].pivot(
                    index=plane.y, columns=plane.x, values="recovered"
                )
                mesh = _draw_cells(axes, shares.columns, shares.index, shares)
                _draw_oracle(axes, plane)
                _draw_conditions(axes, plane)
                axes.set_title(title, loc="left", fontsize=8.5)
                axes.set_xlabel(_axis_label(plane.x))
            row[0].set_ylabel(f"{_axis_label(plane.y)}\n({plane.title()})")
        bar = figure.colorbar(mesh, ax=grid, shrink=0.6, aspect=25, pad=0.01)
        bar.set_label("share of data sets recovered")
    return figure


def condition_figure(planes: Sequence[Plane]) -> Figure:
    """Draw the oracle's exact probability wide enough to hold the theorem's conditions."""
    with figure_style():
        figure = new_figure(7.4, 3.0, has_formulas=True)
        row = figure.subplots(1, len(planes), squeeze=False)[0]
        for axes, plane in zip(row, planes, strict=True):
            chances = [[_oracle(plane, x, y) for x in plane.xs] for y in plane.ys]
            mesh = _draw_cells(axes, plane.xs, plane.ys, chances, ticks_at_cells=False)
            _draw_conditions(axes, plane, label=True)
            axes.set_title(plane.title(), loc="left", fontsize=8.5)
            axes.set(xlabel=_axis_label(plane.x), ylabel=_axis_label(plane.y))
            if axes.lines:
                axes.legend(
                    loc="lower left" if plane.x == "n_samples" else "lower right",
                    frameon=True,
                    framealpha=1,
                    edgecolor="none",
                )
        bar = figure.colorbar(mesh, ax=row, shrink=0.9, aspect=25, pad=0.01)
        bar.set_label("probability, true labels known")
    return figure


def _draw_cells(axes: Axes, xs, ys, values, *, ticks_at_cells: bool = True):
    """Draw a value per cell on logarithmic axes."""
    mesh = axes.pcolormesh(_edges(xs), _edges(ys), values, cmap=_SHADES, vmin=0, vmax=1)
    mesh.set_rasterized(np.size(values) > 400)
    axes.set(xscale="log", yscale="log")
    for axis, places in ((axes.xaxis, xs), (axes.yaxis, ys)):
        places = np.asarray(places, dtype=float)
        axis.set_major_locator(
            FixedLocator(places) if ticks_at_cells else LogLocator(subs=(1.0, 3.0))
        )
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.tick_params(axis="x", labelrotation=0, labelsize=6.5)
    axes.tick_params(axis="y", labelsize=6.5)
    axes.set(xlim=_edges(xs)[[0, -1]], ylim=_edges(ys)[[0, -1]])
    return mesh


def _edges(places) -> np.ndarray:
    """Give the borders of cells around places, half-way in logarithms."""
    logs = np.log(np.asarray(places, dtype=float))
    if len(logs) == 1:
        return np.exp(logs[0] + np.array([-0.5, 0.5]))
    middles = (logs[1:] + logs[:-1]) / 2
    return np.exp(
        np.concatenate([[2 * logs[0] - middles[0]], middles, [2 * logs[-1] - middles[-1]]])
    )


def _draw_oracle(axes: Axes, plane: Plane) -> None:
    """Draw the contour at which the oracle's exact probability is one half."""
    if len(plane.xs) == 1 or len(plane.ys) == 1:
        return
    xs = np.geomspace(plane.xs[0], plane.xs[-1], 14)
    ys = np.geomspace(plane.ys[0], plane.ys[-1], 14)
    chances = [[_oracle(plane, x, y) for x in xs] for y in ys]
    axes.contour(xs, ys, chances, levels=[0.5], colors=INK, linewidths=0.9)


def _oracle(plane: Plane, x: float, y: float) -> float:
    setting = plane.setting(x, y)
    return oracle_recovery_probability(
        three_levels(setting["mu"]),
        setting["n_samples"],
        setting["n_features"],
        setting["n_relevant"],
    )


def _draw_conditions(axes: Axes, plane: Plane, *, label: bool = False) -> None:
    """Draw where each condition of Theorem 5 begins to hold, as far as it lies in the panel."""
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    for name, style, xs, ys in _condition_lines(plane, (left, right), (low, high)):
        inside = (xs >= left) & (xs <= right) & (ys >= low) & (ys <= high)
        if inside.sum() > 1:
            axes.plot(
                xs[inside],
                ys[inside],
                color=VERMILION,
                linestyle=style,
                linewidth=1.2,
                label=name if label else None,
            )
    axes.set(xlim=(left, right), ylim=(low, high))


def _condition_lines(plane: Plane, x_limits, y_limits):
    """Yield the name, line style and points of the conditions that bound a plane."""
    ys = np.geomspace(*y_limits, 400)
    if (plane.x, plane.y) == ("n_samples", "n_features"):
        model = three_levels(plane.fixed["mu"])
        yield "$p = p^* n$", "--", ys / plane.fixed["n_relevant"], ys
        yield r"$p = \exp(\rho n)$", "-", np.array([samples_for_growth(model, y) for y in ys]), ys
    if (plane.x, plane.y) == ("n_relevant", "mu"):
        yield r"$p^* = \kappa$", "-", np.array([three_levels(y).kappa for y in ys]), ys
        needed = np.sqrt(
            np.log(plane.fixed["n_features"]) / plane.fixed["n_samples"] / three_levels(1.0).rho
        )
        xs = np.geomspace(*x_limits, 400)
        yield r"$p = \exp(\rho n)$", ":", xs, np.full(len(xs), needed)


def _axis_label(name: str) -> str:
    return f"{_NOUNS[name]} ${SYMBOLS[name]}$"
