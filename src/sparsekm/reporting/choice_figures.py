"""How the numbers of clusters and of features were chosen: groups, consensus and gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from sparsekm.figures import style
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.tuning.fold_fits import coassociation

_MAX_TICKS = 10
_PANEL_WIDTH = 4.4


def gap_figure(result: DatasetResult) -> Figure | None:
    """Draw the gap curve of every tuned method, if any."""
    tuned = [method for method in result.methods.values() if method.gap is not None]
    if not tuned:
        return None
    with style.figure_style():
        figure = style.new_figure(_PANEL_WIDTH * max(len(tuned), 1.25), 2.9)
        grid = figure.subplots(1, len(tuned), squeeze=False)[0]
        for axes, method in zip(grid, tuned, strict=True):
            _draw_gap(axes, method, result.words.features)
        grid[0].set_ylabel("gap: log objective\nabove reference")
    return figure


def _draw_gap(axes: Axes, method: MethodResult, noun: str) -> None:
    gap, look = method.gap, method_look(method.name)
    chosen = int(gap["chosen"].to_numpy().argmax())
    kept = gap["n_selected"].iloc[chosen]
    line = {"color": look.color, "marker": look.marker, "linestyle": look.linestyle}
    label = f"chosen: {kept:,} {noun} kept"
    style.draw_gap(axes, gap, "n_selected", chosen=chosen, label=label, **line)
    axes.axvline(kept, **style.CHOICE_LINE)
    axes.set_title(method.title, loc="left")
    axes.margins(y=0.16)
    axes.set_xlabel(f"{noun} kept (log scale)")
    # Few enough ticks that labels do not overlap, the chosen one among them.
    tried = np.unique(gap["n_selected"])
    step = -(-len(tried) // _MAX_TICKS)
    ticks = tried[np.searchsorted(tried, kept) % step :: step]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    frame = {"handlelength": 1.6, "framealpha": 0.85, "edgecolor": "none"}
    axes.legend(loc="best", frameon=True, **frame).set_zorder(2.5)


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
        look = {"color": style.BLUE, "markersize": 9, "markeredgecolor": style.INK}
        left.plot(tried[chosen], groups[chosen], "o", **look)
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
        style.remove_frame(right)
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
        look = {"color_threshold": 0, "above_threshold_color": style.INK}
        leaves = dendrogram(tree, ax=above, **look)["leaves"]
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
        style.remove_frame(bar)
        image = below.imshow(cells, cmap="Blues", vmin=0, vmax=1, interpolation="none")
        below.set(xticks=[], yticks=[], aspect="auto")
        figure.colorbar(image, ax=below, fraction=0.04, pad=0.02, label="share of fits together")
    return figure
