"""Sorted feature scores, with the cut-off of each method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sparsekm.annotation.gene_table import rank_scores
from sparsekm.figures.palette import DROPPED, INK, VERMILION, method_look
from sparsekm.figures.style import figure_style, new_figure, write_near
from sparsekm.reporting.gap_figure import CHOICE_LINE
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.reporting.tables import nouns

_FOOT = 0.05  # of K - 1
_MANY_FEATURES = 400  # more points than this are drawn as an image: the file stays small


def score_figure(result: DatasetResult) -> Figure:
    """Draw the sorted feature scores of every method on logarithmic axes.

    Kept features are coloured, dropped ones grey; a line marks the cut-off. If planted truth is
    known, a strip of ticks under each curve shows the ranks of the planted features.
    """
    methods = list(result.methods.values())
    planted, feature = result.planted, nouns(result).features.removesuffix("s")
    limits = _score_limits(methods)
    with figure_style():
        figure = new_figure(3.2 * max(len(methods), 1.3), 3.3)
        ratios = [1] if planted is None else [6, 1]
        grid = figure.subplots(
            len(ratios), len(methods), squeeze=False, sharex=True, height_ratios=ratios
        )
        for column, method in enumerate(methods):
            _draw_scores(grid[0, column], method, limits)
            grid[0, column].tick_params(labelleft=column == 0)
            if planted is not None:
                _draw_planted(grid[1, column], method, planted, named=column == 0)
            grid[-1, column].set_xlabel(f"rank of the {feature} (log scale)")
        grid[0, 0].set_ylabel("score aⱼ: between-cluster\nsum of squares (log scale)")
    return figure


def _noise_score(method: MethodResult) -> int:
    """Return K - 1, the expected score of a noise feature under any fixed partition."""
    return max(np.unique(method.labels).size - 1, 1)


def _score_limits(methods: Sequence[MethodResult]) -> tuple[float, float]:
    """Return common limits for all panels, from well below chance to above the highest score.

    Scores far below chance, and 0, which has no logarithm, are drawn at the lower limit.
    """
    foot = _FOOT * min(_noise_score(method) for method in methods)
    return foot, 1.8 * max(method.scores.max() for method in methods)


def _draw_scores(axes: Axes, method: MethodResult, limits: tuple[float, float]) -> None:
    look = method_look(method.name)
    ranks, kept = rank_scores(method.scores), method.weights != 0
    scores = np.maximum(method.scores, limits[0])
    axes.set(xscale="log", yscale="log", ylim=(limits[0] * 0.7, limits[1]))
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
    noise = _noise_score(method)
    axes.axhline(noise, color=INK, linewidth=0.8, linestyle=":")
    near = {"xycoords": ("axes fraction", "data"), "va": "bottom"}
    write_near(axes, "K - 1: expected for noise", (0, noise), (3, 2), **near)
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="lower left", handletextpad=0.2, markerscale=1.6)
    axes.set_title(method.title, loc="left")


def _draw_planted(axes: Axes, method: MethodResult, planted: np.ndarray, *, named: bool) -> None:
    ranks, kept = rank_scores(method.scores), method.weights != 0
    axes.vlines(ranks[planted & kept], 0, 1, color=VERMILION, linewidth=0.8)
    axes.vlines(ranks[planted & ~kept], 0, 0.45, color=INK, linewidth=0.8)
    axes.set(yticks=[], ylim=(0, 1))
    axes.spines["left"].set_visible(False)
    if named:
        axes.set_ylabel("planted", rotation=0, ha="right", va="center")
