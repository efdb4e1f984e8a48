"""Figures of what `sparsekm.tl.sparse_kmeans` wrote into an AnnData, and of a gap curve.

Each function draws into `ax`, or into a new figure, and returns the axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.matrices.containers import wrong_type
from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means, feature_variances
from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.cluster.validation import check_count
from sparsekm.figures.palette import BLUE, DROPPED, INK
from sparsekm.figures.sample_heat_map import draw_bar, draw_field, order_field
from sparsekm.figures.style import categorical_colors, figure_style, short_name
from sparsekm.tl import check_anndata, check_name, read_values
from sparsekm.tuning.gap_search import GapSearch

if TYPE_CHECKING:
    from anndata import AnnData

# Standard deviations at which the colours of a heat map end.
FARTHEST = 2.0


def scores(
    adata: AnnData,
    key: str = "sparse_kmeans",
    *,
    n_features: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest scores: of genes that are kept, and of those that are not.

    Parameters
    ----------
    adata : AnnData
        Clustered by `sparsekm.tl.sparse_kmeans`.
    key : str, default="sparse_kmeans"
        Its `key_added`.
    n_features : int, default=30
        How many genes are drawn.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    score, selected = _read_genes(adata, key)
    ranked = _ranked(score)[: check_count("n_features", n_features)]
    found, kept = score[ranked], selected[ranked]
    places = np.arange(len(ranked))
    with figure_style():
        ax = _axes(ax, 4.4, 0.8 + 0.16 * len(found))
        for chosen, color, label in ((kept, BLUE, "kept"), (~kept, DROPPED, "dropped")):
            if chosen.any():
                count = np.count_nonzero(selected if label == "kept" else ~selected)
                ax.plot(
                    found[chosen], places[chosen], "o", color=color, label=f"{label} ({count:,})"
                )
        ax.set_yticks(places, [*map(short_name, adata.var_names[ranked])], parse_math=False)
        # With room for the largest dot.
        ax.set_xlim(0, 1.03 * found.max())
        ax.set_ylim(len(found) - 0.5, -0.5)
        ax.set_xlabel("between-cluster sum of squares")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return ax


def gap_curve(search: GapSearch, *, ax: Axes | None = None) -> Axes:
    """Draw the gap of a fitted search: the band is one standard error, the dot the choice.

    Parameters
    ----------
    search : GapSearch
        Fitted.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    if not isinstance(search, GapSearch):
        raise wrong_type("search", search, {}, "a fitted GapSearch")
    check_is_fitted(search)
    curve = search.results_
    n_selected, gap, se = (curve[name].to_numpy() for name in ("n_selected", "gap", "se"))
    best = search.best_index_
    with figure_style():
        ax = _axes(ax, 4.4, 2.9)
        ax.fill_between(n_selected, gap - se, gap + se, color=BLUE, alpha=0.2, linewidth=0)
        ax.plot(n_selected, gap, "o-", color=BLUE, markerfacecolor="white", markersize=4)
        label = f"chosen: {n_selected[best]:,} features"
        ax.plot(n_selected[best], gap[best], "o", color=BLUE, markeredgecolor=INK, label=label)
        ax.set_xscale("log")
        ax.set(xlabel="features kept (log scale)", ylabel="gap: log objective\nabove chance")
        ax.legend()
    return ax


def heatmap(
    adata: AnnData,
    key: str = "sparse_kmeans",
    *,
    groupby: str | None = None,
    n_features: int = 30,
    layer: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the kept genes in every cluster, or every cell, in standard deviations from their mean.

    Genes are ordered by the cluster in which they are highest, or mark most. Cells without a
    cluster are left out. Of a backed AnnData all values are read into memory.

    Parameters
    ----------
    adata, key
        As in `scores`.
    groupby : str, optional
        Column of obs: the cells are drawn, grouped by it, each in a column; above 600 cells a
        column is a mean of several. None draws the means of the clusters.
    n_features : int, default=30
        How many of the kept genes are drawn: those of largest score.
    layer : str, optional
        Where the values are; None is the layer that was clustered.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes
    """
    score, selected = _read_genes(adata, key)
    layer = adata.uns[key]["params"].get("layer") if layer is None else layer
    ranked = _ranked(score)
    kept = np.sort(ranked[selected[ranked]][: check_count("n_features", n_features)])
    # Texts, once saved by another program or joined with other cells; some may be missing.
    if groupby is not None:
        check_name("groupby", groupby, adata.obs.columns, "a column of adata.obs")
    by = key if groupby is None else groupby
    clusters = pd.Categorical(adata.obs[by]).remove_unused_categories()
    labelled = clusters.codes >= 0
    values = read_values(adata, layer, kept)[labelled]
    if groupby is not None:
        names = [str(name) for name in adata.var_names[kept]]
        return _draw_cells(as_dense(values), clusters[labelled], names, groupby, ax)
    centers = cluster_centers(values, clusters.codes[labelled], len(clusters.categories))
    spreads = np.sqrt(feature_variances(values))
    means = (centers - feature_means(values)) / np.where(spreads > 0, spreads, 1.0)
    order = np.lexsort([-means.max(axis=0), means.argmax(axis=0)])
    with figure_style():
        names = [*map(short_name, adata.var_names[kept[order]])]
        longest = max(map(len, names))
        ax = _axes(ax, 1.6 + 0.2 * len(kept), 1 + 0.06 * max(longest, 7) + 0.2 * len(means))
        drawn = ax.imshow(
            means[:, order], cmap="RdBu_r", aspect="auto", vmin=-FARTHEST, vmax=FARTHEST
        )
        ax.set_xticks(range(len(kept)), names, rotation=90, parse_math=False)
        ax.set_yticks(range(len(means)), clusters.categories)
        ax.set_ylabel("cluster")
        ax.spines[:].set_visible(False)
        label = "mean\n(standard deviations)"
        ax.figure.colorbar(drawn, ax=ax, extend="both", label=label, ticks=[-2, -1, 0, 1, 2])
    return ax


def _draw_cells(
    values: np.ndarray, groups: pd.Categorical, names: list[str], title: str, ax: Axes | None
) -> Axes:
    field = order_field(values, groups.codes)
    colors = dict(enumerate(categorical_colors(len(groups.categories))))
    with figure_style():
        ax = _axes(ax, 7.2, 1.2 + 0.12 * len(names))
        draw_field(ax, field, names)
        bar = ax.inset_axes((0, 1.01, 1, 0.35 / (1 + 0.12 * len(names))))
        draw_bar(bar, field, short_name(title, 18), groups.codes, colors)
        for number, group in enumerate(groups.categories):
            middle = np.flatnonzero(field.clusters == number).mean()
            bar.text(
                middle, -0.7, short_name(group, 18), ha="center", va="bottom", parse_math=False
            )
    return ax


def _read_genes(adata: AnnData, key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the score of every gene, and whether it is kept."""
    check_anndata(adata)
    written = [key] if f"{key}_score" in adata.var and key in adata.obs else []
    rule = "the key_added of a call of sparsekm.tl.sparse_kmeans on adata"
    check_name("key", key, set(written).intersection(adata.uns), rule)
    score, weight = (
        adata.var[f"{key}_{name}"].to_numpy(np.float64) for name in ("score", "weight")
    )
    return score, weight > 0


def _ranked(scores: np.ndarray) -> np.ndarray:
    """Return the places of the genes, largest score first; names may be repeated."""
    return np.argsort(-scores, kind="stable")


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax
