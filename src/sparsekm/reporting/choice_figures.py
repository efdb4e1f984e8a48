"""How the numbers of clusters and of features were chosen: groups, consensus, gaps and scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from sparsekm.annotation.gene_table import rank_scores
from sparsekm.figures import style
from sparsekm.pipeline.registry import get_method, method_look
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.tuning.fold_fits import coassociation

_MAX_TICKS = 10
_PANEL_WIDTH = 4.4


def gap_figure(result: DatasetResult) -> Figure | None:
    """Draw the gap curve of every tuned method, if any."""
    noun = result.words.features
    tuned = [method for method in result.methods.values() if method.gap is not None]
    if not tuned:
        return None
    with style.figure_style():
        figure = style.new_figure(_PANEL_WIDTH * max(len(tuned), 1.25), 2.9)
        grid = figure.subplots(1, len(tuned), squeeze=False)[0]
        for axes, method in zip(grid, tuned, strict=True):
            _draw_gap(axes, method, noun)
        grid[0].set_ylabel("gap: log objective\nabove reference")
    return figure


def _draw_gap(axes: Axes, method: MethodResult, noun: str) -> None:
    gap, look = method.gap, method_look(method.name)
    chosen, largest = int(gap["chosen"].to_numpy().argmax()), int(gap["gap"].to_numpy().argmax())
    kept = f"chosen: {gap['n_selected'].iloc[chosen]:,} {noun} kept"
    line = {"color": look.color, "marker": look.marker, "linestyle": look.linestyle}
    style.draw_gap(axes, gap, "sparsity", chosen=chosen, label=kept, **line)
    axes.axvline(gap["sparsity"].iloc[chosen], **style.CHOICE_LINE)
    if largest != chosen:
        place = gap["sparsity"].iloc[largest], gap["gap"].iloc[largest]
        axes.plot(*place, "x", markersize=8, color=style.INK, label="largest gap", zorder=3)
    axes.set_title(method.title, loc="left")
    axes.margins(y=0.16)
    frame = {"handlelength": 1.6, "framealpha": 0.85, "edgecolor": "none"}
    axes.legend(loc="best", frameon=True, **frame).set_zorder(2.5)
    axes.set_xlabel(f"{get_method(method.name).axis.format(features=noun)} (log scale)")
    # An l1 bound does not tell how many features it keeps: their number stands above. There are
    # few enough ticks that labels do not overlap, and the chosen one is among them.
    step = -(-len(gap) // _MAX_TICKS)
    shown = gap.iloc[chosen % step :: step]
    top = axes.secondary_xaxis("top")
    for axis in (axes.xaxis, top.xaxis):
        axis.set_minor_locator(NullLocator())
    axes.set_xticks(shown["sparsity"], [_short_number(value) for value in shown["sparsity"]])
    top.set_xticks(shown["sparsity"], [f"{int(kept):,}" for kept in shown["n_selected"]])
    top.set_xlabel(f"{noun} kept", labelpad=3)
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
    method, feature = result.primary, result.words.features.removesuffix("s")
    look = method_look(method.name)
    ranks, kept = rank_scores(method.scores), method.weights != 0
    # The expected score of a noise feature under any fixed partition. Scores far below it, and 0,
    # which has no logarithm, are drawn at the foot.
    noise = max(np.unique(method.labels).size - 1, 1)
    scores = np.maximum(method.scores, _FOOT * noise)
    with style.figure_style():
        figure = style.new_figure(5.6, 3.3)
        axes = figure.subplots()
        axes.set_xlabel(f"rank of the {feature} (log scale)")
        axes.set_ylabel("score aⱼ: between-cluster\nsum of squares (log scale)")
        axes.set(xscale="log", yscale="log", ylim=(0.7 * _FOOT * noise, 1.8 * method.scores.max()))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        for name, those, marker, size, color in (
            ("dropped", ~kept, "o", 2.4, style.DROPPED),
            ("kept", kept, look.marker, 3.4, look.color),
        ):
            axes.plot(
                ranks[those],
                scores[those],
                marker,
                markersize=size,
                color=color,
                markeredgewidth=0,
                rasterized=ranks.size > _MANY_FEATURES,
                label=f"{name}: {np.count_nonzero(those):,}",
            )
        if not kept.all():
            axes.axvline(ranks[kept].max() + 0.5, **style.CHOICE_LINE)
        axes.axhline(noise, color=style.INK, linewidth=0.8, linestyle=":")
        near = {"xycoords": ("axes fraction", "data"), "va": "bottom"}
        style.write_near(axes, "K - 1: expected for noise", (0, noise), (3, 2), **near)
        axes.legend(loc="lower left", handletextpad=0.2, markerscale=1.6, reverse=True)
        axes.set_title(method.title, loc="left")
    return figure


_MOST_CELLS = 300  # rows of the consensus matrix; of more samples these are means


def count_figure(result: DatasetResult) -> Figure | None:
    """Draw how many groups stand apart over the number of clusters tried, and which join."""
    counts = result.counts
    if counts is None:
        return None
    tried, groups = counts["n_clusters"].to_numpy(), counts["n_groups"].to_numpy()
    chosen = int(counts["chosen"].to_numpy().argmax())
    with style.figure_style():
        figure = style.new_figure(7.2, max(2.2, 0.6 + 0.22 * len(counts)))
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.4])
        left.plot(tried, tried, color=style.INK, linewidth=0.8, linestyle=":")
        left.plot(tried, groups, color=style.BLUE, marker="o", markersize=4)
        left.plot(
            tried[chosen],
            groups[chosen],
            "o",
            color=style.BLUE,
            markersize=9,
            markeredgecolor=style.INK,
        )
        left.set(xlabel="clusters sought, K", ylabel="groups that stand apart")
        left.set(xticks=tried, yticks=range(1, int(tried.max()) + 1))
        for place, joined in enumerate(counts["groups"]):
            members = np.array([int(group) for group in joined.split("-")])
            order = np.argsort(members, kind="stable")
            colors = np.array(style.categorical_colors(members.max() + 1))[members[order]]
            look = {"color": colors, "marker": "s", "s": 60}
            right.scatter(range(len(members)), [place] * len(members), **look)
            for at, cluster in enumerate(order):
                look = {"ha": "center", "va": "center", "fontsize": 6, "color": "white"}
                right.annotate(str(cluster), (at, place), **look)
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
    numbers = np.unique(method.labels)
    if method.partitions is None or len(numbers) < 2:
        return None
    together = pd.DataFrame(coassociation(method.partitions))
    # Two clusters are as near as their samples are often together.
    between = together.groupby(method.labels).mean().T.groupby(method.labels).mean().to_numpy()
    distance = squareform(1 - (between + between.T) / 2, checks=False)
    with style.figure_style():
        figure = style.new_figure(4.6, 5.2)
        above, bar, below = figure.subplots(3, 1, height_ratios=[0.9, 0.12, 4])
        tree = linkage(np.clip(distance, 0, None), "average")
        leaves = dendrogram(tree, ax=above, color_threshold=0, above_threshold_color=style.INK)[
            "leaves"
        ]
        above.set_xticks(above.get_xticks(), numbers[leaves].astype(str), fontsize=7.5)
        above.set(ylim=(0, 1.02), ylabel="apart", yticks=[0, 1])
        bins, colors, end = [], cluster_colors(result), 0
        share = _MOST_CELLS / max(len(together), _MOST_CELLS)
        for number in numbers[leaves]:
            own = np.flatnonzero(method.labels == number)
            # The most typical of each cluster first.
            typical = together.to_numpy()[np.ix_(own, own)].mean(axis=0)
            own = own[np.argsort(-typical, kind="stable")]
            bins += np.array_split(own, max(1, round(share * len(own))))
            bar.barh(0, len(own), left=end, color=colors[int(number)], linewidth=0)
            end += len(own)
        at = np.repeat(np.arange(len(bins)), [len(those) for those in bins])
        order = np.concatenate(bins)
        cells = together.iloc[order, order].groupby(at).mean().T.groupby(at).mean()
        bar.set(xlim=(0, end), xticks=[], yticks=[])
        bar.spines[:].set_visible(False)
        image = below.imshow(cells, cmap="Blues", vmin=0, vmax=1, interpolation="none")
        below.set(xticks=[], yticks=[], aspect="auto")
        figure.colorbar(image, ax=below, fraction=0.04, pad=0.02, label="share of fits together")
    return figure
