"""The number of clusters on the page: curves over K, silhouettes, moves of samples, candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sparsekm.figures import style
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.page import TableView, caption, make_table
from sparsekm.reporting.results import DatasetResult

_CURVES = {
    "n_groups": "clearly separated groups",
    "reproducibility": "agreement of the folds",
    "silhouette": "mean silhouette",
    "ambiguous": "share of ambiguous pairs",
}
_MOST_BARS = 300  # of more samples, evenly spaced silhouettes are drawn


@style.figure_style()
def count_figure(result: DatasetResult) -> Figure | None:
    """Draw measures of the clusters for each number."""
    counts = result.numbers if result.counts is None else result.counts
    if counts is None or len(counts) < 2:
        return None
    tried, chosen = counts["n_clusters"], int(counts["chosen"].to_numpy().argmax())
    figure = style.new_figure(6.6, 4.4)
    grid = figure.subplots(2, 2)
    for axes, (name, label) in zip(grid.flat, _CURVES.items(), strict=True):
        axes.plot(tried, counts[name], color=style.BLUE, marker="o", markersize=4)
        look = {"color": style.BLUE, "markersize": 9, "markeredgecolor": style.INK}
        axes.plot(tried[chosen], counts[name][chosen], "o", **look)
        axes.set(xlabel="clusters sought, K", ylabel=label, xticks=tried)
        axes.margins(y=0.15)
    first = grid[0, 0]
    first.plot(tried, tried, color=style.INK, linewidth=0.8, linestyle=":")
    first.yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


@style.figure_style()
def divisions_figure(result: DatasetResult) -> Figure | None:
    """Draw the silhouette of every sample, and where samples are with one cluster less or more."""
    divisions, labels = result.divisions, result.primary.labels
    if divisions is None or divisions["silhouette"].isna().all():
        return None
    colors = cluster_colors(result)
    figure = style.new_figure(6.6, 3.2)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
    known, end = divisions["silhouette"], 0
    step = max(1, known.notna().sum() // _MOST_BARS)
    # The numbers of many clusters would overlap.
    mean = {"fontsize": 7, "ha": "center", "va": "bottom", "rotation": 90 * (len(colors) > 5)}
    for number, color in colors.items():
        every = known[labels == number].dropna().sort_values(ascending=False)
        own = every[::step]
        places = np.arange(end, end + len(own) + 1)
        look = {"step": "post", "color": color, "linewidth": 0}
        left.fill_between(places, np.append(own, own.iloc[-1:]), **look)
        top = np.fmax(own.max(), 0)
        left.annotate(f"{number}: {every.mean():.2f}", (end + len(own) / 2, top), **mean)
        end += len(own)
    left.axhline(known.mean(), **style.CHOICE_LINE)
    left.margins(y=0.15)
    left.set(xticks=[], xlabel="samples, by cluster", ylabel="silhouette")
    _draw_moves(right, divisions, labels, colors)
    return figure


def _draw_moves(
    axes: Axes, divisions: pd.DataFrame, labels: np.ndarray, colors: dict[int, str]
) -> None:
    """Draw ribbons of samples from K - 1 to K and to K + 1, in the colours of the clusters at K."""
    fitted, k = divisions["silhouette"].notna().to_numpy(), len(colors)
    shown = {k: labels[fitted]}
    for number in (k - 1, k + 1):
        if f"clusters_{number}" in divisions:
            shown[number] = divisions[f"clusters_{number}"].to_numpy()[fitted]
    bends = 3 * np.linspace(0, 1, 20) ** 2 - 2 * np.linspace(0, 1, 20) ** 3
    for number, own in shown.items():
        # Clusters at K - 1 and K + 1 are ordered by their samples at K.
        rank = pd.Series(shown[k]).groupby(own).mean().rank(method="first")[own].to_numpy()
        there, here = np.lexsort([shown[k], rank]), np.lexsort([rank, shown[k]])
        for cluster in np.unique(own):
            inside = np.flatnonzero(own[there] == cluster)
            color = colors[int(cluster)] if number == k else style.GREY
            look: dict[str, Any] = {"color": color, "edgecolor": "white"}
            axes.bar(number, len(inside), 0.12, inside[0], **look)
            look = {"ha": "center", "va": "center", "fontsize": 6, "color": "white"}
            axes.annotate(str(cluster), (number, inside.mean() + 0.5), **look)
            for at in np.unique(shown[k][own == cluster]) if number != k else ():
                both = (own == cluster) & (shown[k] == at)
                start, stop = (int(both[order].argmax()) for order in (there, here))
                lower = start + bends * (stop - start)
                look = {"color": colors[int(at)], "alpha": 0.45, "linewidth": 0, "zorder": 0}
                axes.fill_between(np.linspace(number, k, 20), lower, lower + both.sum(), **look)
    numbers = sorted(shown)
    axes.set_xticks(numbers, [f"K = {number}" for number in numbers])
    axes.set(yticks=[], ylim=(len(shown[k]), 0))
    style.remove_frame(axes)


def view_candidates(result: DatasetResult) -> TableView | None:
    """List the candidates for the result, and say how many have as many separated groups."""
    table = result.candidates
    if table is None:
        return None
    most = int(table.loc[table["chosen"], "n_groups"].iloc[0])
    others = int((table["n_groups"] >= most).sum()) - 1
    facts = {"n": len(table), "n_others": len(table) - 1, "most": most, "others": others}
    text = caption("candidates", words=result.words, **facts)
    shown = table.assign(chosen=np.where(table["chosen"], "yes", ""))
    heads = ["start", f"{result.words.features} kept", "clusters", "groups", "p", "agreement"]
    shown.columns = [*heads, "fits", "chosen"]
    return make_table(text, shown, {"p": ".2g", "agreement": ".2f"}, result.is_simulated)
