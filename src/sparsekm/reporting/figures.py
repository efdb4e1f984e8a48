"""All figures of a data set, with their captions; first the picture of the answer."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from pandas.api.types import is_numeric_dtype
from sklearn.decomposition import PCA

from sparsekm.figures.sample_heat_map import (
    MOST_COLUMNS,
    Bar,
    color_column,
    cover_columns,
    draw_bar,
    draw_field,
    order_field,
)
from sparsekm.figures.style import (
    MARKERS,
    figure_style,
    figure_svg,
    name_legend,
    new_figure,
    render_figure,
)
from sparsekm.reporting.brain_figures import expression_figure, slice_figure
from sparsekm.reporting.choice_figures import consensus_figure, count_figure, gap_figure
from sparsekm.reporting.clusters import class_colors, cluster_colors
from sparsekm.reporting.gene_tables import top_kept
from sparsekm.reporting.page_tables import write_text
from sparsekm.reporting.results import DatasetResult
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import one_blas_thread

MOST_FEATURES = 30  # rows of the heat map whose names can be read
MOST_POINTS = 2000  # of more samples, so many are drawn at random in the scatter
_MOST_AXES = 2000  # of more kept features, those of the largest weights and scores are projected
_MANY_POINTS = 500  # more than this are drawn as dots
_MOST_IN_LEGEND = 12


def uses_umap(result: DatasetResult) -> bool:
    """Whether the scatter is a UMAP: of many samples, where the package umap-learn is there."""
    return result.n_samples > _MANY_POINTS and find_spec("umap") is not None


def shown_features(result: DatasetResult) -> np.ndarray:
    """Choose the features of the heat map: the signature, then the kept ones of largest score."""
    method = result.primary
    kept = np.flatnonzero(method.weights)
    ranked = kept[np.argsort(-method.scores[kept], kind="stable")]
    few = [] if method.signature is None else method.signature
    chosen = list(dict.fromkeys([*map(int, few), *map(int, ranked)]))[:MOST_FEATURES]
    return np.sort(np.array(chosen, dtype=int))


def answer_figure(result: DatasetResult) -> tuple[Figure, dict[str, list[str]]]:
    """Draw the heat map and, of a matrix, the scatter; return also titles for `figure_svg`."""
    features, colors = shown_features(result), cluster_colors(result)
    values = result.read_features(features).astype(float)
    field, bars = order_field(values, result.primary.labels), _bars(result)
    samples = _titles(result)
    names = list(result.var.index[features].astype(str))
    heights = [*[0.13] * len(bars), 0.095 * max(len(names), 16)]
    titles = {
        "columns": [
            samples[those[0]] if len(those) == 1 else f"{len(those)} of cluster {cluster}"
            for those, cluster in zip(field.columns, field.clusters, strict=True)
        ]
    }
    with figure_style():
        figure = new_figure(9.6, 0.9 + sum(heights))
        widths = [1] if result.is_atlas else [2, 1]
        left, *others = figure.subfigures(1, len(widths), squeeze=False, width_ratios=widths)[0]
        grid = left.subplots(len(heights), 1, height_ratios=heights)
        for axes, (name, bar) in zip(grid, bars.items(), strict=False):
            draw_bar(axes, field, name, bar)
        draw_field(grid[-1], field, names)
        cover_columns(grid[-1], field)
        for right in others:
            titles |= _draw_scatter(right.subplots(), result, colors, samples)
        _add_legend(figure, result, colors, bars)
    return figure, titles


def _bars(result: DatasetResult) -> dict[str, Bar]:
    """List what is known of the samples."""
    method = result.primary
    bars = {"cluster": Bar(method.labels, cluster_colors(result))}
    if result.labels is not None:
        bars[result.words.label] = Bar(result.labels, class_colors(result))
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
    shown = np.arange(result.n_samples)
    if len(shown) > MOST_POINTS:
        shown = draw_samples(len(shown), MOST_POINTS, np.random.default_rng(0))
    points, names = project_samples(result, shown)
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


@one_blas_thread
def project_samples(
    result: DatasetResult, samples: np.ndarray
) -> tuple[np.ndarray, tuple[str, str]]:
    """Place samples, (n, 2), in a plane by the features kept; return also its axes' names."""
    method = result.primary
    kept = np.flatnonzero(method.weights)
    order = np.lexsort([-method.scores[kept], -method.weights[kept]])
    kept = np.sort(kept[order[:_MOST_AXES]])
    X = result.read_features(kept, samples) * np.sqrt(method.weights[kept]).astype(np.float32)
    if uses_umap(result):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = import_module("umap").UMAP(random_state=0, n_jobs=1)
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
    return "o" if many else MARKERS[place % len(MARKERS)]


def _add_legend(
    figure: Figure, result: DatasetResult, colors: Mapping[int, str], bars: Mapping[str, Bar]
) -> None:
    """Name the clusters with their markers, and what the bars of annotations mean."""
    best, entries = result.majorities, []
    for place, (cluster, color) in enumerate(colors.items()):
        name = f"cluster {cluster}" + (f": {best[cluster]}" if cluster in best else "")
        entries.append((name, _marker(result, place), color))
    for name in result.annotations:
        if bars[name].colors is not None:
            entries += [(f"{name}: {value}", "s", color) for value, color in bars[name].legend]
    if len(colors) > _MOST_IN_LEGEND or len(entries) > 3 * _MOST_IN_LEGEND:
        return
    longest = max(len(name) for name, *_ in entries)
    handles = [
        (name, Line2D([], [], linestyle="none", marker=marker, color=color))
        for name, marker, color in entries
    ]
    columns = max(1, min(len(handles), 110 // (min(longest, 40) + 6)))
    name_legend(figure, handles, ncols=columns, handletextpad=0.2)


_GENES_DRAWN = 6


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure as SVG text for the page, as PNG and as PDF; `name` is part of its files' names."""

    name: str
    title: str
    caption: str
    svg: str
    png: bytes
    pdf: bytes

    @property
    def is_answer(self) -> bool:
        """Whether the figure shows the answer itself, and is not folded away."""
        return self.name in ("answer", "slices")

    @property
    def inline(self) -> str:
        """The figure as an element of the page, in which a pointer shows the titles of samples."""
        return re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", self.svg, flags=re.DOTALL)

    @property
    def data_uri(self) -> str:
        """The figure as a data URI, so that the page needs no other file."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg.encode()).decode()}"

    def files(self, folder: str | Path, prefix: str = "") -> dict[Path, bytes]:
        """Return all formats under the paths of their files in a folder."""
        formats = {"svg": self.svg.encode(), "png": self.png, "pdf": self.pdf}
        return {Path(folder) / f"{prefix}{self.name}.{kind}": c for kind, c in formats.items()}


def caption_figure(
    name: str,
    title: str,
    caption: str,
    figure: Figure,
    titles: Mapping[str, Sequence[str]] | None = None,
) -> CaptionedFigure:
    """Render a figure in all formats; for `titles` see `sparsekm.figures.style.figure_svg`."""
    caption, svg = re.sub("[ \n]+", " ", caption), figure_svg(figure, titles or {})
    png, pdf = (render_figure(figure, kind) for kind in ("png", "pdf"))
    return CaptionedFigure(name, title, caption, svg, png, pdf)


def draw_figures(result: DatasetResult, chosen: Sequence[int] = ()) -> list[CaptionedFigure]:
    """Draw every figure of a data set; `chosen` are the rows of ``result.genes`` of interest."""
    words, (answer, titles) = result.words, answer_figure(result)
    drawn = {
        "slices": ("Clusters in the brain", slice_figure(result) if result.is_atlas else None),
        "answer": ("The clusters", answer),
        "count": ("How many groups stand apart", count_figure(result)),
        "consensus": ("How often two samples are together", consensus_figure(result)),
        "gap": (f"How many {words.features} the gap statistic keeps", gap_figure(result)),
        "expression": ("Expression of single genes", _draw_expression(result, chosen)),
    }
    facts = {
        "result": result,
        "words": words,
        "numeric": [n for n in result.annotations if is_numeric_dtype(result.annotations[n])],
        "n_shown": len(shown_features(result)),
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
            titles if name == "answer" else {},
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
