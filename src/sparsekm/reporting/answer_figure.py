r"""The picture of the answer: samples by features as a heat map, beside a scatter of the samples.

The scatter shows two principal components of a matrix that is read block by block, which does not
need the decomposition of a p x p matrix. Where there are many features, the two are found inside a
block Krylov space: the span of :math:`B, A B, A^2 B, ...` with :math:`A = X^\top X` and a few
random columns B, in which the best directions of A are soon exact to what a figure shows.

References
----------
C. Musco, C. Musco (2015), Randomized block Krylov methods for stronger and faster approximate
singular value decomposition. NeurIPS 28. https://doi.org/10.48550/arXiv.1504.05477
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sparsekm.figures.palette import MARKERS
from sparsekm.figures.sample_heat_map import draw_bar, draw_field, order_field
from sparsekm.figures.style import figure_style, name_legend, new_figure
from sparsekm.io.matrix_file import RowSource, row_blocks
from sparsekm.reporting.cluster_colors import class_colors, cluster_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import one_blas_thread

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


_WIDTH, _DEPTH = 10, 6  # columns of B, and how often they are multiplied


@one_blas_thread
def first_components(X: RowSource, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project samples on the first two principal components of the weighted features.

    Each feature of X (n, k) is scaled by the square root of its positive weight, as in the
    distances of weighted k-means. Returns the components (n, 2), of which the second is zero if
    only one feature is kept, and their shares of the variance. The largest loading of each
    component is positive, so that signs do not depend on the linear algebra library.
    """
    scaled = _Scaled(X, weights)
    basis = _krylov_basis(scaled) if weights.size > _WIDTH * _DEPTH else np.eye(weights.size)
    projected = (block @ basis for _, block in scaled.blocks())
    values, vectors = np.linalg.eigh(sum(block.T @ block for block in projected))
    values, axes = np.clip(values[::-1][:2], 0, None), basis @ vectors[:, ::-1][:, :2]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    axes *= np.where(largest < 0, -1.0, 1.0)
    components, variance = np.zeros((X.shape[0], 2)), 0.0
    for rows, block in scaled.blocks():
        components[rows, : axes.shape[1]] = block @ axes
        variance += float(np.square(block).sum())
    explained = values / max(variance, np.finfo(float).tiny)
    return components, np.pad(explained, (0, 2 - values.size))


class _Scaled:
    """The matrix, centred and scaled, block by block."""

    def __init__(self, X: RowSource, weights: np.ndarray) -> None:
        self._X, self._scale = X, np.sqrt(weights)
        self.n_features = weights.size
        self._mean = sum(block.sum(axis=0) for _, block in row_blocks(X)) / X.shape[0]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        for rows, block in row_blocks(self._X):
            block -= self._mean
            block *= self._scale
            yield rows, block


def _krylov_basis(scaled: _Scaled) -> np.ndarray:
    """Return orthonormal columns that span the Krylov space, always the same for a matrix."""
    random = np.random.default_rng(0)
    columns = random.standard_normal((scaled.n_features, _WIDTH))
    found = []
    for _ in range(_DEPTH):
        columns = sum(block.T @ (block @ columns) for _, block in scaled.blocks())
        columns = np.linalg.qr(columns)[0]
        found.append(columns)
    return np.linalg.qr(np.hstack(found))[0]
