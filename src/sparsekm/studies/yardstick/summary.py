"""All methods on all labelled sets: means, wins, published error rates, and the figure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsekm.figures.palette import GREY, MARKERS
from sparsekm.figures.style import figure_style, new_figure
from sparsekm.pipeline.registry import MethodLook, method_look
from sparsekm.studies.yardstick import RIVALS

_KEY = ["data_set", "method"]
_SHAPE = ["n_samples", "n_features", "n_clusters"]
COLUMNS = ("source", *_KEY, *_SHAPE, "error", "status", "recomputed")
STATUSES = ("recomputed", "printed", "unchecked")
"""Recomputed by this project; verified in the authors' publication; or neither."""
_SIZE = ["n_available", "n_features", "n_clusters"]


def read_published(file: str | Path) -> pd.DataFrame:
    """Read the published error rates, ``data/paper/real_set_errors.csv``.

    The columns are `COLUMNS`; recomputed is NaN where the method was not run again.
    """
    return pd.read_csv(file, usecols=COLUMNS)[list(COLUMNS)]


def add_published(summary: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Add the published error of the same method on the same data set, and its status, if known.

    Data sets match if the name begins with the published name, ignoring case, and the numbers of
    samples, features and classes are equal. The columns are published_error and published_status.
    """
    known = {
        (line.method, line.n_samples, line.n_features, line.n_clusters): line
        for line in published.itertuples()
    }

    def find(line):
        found = known.get((line.method, *(getattr(line, name) for name in _SIZE)))
        is_same = found and line.data_set.lower().startswith(found.data_set.lower())
        return (found.error, found.status) if is_same else (float("nan"), "")

    found = [find(line) for line in summary.itertuples()]
    return summary.assign(
        published_error=[error for error, _ in found],
        published_status=[status for _, status in found],
    )


_MEASURES = ["error", "cer", "ari", "n_kept", "reproducible", "right"]
_SIZES = ["n_available", "n_samples", "n_features", "n_clusters"]
# The method with which all others are compared.
BASELINE = "kmeans"
# A set is solved by a method whose error is at most this.
SOLVED = 0.25


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Average the results of `run_seeds` over seeds, for every data set and method.

    The columns are data_set, method, seeds; n_available, n_samples, n_features and n_clusters (the
    maximum over seeds: they differ only if samples are drawn); mean and standard deviation
    (ddof = 1, NaN for a single seed) of error, cer, ari, n_kept, reproducible and right; and the
    median of seconds, since the first fit of a job also loads or compiles code.
    """
    groups = table.groupby(["data_set", "method"], sort=False)
    summary = groups[_SIZES].max()
    summary.insert(0, "seeds", groups.size())
    for name in _MEASURES:
        summary[name] = groups[name].mean()
        summary[f"{name}_sd"] = groups[name].std()
    summary["seconds"] = groups["seconds"].median()
    return summary.reset_index()


def count_wins(summary: pd.DataFrame) -> pd.DataFrame:
    """Average every method over the data sets, and count its wins and losses against k-means.

    The columns are method, sets; means of error, cer, ari, and share (of features kept); better,
    same and worse: on how many data sets the mean error is lower than that of k-means by at least
    half a sample, within half a sample, or higher. Without k-means these are empty. On sets with an
    error of at most .25, right is the mean share of reproducible samples in their class; where the
    best plain method (k-means or one of `RIVALS`) has such an error, regret is the mean excess.
    """
    baseline = summary[summary["method"] == BASELINE].set_index("data_set")["error"]
    plain = summary[summary["method"].isin([BASELINE, *RIVALS])]
    best = plain.groupby("data_set")["error"].min()
    half = 0.5 / summary["n_samples"]
    # The tolerance below allows for rounding.
    margin = summary["error"] - summary["data_set"].map(baseline)
    judged = summary.assign(
        share=summary["n_kept"] / summary["n_features"],
        right=summary["right"].where(summary["error"] <= SOLVED),
        regret=summary["error"] - summary["data_set"].map(best[best <= SOLVED]),
        better=margin <= -half + 1e-12,
        same=margin.abs() < half - 1e-12,
        worse=margin >= half - 1e-12,
    )
    groups = judged.groupby("method", sort=False)
    overview = groups[["error", "cer", "ari", "share", "regret", "right"]].mean()
    overview.insert(0, "sets", groups.size())
    counts = groups[["better", "same", "worse"]].sum()
    if baseline.empty:
        counts = counts.astype(object).assign(better=None, same=None, worse=None)
    return overview.join(counts).reset_index()


_BAND = "#F3F3F3"
# As grey as k-means, whose marker is left out.
_RIVAL_LOOKS = {
    name: MethodLook(RIVALS[name], GREY, marker, "-")
    for name, marker in zip(RIVALS, MARKERS[:2] + MARKERS[3:6], strict=True)
}


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
            Line2D([], [], label=RIVALS.get(method) or method_look(method).title, **_marks(method))
            for method in methods
        ]
        if summary["published_error"].notna().any():
            handles.append(Line2D([], [], label="ring: published", **_marks("", is_ring=True)))
        figure.legend(handles=handles, loc="outside upper center", ncols=min(len(handles), 4))
    return figure


def _marks(method: str, *, is_ring: bool = False) -> dict:
    look = _RIVAL_LOOKS.get(method) or method_look(method)
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
    color = _marks(method)["color"]
    axes.hlines(places, groups["min"], groups["max"], color=color, linewidth=1.1, zorder=2.8)
    axes.plot(groups["mean"], places, **_marks(method))


def _label(left: Axes, right: Axes, names: list[str], summary: pd.DataFrame) -> None:
    sizes = summary.groupby("data_set")[_SHAPE].first()
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
