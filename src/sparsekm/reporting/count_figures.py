"""How many clusters: the groups that stand apart, and how often samples are together."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

from sparsekm.figures.palette import BLUE, INK
from sparsekm.figures.style import categorical_colors, figure_style, new_figure
from sparsekm.reporting.cluster_colors import cluster_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.tuning.consensus import coassociation

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
