"""The picture of the answer: samples by features as a heat map, beside a scatter of the samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsekm.figures.palette import MARKERS
from sparsekm.figures.sample_heat_map import draw_bar, draw_field, order_field
from sparsekm.figures.style import figure_style, name_legend, new_figure
from sparsekm.reporting.cluster_colors import class_colors, cluster_colors
from sparsekm.reporting.principal_plane import first_components
from sparsekm.reporting.results import DatasetResult
from sparsekm.runtime.random_state import draw_samples

MOST_FEATURES = 30  # rows of the heat map whose names can be read
MOST_POINTS = 10_000  # of more samples, so many are drawn at random in the scatter
_MANY_POINTS = 1500  # more than this are drawn as dots
_IMAGE_POINTS = 300  # more than this are drawn as an image: the file stays small
_MOST_IN_LEGEND = 12


def shown_features(result: DatasetResult) -> np.ndarray:
    """Choose the features of the heat map: the signature, then the kept ones of largest score."""
    method = result.primary
    kept = np.flatnonzero(method.weights)
    ranked = kept[np.argsort(-method.scores[kept], kind="stable")]
    few = [] if method.signature is None else list(method.signature)
    chosen = list(dict.fromkeys([*map(int, few), *map(int, ranked)]))[:MOST_FEATURES]
    return np.sort(np.array(chosen, dtype=int))


def answer_figure(result: DatasetResult) -> Figure:
    """Draw the heat map; of a matrix also the scatter, as an atlas age has slices instead."""
    method, chosen = result.primary, shown_features(result)
    field = order_field(result.read_features(chosen).astype(float), method.labels)
    names = [str(result.var.index[feature]) for feature in chosen]
    colors, classes = cluster_colors(result), class_colors(result)
    bars = [("cluster", method.labels, colors)]
    if result.labels is not None:
        bars.append(("region" if result.is_atlas else "class", result.labels, classes))
    if method.reproducibility is not None and np.isfinite(method.reproducibility).all():
        bars.append(("reproducibility", method.reproducibility, None))
    height = 0.9 + 0.13 * len(bars) + 0.095 * max(len(chosen), 16)
    with figure_style():
        figure = new_figure(9.6, height)
        left, *others = figure.subfigures(
            1,
            1 if result.is_atlas else 2,
            squeeze=False,
            **({} if result.is_atlas else {"width_ratios": [2, 1]}),
        )[0]
        grid = left.subplots(
            len(bars) + 1, 1, height_ratios=[*[0.13] * len(bars), 0.095 * max(len(chosen), 16)]
        )
        for axes, (name, values, looks) in zip(grid, bars, strict=False):
            draw_bar(axes, field, name, values, looks)
        draw_field(grid[-1], field, names)
        for right in others:
            _draw_scatter(right.subplots(), result, colors)
        _add_legend(figure, result, colors)
    return figure


def _draw_scatter(axes: Axes, result: DatasetResult, colors: Mapping[int, str]) -> None:
    method, shown = result.primary, None
    if result.n_samples > MOST_POINTS:
        shown = draw_samples(result.n_samples, MOST_POINTS, np.random.default_rng(0))
    kept = np.flatnonzero(method.weights)
    points, explained = first_components(result.select_features(kept, shown), method.weights[kept])
    labels = method.labels if shown is None else method.labels[shown]
    many = len(points) > _MANY_POINTS
    for place, (cluster, color) in enumerate(colors.items()):
        axes.plot(
            *points[labels == cluster].T,
            linestyle="none",
            marker="o" if many else MARKERS[place % len(MARKERS)],
            markersize=max(1.2, 110 / np.sqrt(len(points))) if many else 4.5,
            color=color,
            alpha=0.7 if many else 0.9,
            markeredgecolor="none" if many else "white",
            markeredgewidth=0 if many else 0.4,
            rasterized=len(points) > _IMAGE_POINTS,
        )
    axes.set(xticks=[], yticks=[])
    axes.set_xlabel(f"component 1 ({explained[0]:.0%} of variance)")
    axes.set_ylabel(f"component 2 ({explained[1]:.0%})")


def _add_legend(figure: Figure, result: DatasetResult, colors: Mapping[int, str]) -> None:
    if len(colors) > _MOST_IN_LEGEND:
        return
    best = result.majorities
    handles = []
    for place, (cluster, color) in enumerate(colors.items()):
        marker = MARKERS[place % len(MARKERS)]
        if result.is_atlas or result.n_samples > _MANY_POINTS:
            marker = "o"
        name = f"cluster {cluster}" + (f": {best[cluster]}" if cluster in best else "")
        handles.append((name, Line2D([], [], linestyle="none", marker=marker, color=color)))
    longest = max(len(name) for name, _ in handles)
    columns = max(1, min(len(handles), 110 // (min(longest, 40) + 6)))
    name_legend(figure, handles, ncols=columns, handletextpad=0.2)
