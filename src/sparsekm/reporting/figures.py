"""All figures of a data set, with their captions; first the picture of the answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator
from pandas.api.types import is_numeric_dtype
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from sparsekm.cluster.sparsity_path import ChosenFit
from sparsekm.figures import style
from sparsekm.figures.sample_heat_map import (
    MOST_COLUMNS,
    Bar,
    color_column,
    cover_columns,
    draw_bar,
    draw_field,
    order_field,
)
from sparsekm.pipeline.registry import method_look
from sparsekm.reporting.brain_figures import expression_figure, slice_figure
from sparsekm.reporting.cluster_numbers import count_figure, divisions_figure
from sparsekm.reporting.clusters import class_colors, cluster_colors
from sparsekm.reporting.feature_pictures import dot_figure, shown_features
from sparsekm.reporting.gene_tables import top_kept
from sparsekm.reporting.page import CaptionedFigure, caption_figure, write_text
from sparsekm.reporting.results import DatasetResult
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.partitions import coassociation

MOST_POINTS = 2000  # of more samples, so many are drawn at random in the scatter
_MOST_AXES = 2000  # of more kept features, those of the largest weights and scores are projected
_MANY_POINTS = 500  # more than this are drawn as dots
_MOST_IN_LEGEND = 12
_NEIGHBORS = 15  # of each sample in a UMAP
_LETTERS = 11  # of a legend in an inch


def uses_umap(result: DatasetResult) -> bool:
    """Whether the scatter is a UMAP: of many samples, where the package umap-learn is there."""
    return result.n_samples > _MANY_POINTS and find_spec("umap") is not None


@style.figure_style()
def answer_figure(result: DatasetResult) -> tuple[Figure, dict[str, list[str]]]:
    """Draw the heat map; return also titles for `figure_svg`."""
    features, marked = shown_features(result)
    values = result.read_features(features).astype(float)
    field = order_field(values, result.primary.labels, marked=marked)
    bars = sample_bars(result)
    samples = _titles(result)
    names = list(result.var.index[features].astype(str))
    heights = [*[0.13] * len(bars), 0.095 * max(len(names), 16)]
    titles = {
        "columns": [
            samples[those[0]] if len(those) == 1 else f"{len(those)} of cluster {cluster}"
            for those, cluster in zip(field.columns, field.clusters, strict=True)
        ]
    }
    figure = style.new_figure(9.6 if result.is_atlas else 5.2, 0.9 + sum(heights))
    grid = figure.subplots(len(heights), 1, height_ratios=heights)
    for axes, (name, bar) in zip(grid, bars.items(), strict=False):
        draw_bar(axes, field, name, bar)
    draw_field(grid[-1], field, names)
    cover_columns(grid[-1], field)
    entries = [
        (f"{name}: {value}", "s", color)
        for name, bar in bars.items()
        for value, color in bar.legend
        if bar.colors is not None
    ]
    _add_legend(figure, entries)
    return figure, titles


@style.figure_style()
def samples_figure(result: DatasetResult) -> tuple[Figure, dict[str, list[str]]]:
    """Draw the samples, or some of them, in a plane; return also titles for `figure_svg`."""
    figure, colors, best = style.new_figure(3.4, 3.4), cluster_colors(result), result.majorities
    titles = _draw_scatter(figure.subplots(), result, colors, _titles(result))
    names = {k: f"cluster {k}" + (f": {best[k]}" if k in best else "") for k in colors}
    entries = [
        (names[cluster], _marker(result, place), color)
        for place, (cluster, color) in enumerate(colors.items())
    ]
    _add_legend(figure, entries)
    return figure, titles


def sample_bars(result: DatasetResult) -> dict[str, Bar]:
    """List what is known of the samples."""
    method = result.primary
    bars = {"cluster": Bar(method.labels, cluster_colors(result))}
    if result.labels is not None:
        known = class_colors(result)
        few = known.items() if len(known) <= _MOST_IN_LEGEND else ()
        bars[result.words.label] = Bar(result.labels, known, [pair for pair in few if pair[0]])
    taken = len({color for bar in bars.values() for color in (bar.colors or {}).values()})
    for name, values in result.annotations.items():
        bars[name] = color_column(values, taken)
        taken += len(bars[name].legend) if bars[name].colors else 0
    if method.reproducibility is not None and np.isfinite(method.reproducibility).all():
        bars["reproducibility"] = Bar(method.reproducibility)
    return bars


def _titles(result: DatasetResult) -> np.ndarray:
    """Write what a pointer on each sample shows: name, cluster and known class."""
    labels = result.labels
    known = [""] * result.n_samples if labels is None else [f", {label}" for label in labels]
    parts = zip(result.obs.index.astype(str), result.primary.labels, known, strict=True)
    return np.array([f"{name}, cluster {k}{label}" for name, k, label in parts], dtype=object)


def _draw_scatter(
    axes: Axes, result: DatasetResult, colors: Mapping[int, str], titles: np.ndarray
) -> dict[str, list[str]]:
    """Draw the samples, or some of them, in a plane, and return the titles of those drawn."""
    shown, points, names = drawn_plane(result, uses_umap(result))
    found = {}
    many = result.n_samples > _MANY_POINTS
    dots = {"s": 6, "edgecolors": "none", "linewidths": 0}
    marks = {"s": 20, "edgecolors": "white", "linewidths": 0.4}
    for place, (cluster, color) in enumerate(colors.items()):
        own, gid = result.primary.labels[shown] == cluster, f"points_{cluster}"
        look = {"color": color, "alpha": 0.8, "gid": gid, **(dots if many else marks)}
        axes.scatter(*points[own].T, marker=_marker(result, place), **look)
        found[gid] = list(titles[shown[own]])
    axes.set(xticks=[], yticks=[], xlabel=names[0], ylabel=names[1])
    return found


@lru_cache(maxsize=4)
def drawn_plane(
    result: DatasetResult, is_umap: bool
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Return samples, all or some, with their places and the axes' names: see `project_samples`."""
    shown = np.arange(result.n_samples)
    if len(shown) > MOST_POINTS:
        shown = draw_samples(len(shown), MOST_POINTS, np.random.default_rng(0))
    return shown, *project_samples(result, shown, is_umap)


@one_blas_thread
def project_samples(
    result: DatasetResult, samples: np.ndarray, is_umap: bool | None = None
) -> tuple[np.ndarray, tuple[str, str]]:
    """Place samples, (n, 2), in a plane by the features kept; return also its axes' names."""
    method = result.primary
    kept = np.flatnonzero(method.weights)
    order = np.lexsort([-method.scores[kept], -method.weights[kept]])
    kept = np.sort(kept[order[:_MOST_AXES]])
    X = result.read_features(kept, samples) * np.sqrt(method.weights[kept]).astype(np.float32)
    if uses_umap(result) if is_umap is None else is_umap:
        # Its own way to neighbours takes twice as long as all the rest of it.
        neighbors = NearestNeighbors(n_neighbors=_NEIGHBORS).fit(X).kneighbors(X)[::-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            umap = import_module("umap").UMAP
            model = umap(_NEIGHBORS, random_state=0, n_jobs=1, precomputed_knn=neighbors)
            return model.fit_transform(X), ("UMAP 1", "UMAP 2")
    points, shares = principal_plane(X)
    first, second = (f"{share:.0%} of variance" for share in shares)
    return points, (f"component 1 ({first})", f"component 2 ({second})")


def principal_plane(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project samples on two principal components, and give their shares of variance."""
    model = PCA(min(2, X.shape[1]), svd_solver="randomized", random_state=0).fit(X)
    lacking = 2 - model.n_components_
    points = np.pad(model.transform(X), [(0, 0), (0, lacking)])
    return points, np.pad(model.explained_variance_ratio_, (0, lacking))


def _marker(result: DatasetResult, place: int) -> str:
    """Choose the marker of a cluster: of many samples, which are drawn as dots, one for all."""
    many = result.is_atlas or result.n_samples > _MANY_POINTS
    return "o" if many else style.MARKERS[place % len(style.MARKERS)]


def _add_legend(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """Add a legend of names, markers and colours, if they are few enough."""
    if not 0 < len(entries) <= 2 * _MOST_IN_LEGEND:
        return
    longest = max(len(name) for name, *_ in entries)
    handles = [
        (name, Line2D([], [], linestyle="none", marker=marker, color=color))
        for name, marker, color in entries
    ]
    room = _LETTERS * figure.get_figwidth() / (min(longest, style.MOST_LETTERS) + 6)
    columns = max(1, min(len(handles), int(room)))
    style.name_legend(figure, handles, ncols=columns, handletextpad=0.2)


_MAX_TICKS = 8
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
    ticks = _apart(np.unique(tried), tried[place])
    axes.set_xticks(ticks, [f"{tick:.3g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    frame = {"handlelength": 1.6, "framealpha": 0.85, "edgecolor": "none"}
    axes.legend(loc="best", frameon=True, **frame).set_zorder(2.5)


def _apart(values: np.ndarray, chosen: float) -> list[float]:
    """Choose values whose labels do not overlap on a logarithmic axis, the chosen one first."""
    least, ticks = np.ptp(np.log(values)) / _MAX_TICKS, [float(chosen)]
    for value in values.tolist():
        if np.abs(np.log(np.array(ticks) / value)).min() >= max(least, 1e-9):
            ticks.append(value)
    return sorted(ticks)


_MOST_CELLS = 300  # rows of the consensus matrix; of more samples these are means


@style.figure_style()
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


_GENES_DRAWN = 6


def draw_figures(result: DatasetResult, chosen: Sequence[int] = ()) -> list[CaptionedFigure]:
    """Draw every figure of a data set; `chosen` are the rows of ``result.genes`` of interest."""
    words, (answer, titles) = result.words, answer_figure(result)
    samples, titles_of_samples = (None, {}) if result.is_atlas else samples_figure(result)
    drawn = {
        "slices": ("Clusters in the brain", slice_figure(result) if result.is_atlas else None),
        "answer": (f"The {'parts' if result.primary.is_division else 'clusters'}", answer),
        "samples": ("The samples", samples),
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
        "has_umap": uses_umap(result),
    }
    return [
        caption_figure(
            name,
            title,
            write_text("captions.html", name=name, **facts),
            figure,
            {"answer": titles, "samples": titles_of_samples}.get(name, {}),
        )
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
