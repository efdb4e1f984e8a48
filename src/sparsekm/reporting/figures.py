"""All figures of a data set, with their captions; the heat map of the result comes first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from pandas.api.types import is_numeric_dtype

from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.figures import style
from sparsekm.figures.sample_heat_map import MOST_COLUMNS, draw_bar, draw_field, order_field
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.brain_figures import expression_figure, slice_figure
from sparsekm.reporting.cluster_numbers import count_figure, divisions_figure
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.feature_pictures import dot_figure, shown_features
from sparsekm.reporting.gene_tables import top_kept
from sparsekm.reporting.page import CaptionedFigure, caption_figure, write_text
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.sample_map import MOST_POINTS, sample_bars, samples_figure, uses_umap
from sparsekm.tuning.partitions import coassociation

_MOST_IN_LEGEND = 12


@style.figure_style()
def answer_figure(result: DatasetResult) -> Figure:
    """Draw the heat map."""
    features, marked = shown_features(result)
    values = result.read_features(features).astype(float)
    field = order_field(values, result.primary.labels, marked=marked)
    bars, names = sample_bars(result), list(result.var.index[features].astype(str))
    heights = [*[0.13] * len(bars), 0.095 * max(len(names), 16)]
    figure = style.new_figure(9.6 if result.is_atlas else 5.2, 0.9 + sum(heights))
    grid = figure.subplots(len(heights), 1, height_ratios=heights)
    for axes, (name, bar) in zip(grid, bars.items(), strict=False):
        draw_bar(axes, field, name, bar)
    draw_field(grid[-1], field, names)
    entries = [
        (f"{name}: {value}", "s", color)
        for name, bar in bars.items()
        for value, color in bar.legend
        if bar.colors is not None and len(bar.legend) <= _MOST_IN_LEGEND
    ]
    if len(entries) <= 2 * _MOST_IN_LEGEND:
        style.add_legend(figure, entries)
    return figure


_N_TICKS = 7
_PANEL_WIDTH = 4.4


@style.figure_style()
def gap_figure(result: DatasetResult) -> Figure | None:
    """Draw the gap curve of every tuned method, if any."""
    tuned = [method for method in result.methods.values() if method.gaps is not None]
    if not tuned:
        return None
    figure = style.new_figure(_PANEL_WIDTH * max(len(tuned), 1.25), 2.9)
    grid = figure.subplots(1, len(tuned), squeeze=False)[0]
    for axes, method in zip(grid, tuned, strict=True):
        _draw_gap(axes, method, result.words.features)
    grid[0].set_ylabel("gap: log objective\nabove reference")
    return figure


def _draw_gap(axes: Axes, method: ChosenFit, noun: str) -> None:
    gap, look = method.gaps, method_look(method.name)
    place, tried = int(gap["chosen"].to_numpy().argmax()), gap["sparsity"].to_numpy()
    line = {"color": look.color, "marker": look.marker, "linestyle": look.linestyle}
    # The fit that is shown may keep other features than the one that was tuned.
    label = f"chosen: s = {tried[place]:.3g}, {method.n_kept:,} {noun} kept"
    style.draw_gap(axes, gap, "sparsity", chosen=place, label=label, **line)
    axes.axvline(tried[place], **style.CHOICE_LINE)
    axes.set_title(look.title, loc="left")
    axes.margins(y=0.16)
    axes.set_xlabel("sparsity s (log scale)")
    # Equal steps on the logarithmic axis, where labels do not overlap.
    ticks = [float(f"{tick:.2g}") for tick in np.geomspace(tried.min(), tried.max(), _N_TICKS)]
    axes.set_xticks(ticks, [f"{tick:,g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    frame = {"handlelength": 1.6, "framealpha": 0.85, "edgecolor": "none"}
    axes.legend(loc="best", frameon=True, **frame).set_zorder(2.5)


_MOST_CELLS = 300  # rows of the consensus matrix; of more samples these are means


@style.figure_style()
def consensus_figure(result: DatasetResult) -> Figure | None:
    """Draw the consensus matrix, samples ordered by cluster."""
    method = result.primary
    if method.partitions is None:
        return None
    together = coassociation(method.partitions)
    figure = style.new_figure(4.6, 4.4)
    bar, below = figure.subplots(2, 1, height_ratios=[0.12, 4])
    bins, end = [], 0
    share = _MOST_CELLS / max(len(together), _MOST_CELLS)
    for number, color in cluster_colors(result).items():
        own = np.flatnonzero(method.labels == number)
        # The most typical samples of each cluster come first.
        typical = together[np.ix_(own, own)].mean(axis=0)
        own = own[np.argsort(-typical, kind="stable")]
        bins += np.array_split(own, max(1, round(share * len(own))))
        bar.barh(0, len(own), left=end, color=color, linewidth=0)
        end += len(own)
    at = np.repeat(np.arange(len(bins)), [len(those) for those in bins])
    order = np.concatenate(bins)
    cells = pd.DataFrame(together[np.ix_(order, order)]).groupby(at).mean().T.groupby(at).mean()
    bar.set(xlim=(0, end), xticks=[], yticks=[])
    style.remove_frame(bar)
    image = below.imshow(cells, cmap="Blues", vmin=0, vmax=1, interpolation="none")
    below.set(xticks=[], yticks=[], aspect="auto")
    figure.colorbar(image, ax=below, fraction=0.04, pad=0.02, label="share of fits together")
    return figure


_GENES_DRAWN = 6


def draw_figures(result: DatasetResult, chosen: Sequence[int] = ()) -> list[CaptionedFigure]:
    """Draw every figure of a data set; `chosen` are the rows of ``result.genes`` of interest."""
    words, has_umap = result.words, uses_umap(result)
    of_answer = "parts" if result.primary.is_division else "clusters"
    drawn = {
        "slices": ("Clusters in the brain", slice_figure(result) if result.is_atlas else None),
        "answer": (f"The {of_answer}", answer_figure(result)),
        "samples": ("The samples", None if result.is_atlas else samples_figure(result, has_umap)),
        "components": ("Their first components", samples_figure(result) if has_umap else None),
        "count": ("How many groups are separated", count_figure(result)),
        "divisions": ("How samples move between numbers of clusters", divisions_figure(result)),
        "dots": ("The signature by cluster", dot_figure(result)),
        "consensus": ("How often two samples are together", consensus_figure(result)),
        "gap": (f"How many {words.features} the gap statistic keeps", gap_figure(result)),
        "expression": ("Expression of single genes", _draw_expression(result, chosen)),
    }
    facts = {
        "result": result,
        "words": words,
        "numeric": [n for n in result.annotations if is_numeric_dtype(result.annotations[n])],
        "n_shown": len(shown_features(result)[0]),
        "n_kept": result.primary.n_kept,
        "most_columns": MOST_COLUMNS,
        "most_points": MOST_POINTS,
        "has_umap": has_umap,
    }
    return [
        caption_figure(name, title, write_text("captions.html", name=name, **facts), figure)
        for name, (title, figure) in drawn.items()
        if figure is not None
    ]


def _draw_expression(result: DatasetResult, chosen: Sequence[int]) -> Figure | None:
    top = top_kept(result, _GENES_DRAWN - len(chosen), without=chosen)
    if not result.is_atlas or not [*chosen, *top]:
        return None
    verdicts = result.genes.get("verdict")
    notes = ["chosen" if verdicts is None else verdicts.iloc[row] for row in chosen]
    notes += [f"rank {place}" for place in range(1, len(top) + 1)]
    return expression_figure(result, [*chosen, *top], notes)
