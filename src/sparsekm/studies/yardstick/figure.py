"""The figure of the yardstick: error and share of kept features by method and data set."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsekm.figures.palette import GREY, method_look
from sparsekm.figures.style import figure_style, new_figure

_BAND = "#F3F3F3"


def yardstick_figure(table: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Draw a band per data set with errors and shares of kept features, and a mark per method.

    Lines extend from the lowest to the highest value over seeds, marks are means, and rings are the
    published errors added by `add_published`.
    """
    names = list(dict.fromkeys(summary["data_set"]))
    methods = list(dict.fromkeys(summary["method"]))
    table = table.assign(share=table["n_kept"] / table["n_features"])
    heights = np.linspace(-0.5, 0.5, len(methods) + 2)[1:-1]
    with figure_style():
        figure = new_figure(7.2, (0.1 * len(methods) + 0.12) * len(names) + 1.1)
        left, right = figure.subplots(1, 2, sharey=True, width_ratios=[3, 2])
        for method, height in zip(methods, heights, strict=True):
            rows = table[table["method"] == method]
            _draw_method(left, rows, "error", method, names, height)
            _draw_method(right, rows, "share", method, names, height)
            own = summary[summary["method"] == method]
            places = [names.index(name) + height for name in own["data_set"]]
            left.plot(own["published_error"], places, **_marks(method, is_ring=True))
        _label(left, right, names, summary)
        handles = [
            Line2D([], [], label=method_look(method).title, **_marks(method)) for method in methods
        ]
        if summary["published_error"].notna().any():
            handles.append(Line2D([], [], label="ring: published", **_marks("", is_ring=True)))
        figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4))
    return figure


def _marks(method: str, *, is_ring: bool = False) -> dict:
    look = method_look(method)
    return {
        "color": look.color,
        # A published value is a ring, which remains visible around an equal value of ours.
        "marker": "o" if is_ring else look.marker,
        "linestyle": "",
        "markersize": 8.5 if is_ring else 4.8,
        "markerfacecolor": "white" if is_ring else look.color,
        "markeredgewidth": 0.9,
        "zorder": 2.5 if is_ring else 3,
        "clip_on": False,
    }


def _draw_method(
    axes: Axes, rows: pd.DataFrame, column: str, method: str, names: list[str], height: float
) -> None:
    """Draw the mean of a method on every data set, and a line over all seeds."""
    groups = rows.groupby("data_set")[column].agg(["min", "mean", "max"])
    places = np.array([names.index(name) for name in groups.index]) + height
    color = method_look(method).color
    axes.hlines(places, groups["min"], groups["max"], color=color, linewidth=1.1, zorder=2.8)
    axes.plot(groups["mean"], places, **_marks(method))


def _label(left: Axes, right: Axes, names: list[str], summary: pd.DataFrame) -> None:
    sizes = summary.groupby("data_set")[["n_samples", "n_features", "n_clusters"]].first()
    labels = [
        f"{name}\n{sizes.n_samples[name]:,} × {sizes.n_features[name]:,}, "
        f"K = {sizes.n_clusters[name]}"
        for name in names
    ]
    left.set_yticks(np.arange(len(names)), labels)
    left.set_ylim(len(names) - 0.5, -0.5)
    left.set(xlabel="share of samples outside their class", xlim=(0, None))
    right.set(xlabel="share of the features kept", xlim=(0, 1))
    for axes in (left, right):
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines["left"].set_color(GREY)
        for place in range(0, len(names), 2):
            axes.axhspan(place - 0.5, place + 0.5, color=_BAND, zorder=0, linewidth=0)
