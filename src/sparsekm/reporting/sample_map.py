"""Samples on the page: a map with colours to choose, and a list of incomplete samples."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from sparsekm.figures import style
from sparsekm.figures.sample_heat_map import Bar, color_column, sample_colors
from sparsekm.io.known_classes import is_known
from sparsekm.reporting.clusters import class_colors, cluster_colors
from sparsekm.reporting.page import TableView, caption, make_table
from sparsekm.reporting.results import DatasetResult
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import one_blas_thread

MOST_POINTS = 2000  # if there are more samples, this number is drawn at random
_MOST_AXES = 2000  # of more kept features, the ones with the largest weights and scores are used
_MANY_POINTS = 500  # more samples than this are drawn as dots
_NEIGHBORS = 15  # neighbours of each sample in a UMAP


def uses_umap(result: DatasetResult) -> bool:
    """Whether there is a UMAP, too: for many samples, if umap-learn is installed."""
    is_large = result.n_samples > _MANY_POINTS and not result.is_atlas
    return is_large and find_spec("umap") is not None


def drawn_samples(result: DatasetResult) -> np.ndarray:
    """Return the samples to draw, all or some, sorted by cluster."""
    shown = np.arange(result.n_samples)
    if len(shown) > MOST_POINTS:
        shown = draw_samples(len(shown), MOST_POINTS, np.random.default_rng(0))
    return shown[np.argsort(result.primary.labels[shown], kind="stable")]


@style.figure_style()
def samples_figure(result: DatasetResult, is_umap: bool = False) -> Figure:
    """Draw the samples in a plane; the script of the page gives them names and other colours."""
    shown, best = drawn_samples(result), result.majorities
    points, names = project_samples(result, shown, is_umap)
    figure, entries, many = style.new_figure(3.4, 3.4), [], result.n_samples > _MANY_POINTS
    axes, dots = figure.subplots(), {"s": 6, "edgecolors": "none", "linewidths": 0}
    look = dots if many else {"s": 20, "edgecolors": "white", "linewidths": 0.4}
    for place, (cluster, color) in enumerate(cluster_colors(result).items()):
        marker = "o" if many else style.MARKERS[place % len(style.MARKERS)]
        own = points[result.primary.labels[shown] == cluster]
        known = {"color": color, "alpha": 0.8, "gid": f"points_{cluster}"}
        axes.scatter(*own.T, marker=marker, **known, **look)
        name = f"cluster {cluster}" + (f": {best[cluster]}" if cluster in best else "")
        entries.append((name, marker, color))
    axes.set(xticks=[], yticks=[], xlabel=names[0], ylabel=names[1])
    style.add_legend(figure, entries)
    return figure


@one_blas_thread
def project_samples(
    result: DatasetResult, samples: np.ndarray, is_umap: bool = False
) -> tuple[np.ndarray, tuple[str, str]]:
    """Project samples on a plane, (n, 2), by the kept features; return also the axes' names."""
    method = result.primary
    kept = np.flatnonzero(method.weights)
    order = np.lexsort([-method.scores[kept], -method.weights[kept]])
    kept = np.sort(kept[order[:_MOST_AXES]])
    # Rows are read in ascending order.
    ascending, back = np.unique(samples, return_inverse=True)
    X = result.read_features(kept, ascending) * np.sqrt(method.weights[kept]).astype(np.float32)
    if is_umap:
        # UMAP's own search for neighbours takes twice as long as the rest of UMAP.
        neighbors = NearestNeighbors(n_neighbors=_NEIGHBORS).fit(X).kneighbors(X)[::-1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            umap = import_module("umap").UMAP
            model = umap(_NEIGHBORS, random_state=0, n_jobs=1, precomputed_knn=neighbors)
            return model.fit_transform(X)[back], ("UMAP 1", "UMAP 2")
    # There may be only one feature.
    model = PCA(min(2, X.shape[1]), svd_solver="randomized", random_state=0).fit(X)
    lacking = [(0, 0), (0, 2 - model.n_components_)]
    shares = np.pad(model.explained_variance_ratio_, lacking[1])
    names = [f"component {n} ({share:.0%} of variance)" for n, share in enumerate(shares, 1)]
    return np.pad(model.transform(X), lacking)[back], (names[0], names[1])


def sample_bars(result: DatasetResult) -> dict[str, Bar]:
    """Make a bar for the clusters, and for everything known about the samples."""
    method = result.primary
    bars = {"cluster": Bar(method.labels, cluster_colors(result))}
    if result.labels is not None:
        known = class_colors(result)
        legend = [pair for pair in known.items() if pair[0]]
        bars[result.words.label] = Bar(result.labels, known, legend)
    taken = len({color for bar in bars.values() for color in (bar.colors or {}).values()})
    for name, values in result.annotations.items():
        bars[name] = color_column(values, taken)
        taken += len(bars[name].legend) if bars[name].colors else 0
    if method.reproducibility is not None and np.isfinite(method.reproducibility).all():
        ends = [("0", "white"), ("1", "black")]
        bars["reproducibility"] = Bar(method.reproducibility, legend=ends)
    return bars


def view_map(result: DatasetResult) -> dict[str, Any] | None:
    """Prepare the names of the samples that are drawn, and their colours by each column."""
    if result.is_atlas:
        return None
    shown, columns = drawn_samples(result), []
    for name, bar in sample_bars(result).items():
        colors = [to_hex(color) for color in sample_colors(bar)[shown]]
        codes, palette = pd.factorize(np.array(colors))
        column = {"name": name, "palette": palette.tolist(), "codes": codes.tolist()}
        columns.append({**column, "legend": bar.legend})
    names = result.obs.index[shown].astype(str).tolist()
    return {"names": names, "columns": columns}


def view_special(result: DatasetResult) -> TableView | None:
    """List the samples that were left out, set aside or filled in, and those without a class."""
    names, method, about = result.obs.index.astype(str), result.primary, result.provenance
    nobody, left_out = np.zeros(result.n_samples, bool), method.left_out
    aside = nobody if method.trimmed is None else method.trimmed.astype(bool)
    outside = nobody if left_out is None else (left_out < 0) & (method.clustered >= 0)
    unknown = ~is_known(result.labels) if result.n_unlabelled else nobody
    found = {
        "left out: too many values missing": about.get("excluded_samples", ()),
        "values filled in (how many)": about.get("filled_samples", ()),
        "set aside as outliers": names[aside],
        "no known class": names[unknown],
        "in no cluster of the fits that left them out": names[outside],
    }
    rows = [(what, len(of), ", ".join(map(str, of))) for what, of in found.items() if len(of)]
    if result.is_atlas or not rows:
        return None
    table = pd.DataFrame(rows, columns=["what", "number", "samples"])
    kinds = {"samples": "wide"}
    return make_table(caption("special"), table, kinds, result.is_simulated, kind="genes")
