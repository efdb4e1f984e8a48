"""How the numbers of clusters and of features were chosen: groups, consensus, gaps and scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from sparsekm.annotation.gene_table import rank_scores
from sparsekm.figures.style import (
    BLUE,
    DROPPED,
    INK,
    categorical_colors,
    figure_style,
    new_figure,
    write_near,
)
from sparsekm.pipeline.registry import MethodLook, get_method, method_look
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.page_tables import nouns
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.tuning.consensus import coassociation

_MAX_TICKS = 10
PANEL_WIDTH = 4.4
CHOICE_LINE = {"color": INK, "linewidth": 0.8, "linestyle": (0, (4, 2))}


def curve_marks(look: MethodLook) -> dict[str, Any]:
    """Return the style of a curve: hollow markers in the method's colour."""
    marks = {"color": look.color, "marker": look.marker, "linestyle": look.linestyle}
    return {**marks, "markersize": 4, "markerfacecolor": "white"}


def _choice_marks(look: MethodLook) -> dict[str, Any]:
    marks = {"color": look.color, "marker": look.marker, "markeredgecolor": INK}
    return {**marks, "markersize": 8, "linestyle": "none", "zorder": 3}


def gap_figure(result: DatasetResult) -> Figure | None:
    """Draw the gap curve of every tuned method, if any."""
    feature_noun = nouns(result).features
    tuned = [method for method in result.methods.values() if method.gap is not None]
    if not tuned:
        return None
    with figure_style():
        figure = new_figure(PANEL_WIDTH * max(len(tuned), 1.25), 2.9)
        grid = figure.subplots(1, len(tuned), squeeze=False)[0]
        for axes, method in zip(grid, tuned, strict=True):
            _draw_gap(axes, method, feature_noun)
            axis = get_method(method.name).axis.format(features=feature_noun)
            axes.set_xlabel(f"{axis} (log scale)")
        grid[0].set_ylabel("gap: log objective\nabove reference")
    return figure


def _draw_gap(axes: Axes, method: MethodResult, feature_noun: str) -> None:
    gap, look = method.gap, method_look(method.name)
    sparsity = gap["sparsity"].to_numpy()
    axes.set_xscale("log")
    axes.fill_between(
        sparsity,
        gap["gap"] - gap["se"],
        gap["gap"] + gap["se"],
        color=look.color,
        alpha=0.22,
        linewidth=0,
        label="± 1 standard error",
    )
    axes.plot(sparsity, gap["gap"], **curve_marks(look))
    chosen = gap[gap["chosen"].astype(bool)].iloc[0]
    axes.axvline(chosen["sparsity"], **CHOICE_LINE)
    kept = f"chosen: {int(chosen['n_selected']):,} {feature_noun} kept"
    axes.plot(chosen["sparsity"], chosen["gap"], **_choice_marks(look), label=kept)
    largest = gap.loc[gap["gap"].idxmax()]
    if largest["sparsity"] != chosen["sparsity"]:
        place = largest["sparsity"], largest["gap"]
        axes.plot(*place, "x", markersize=8, color=INK, label="largest gap", zorder=3)
    axes.set_title(method.title, loc="left")
    axes.margins(y=0.16)
    look = {"handlelength": 1.6, "framealpha": 0.85, "edgecolor": "none"}
    axes.legend(loc="best", frameon=True, **look).set_zorder(2.5)
    _label_sparsities(axes, gap, feature_noun)


def _label_sparsities(axes: Axes, gap: pd.DataFrame, feature_noun: str) -> None:
    """Put ticks at sparsities, and above how many features each keeps: an l1 bound does not tell.

    There are few enough that labels do not overlap, and the chosen one is among them.
    """
    chosen = int(np.flatnonzero(gap["chosen"].astype(bool))[0])
    step = -(-len(gap) // _MAX_TICKS)
    shown = gap.iloc[chosen % step :: step]
    top = axes.secondary_xaxis("top")
    for axis in (axes.xaxis, top.xaxis):
        axis.set_minor_locator(NullLocator())
    axes.set_xticks(shown["sparsity"], [_short_number(value) for value in shown["sparsity"]])
    top.set_xticks(shown["sparsity"], [f"{int(kept):,}" for kept in shown["n_selected"]])
    top.set_xlabel(f"{feature_noun} kept", labelpad=3)
    top.spines["top"].set_visible(False)
    top.tick_params(length=2)


def _short_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:.3g}"


_FOOT = 0.05  # of K - 1
_MANY_FEATURES = 400  # more points than this are drawn as an image: the file stays small


def score_figure(result: DatasetResult) -> Figure:
    """Draw the sorted feature scores of the answer on logarithmic axes.

    Kept features are coloured, dropped ones grey; a line marks the cut-off.
    """
    with figure_style():
        figure = new_figure(5.6, 3.3)
        axes = figure.subplots()
        _draw_scores(axes, result.primary)
        feature = nouns(result).features.removesuffix("s")
        axes.set_xlabel(f"rank of the {feature} (log scale)")
        axes.set_ylabel("score aⱼ: between-cluster\nsum of squares (log scale)")
    return figure


def _draw_scores(axes: Axes, method: MethodResult) -> None:
    look = method_look(method.name)
    ranks, kept = rank_scores(method.scores), method.weights != 0
    # The expected score of a noise feature under any fixed partition. Scores far below it, and 0,
    # which has no logarithm, are drawn at the foot.
    noise = max(np.unique(method.labels).size - 1, 1)
    scores = np.maximum(method.scores, _FOOT * noise)
    top = 1.8 * method.scores.max()
    axes.set(xscale="log", yscale="log", ylim=(0.7 * _FOOT * noise, top))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    for name, those, marker, size, color in (
        ("dropped", ~kept, "o", 2.4, DROPPED),
        ("kept", kept, look.marker, 3.4, look.color),
    ):
        axes.plot(
            ranks[those],
            scores[those],
            linestyle="none",
            marker=marker,
            markersize=size,
            color=color,
            markeredgewidth=0,
            rasterized=ranks.size > _MANY_FEATURES,
            label=f"{name}: {np.count_nonzero(those):,}",
        )
    if not kept.all():
        cut = ranks[kept].max() + 0.5
        axes.axvline(cut, **CHOICE_LINE)
    axes.axhline(noise, color=INK, linewidth=0.8, linestyle=":")
    near = {"xycoords": ("axes fraction", "data"), "va": "bottom"}
    write_near(axes, "K - 1: expected for noise", (0, noise), (3, 2), **near)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="lower left", handletextpad=0.2, markerscale=1.6)
    axes.set_title(method.title, loc="left")


_MOST_CELLS = 300  # rows of the consensus matrix; of more samples these are means


def count_figure(result: DatasetResult) -> Figure | None:
    """Draw how many groups stand apart over the number of clusters tried, and which join."""
    counts = result.counts
    if counts is None:
        return None
    tried, groups = counts["n_clusters"].to_numpy(), counts["n_groups"].to_numpy()
    chosen = int(np.flatnonzero(counts["chosen"].astype(bool))[0])
    with figure_style():
        figure = new_figure(7.2, max(2.2, 0.6 + 0.22 * len(counts)))
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.4])
        left.plot(tried, tried, color=INK, linewidth=0.8, linestyle=":")
        left.plot(tried, groups, color=BLUE, marker="o", markersize=4)
        left.plot(tried[chosen], groups[chosen], "o", color=BLUE, markersize=9, markeredgecolor=INK)
        left.set(xlabel="clusters sought, K", ylabel="groups that stand apart")
        left.set(xticks=tried, yticks=range(1, int(tried.max()) + 1))
        for place, row in enumerate(counts.itertuples()):
            members = [int(group) for group in str(row.groups).split("-")]
            order = np.argsort(members, kind="stable")
            colors = categorical_colors(max(members) + 1)
            right.scatter(
                range(len(members)),
                [place] * len(members),
                color=[colors[members[cluster]] for cluster in order],
                marker="s",
                s=60,
            )
            for at, cluster in enumerate(order):
                right.annotate(
                    str(cluster), (at, place), ha="center", va="center", fontsize=6, color="white"
                )
        names = [f"K = {row.n_clusters} ({row.reproducibility:.2f})" for row in counts.itertuples()]
        right.set_yticks(range(len(counts)), names)
        right.get_yticklabels()[chosen].set_fontweight("bold")
        right.set(xticks=[], ylim=(len(counts) - 0.4, -0.6))
        right.set_xlabel("clusters, in the colour of their group")
        right.spines[:].set_visible(False)
        right.tick_params(length=0)
    return figure


def consensus_figure(result: DatasetResult) -> Figure | None:
    """Draw the consensus matrix, samples ordered by the tree of their clusters."""
    method = result.primary
    if method.partitions is None or len(np.unique(method.labels)) < 2:
        return None
    together = coassociation(method.partitions)
    numbers = np.unique(method.labels)
    own = [np.flatnonzero(method.labels == number) for number in numbers]
    # The most typical of each cluster first.
    own = [
        members[np.argsort(-together[np.ix_(members, members)].mean(axis=0), kind="stable")]
        for members in own
    ]
    # Two clusters are as near as their samples are often together.
    between = np.array([[together[np.ix_(a, b)].mean() for b in own] for a in own])
    distance = squareform(1 - (between + between.T) / 2, checks=False)
    with figure_style():
        figure = new_figure(4.6, 5.2)
        above, bar, below = figure.subplots(3, 1, height_ratios=[0.9, 0.12, 4])
        tree = linkage(np.clip(distance, 0, None), "average")
        shown = dendrogram(tree, ax=above, color_threshold=0, above_threshold_color=INK)
        above.set_xticks(
            above.get_xticks(), [str(numbers[leaf]) for leaf in shown["leaves"]], fontsize=7.5
        )
        above.set(ylim=(0, 1.02), ylabel="apart", yticks=[0, 1])
        share = _MOST_CELLS / max(len(together), _MOST_CELLS)
        bins = [
            part
            for leaf in shown["leaves"]
            for part in np.array_split(own[leaf], max(1, round(share * len(own[leaf]))))
        ]
        cells = np.array([together[those].mean(axis=0) for those in bins])
        cells = np.array([cells[:, those].mean(axis=1) for those in bins]).T
        colors = cluster_colors(result)
        places = np.cumsum([0, *(len(those) for those in bins)])
        for those, start in zip(bins, places[:-1], strict=True):
            color = colors[int(method.labels[those[0]])]
            bar.barh(0, len(those), left=start, color=color, linewidth=0)
        bar.set(xlim=(0, places[-1]), xticks=[], yticks=[])
        bar.spines[:].set_visible(False)
        image = below.imshow(cells, cmap="Blues", vmin=0, vmax=1, interpolation="none")
        below.set(xticks=[], yticks=[], aspect="auto")
        figure.colorbar(image, ax=below, fraction=0.04, pad=0.02, label="share of fits together")
    return figure
