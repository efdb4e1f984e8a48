"""Clusters and labels in the first two principal components of the kept features."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsekm.annotation.clusters import overlap_clusters
from sparsekm.figures.palette import DROPPED, MARKERS
from sparsekm.figures.style import (
    categorical_colors,
    figure_style,
    name_legend,
    new_figure,
    short_name,
    write_near,
)
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.reporting.cluster_colors import color_clusters
from sparsekm.reporting.principal_plane import first_components
from sparsekm.reporting.results import DatasetResult, MethodResult
from sparsekm.runtime.random_state import draw_samples

_MANY_POINTS = 1500  # more than this are drawn as dots
MOST_POINTS = 10_000  # of more than this, so many are drawn at random
_IMAGE_POINTS = 300  # more than this are drawn as an image: the file stays small
_UNKNOWN_LOOK = (DROPPED, "o")
_UNKNOWN_TITLE = "no known label"


def component_figure(result: DatasetResult) -> Figure:
    """Draw the samples on the components of each method: labels above, clusters below.

    A cluster has the colour and marker of the label it overlaps most; clusters that share a label
    have different shades. Without labels there is only the row of clusters. Samples without a
    label, and clusters with only such samples, are grey. Components are those of the samples shown.
    """
    labels, shown = result.labels, None
    if result.n_samples > MOST_POINTS:
        shown = draw_samples(result.n_samples, MOST_POINTS, np.random.default_rng(0))
    n_rows = 1 if labels is None else 2
    methods = list(result.methods.values())
    looks = {} if labels is None else _label_looks(labels)
    with figure_style():
        figure = new_figure(3.0 * max(len(methods), 1.4), 2.75 * n_rows + 0.4)
        grid = figure.subplots(n_rows, len(methods), squeeze=False, sharex="col", sharey="col")
        for column, method in enumerate(methods):
            kept = np.flatnonzero(method.weights)
            X, part = result.select_features(kept, shown), slice(None) if shown is None else shown
            points, explained = first_components(X, method.weights[kept])
            if labels is not None:
                _scatter(grid[0, column], points, labels[part], looks)
            cluster_looks = _cluster_looks(method, labels, looks)
            _scatter(grid[-1, column], points, method.labels[part], cluster_looks)
            noun = "feature" if kept.size == 1 else "features"
            grid[0, column].set_title(f"{method.title}, {kept.size:,} {noun}", loc="left")
            grid[-1, column].set_xlabel(f"component 1 ({explained[0]:.1%} of variance)")
            for axes in grid[:, column]:
                axes.set(xticks=[], yticks=[])
                axes.set_ylabel(f"component 2 ({explained[1]:.1%})")
        look = {"rotation": 90, "ha": "right", "va": "center", "fontweight": "bold"}
        for axes, name in zip(grid[:, 0], ("labels", "clusters")[-n_rows:], strict=True):
            write_near(axes, name, (0, 0.5), (-24, 0), size=9.5, xycoords="axes fraction", **look)
        if labels is not None:
            _add_legend(figure, looks)
    return figure


def _label_looks(labels: np.ndarray) -> dict[str, tuple[str, str]]:
    names = sorted(distinct_classes(labels), key=_natural)
    unknown = {UNKNOWN: _UNKNOWN_LOOK} if UNKNOWN in labels else {}
    # Drawn first, below the others.
    return unknown | dict(zip(names, _looks(len(names)), strict=True))


def _looks(number: int) -> list[tuple[str, str]]:
    colors = categorical_colors(number)
    return [(color, MARKERS[index % len(MARKERS)]) for index, color in enumerate(colors)]


def _natural(name: str) -> tuple[int, float, str]:
    """Order "2" before "10", and numbers before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def _cluster_looks(
    method: MethodResult, labels: np.ndarray | None, looks: Mapping[str, tuple[str, str]]
) -> dict[int, tuple[str, str]]:
    if labels is None:
        numbers = np.unique(method.labels)
        return dict(zip(numbers, _looks(len(numbers)), strict=True))
    known = {name: look for name, look in looks.items() if name != UNKNOWN}
    overlap = overlap_clusters(method.labels, labels, list(known))
    colors = color_clusters(overlap, {name: color for name, (color, _) in known.items()})
    return dict.fromkeys(np.unique(method.labels), _UNKNOWN_LOOK) | {
        cluster: (color, known[overlap.best_region[cluster]][1])
        for cluster, color in colors.items()
    }


def _scatter(
    axes: Axes, points: np.ndarray, groups: np.ndarray, looks: Mapping[object, tuple[str, str]]
) -> None:
    many = len(points) > _MANY_POINTS
    for group, (color, marker) in looks.items():
        chosen = groups == group
        axes.plot(
            *points[chosen].T,
            linestyle="none",
            marker="o" if many else marker,
            markersize=max(1.2, 110 / np.sqrt(len(points))) if many else 4.5,
            color=color,
            alpha=0.7 if many else 0.9,
            markeredgecolor="none" if many else "white",
            markeredgewidth=0 if many else 0.4,
            rasterized=len(points) > _IMAGE_POINTS,
        )


def _add_legend(figure: Figure, looks: Mapping[str, tuple[str, str]]) -> None:
    shown = [(name or _UNKNOWN_TITLE, look) for name, look in looks.items()]
    longest = max(len(short_name(name)) for name, _ in shown)
    name_legend(
        figure,
        [
            (name, Line2D([], [], linestyle="none", marker=marker, color=color))
            for name, (color, marker) in shown
        ],
        ncols=max(1, min(len(shown), 90 // (longest + 6))),
        handletextpad=0.2,
    )
