"""Figures of the results of `sparsekm.tl.sparse_kmeans` in an AnnData, and of a gap curve.

All figures take ``ax``, ``show``, ``save`` and ``return_fig``, like scanpy's figures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.inputs import wrong_type
from sparsekm.cluster.validation import check_count
from sparsekm.figures.sample_heat_map import (
    Bar,
    OrderedField,
    color_column,
    draw_bar,
    draw_field,
    order_field,
)
from sparsekm.figures.style import (
    BLUE,
    DROPPED,
    INK,
    categorical_colors,
    draw_gap,
    figure_style,
    short_name,
)
from sparsekm.io.atomic import refuse_to_replace
from sparsekm.tl import check_anndata, check_name, read_values
from sparsekm.tuning.gap_search import GapSearch

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["gap_curve", "heatmap", "scores"]

# With more samples or groups, their names would not be legible.
MOST_NAMED_SAMPLES = 60
MOST_GROUPS = 100


_Figure = TypeVar("_Figure", bound=Callable)
_SHARED = """ax : matplotlib.axes.Axes, optional
    Where to draw. By default a new figure is made.
show : bool, optional
    Whether to show the figure and return nothing; None uses the setting of scanpy, or True if
    scanpy is not imported.
save : bool, str or path, optional
    A path with a folder is the file to save to. Other text is appended to the name
    ``figures/sparse_kmeans_{name}``, and True saves a PDF under this name, as scanpy does.
return_fig : bool, default=False
    Whether to return the figure instead of showing it.

Returns
-------
matplotlib.axes.Axes, matplotlib.figure.Figure or None
    The axes if `show` is False, the figure if `return_fig`, and None otherwise."""


def _document(figure: _Figure) -> _Figure:
    """Insert the shared part of the docstrings into a figure's docstring."""
    shared = _SHARED.replace("{name}", figure.__name__)
    figure.__doc__ = (getdoc(figure) or "").replace("{shared}", shared)
    return figure


@_document
def scores(
    adata: AnnData,
    key: str = "sparse_kmeans",
    *,
    n_features: int = 30,
    ax: Axes | None = None,
    show: bool | None = None,
    save: bool | str | os.PathLike | None = None,
    return_fig: bool = False,
) -> Axes | Figure | None:
    """Draw the genes with the largest scores; kept and dropped genes have different colours.

    Parameters
    ----------
    adata : AnnData
        Clustered by `sparsekm.tl.sparse_kmeans`.
    key : str, default="sparse_kmeans"
        The `key_added` of that call.
    n_features : int, default=30
        Number of genes to draw, by largest score.
    {shared}

    Raises
    ------
    TypeError, ValueError
        If `adata` is not an AnnData, `key` is not a `key_added` of an earlier call, or `n_features`
        is below 1.
    """
    ranked, score, selected = _read_genes(adata, key)
    ranked = ranked[: check_count("n_features", n_features)]
    largest, kept, places = score[ranked], selected[ranked], np.arange(len(ranked))
    with figure_style():
        ax = _axes(ax, 4.4, 0.8 + 0.16 * len(largest))
        for is_kept, color, label in ((True, BLUE, "kept"), (False, DROPPED, "dropped")):
            if (chosen := kept == is_kept).any():
                label = f"{label} ({np.count_nonzero(selected == is_kept):,})"
                ax.plot(largest[chosen], places[chosen], "o", color=color, label=label)
        ax.set_yticks(places, [*map(short_name, adata.var_names[ranked])], parse_math=False)
        # The margin has room for the largest dot.
        ax.set_xlim(0, 1.03 * largest.max())
        ax.set_ylim(len(largest) - 0.5, -0.5)
        ax.set_xlabel("between-cluster sum of squares")
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    return _finish(ax, "scores", show, save, return_fig)


@_document
def gap_curve(
    search: GapSearch,
    *,
    ax: Axes | None = None,
    show: bool | None = None,
    save: bool | str | os.PathLike | None = None,
    return_fig: bool = False,
) -> Axes | Figure | None:
    """Draw the gap curve with a band of one standard error, and a dot at the chosen sparsity.

    Parameters
    ----------
    search : GapSearch
        A fitted search.
    {shared}

    Raises
    ------
    TypeError, sklearn.exceptions.NotFittedError
        If `search` is not a fitted GapSearch.
    """
    if not isinstance(search, GapSearch):
        raise wrong_type("search", search, {}, "a fitted GapSearch")
    check_is_fitted(search)
    curve, best = search.results_, search.best_index_
    with figure_style():
        ax = _axes(ax, 4.4, 2.9)
        label = f"chosen: {curve['n_selected'].iloc[best]:,} features"
        draw_gap(ax, curve, "n_selected", chosen=best, label=label)
        ax.set(xlabel="features kept (log scale)", ylabel="gap: log objective\nabove chance")
        ax.legend()
    return _finish(ax, "gap_curve", show, save, return_fig)


@_document
def heatmap(
    adata: AnnData,
    key: str = "sparse_kmeans",
    *,
    groupby: str | Sequence[str] | None = None,
    n_features: int = 30,
    layer: str | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    save: bool | str | os.PathLike | None = None,
    return_fig: bool = False,
) -> Axes | Figure | None:
    """Draw the values of the kept genes in every cell, in standard deviations from their means.

    Columns are cells, in the order of the groups; within a group they are sorted along its
    first principal component. Rows are genes, in the order of the groups that they mark. Bars on
    top show the groups, the clusters and their reproducibility. With more than 600 cells, a column
    is the mean of several cells of one group.

    Parameters
    ----------
    adata : AnnData
        Clustered by `sparsekm.tl.sparse_kmeans`.
    key : str, default="sparse_kmeans"
        The `key_added` of that call.
    groupby : str or sequence of str, optional
        Columns of obs. The first one groups the cells; cells without a value in it are left out.
        The others are shown as bars. By default the clusters are the groups.
    n_features : int, default=30
        Number of kept genes to draw, by largest score.
    layer : str, optional
        The layer to draw. By default it is the layer that was clustered.
    {shared}

    Raises
    ------
    TypeError, ValueError
        If `adata` is not an AnnData, `key` is not a `key_added` of an earlier call, or `n_features`
        is below 1; if there is no such layer or column, or the column has more than 100 groups.
    """
    ranked, _, selected = _read_genes(adata, key)
    layer = adata.uns[key]["params"].get("layer") if layer is None else layer
    kept = np.sort(ranked[selected[ranked]][: check_count("n_features", n_features)])
    columns = [groupby] if isinstance(groupby, str) else list(groupby or ())
    for column in columns:
        check_name("groupby", column, adata.obs.columns, "a column of adata.obs")
    first, *others = dict.fromkeys([*columns, key])
    # They are texts if another program saved them or cells were joined; some may be missing.
    groups = pd.Categorical(adata.obs[first]).remove_unused_categories()
    if len(groups.categories) > MOST_GROUPS:
        raise ValueError(
            f"groupby={first!r} should have at most {MOST_GROUPS} values, has "
            f"{len(groups.categories)}. Begin groupby with a column of groups."
        )
    known = groups.codes >= 0
    values = as_dense(read_values(adata, layer, kept)[known])
    table = adata.obs[known]
    groups = groups[known]
    field = order_field(values, groups.codes)
    shares = f"{key}_reproducibility"
    own = _stored_colors(adata, first)
    usual = zip(groups.categories, categorical_colors(len(groups.categories)), strict=True)
    colors = [own.get(str(group), color) for group, color in usual]
    bars, taken = {}, len(colors)
    for name in filter(table.__contains__, others):
        bars[name] = color_column(table[name], taken, known=_stored_colors(adata, name))
        taken += len(bars[name].legend) if bars[name].colors else 0
    if shares in table:
        bars["reproducibility"] = color_column(table[shares], limits=(0, 1))
    rows = max(len(kept), 12)
    with figure_style():
        ax = _axes(ax, 7.2, 1.6 + 0.12 * (rows + 1.5 * len(bars)))
        draw_field(ax, field, [str(name) for name in adata.var_names[kept]])
        _name_samples(ax, field, table.index)
        high, place = 1.4 / rows, 1.01
        for name, bar in reversed(bars.items()):
            draw_bar(ax.inset_axes((0, place, 1, high)), field, short_name(name, 18), bar)
            place += 1.3 * high
        _draw_groups(ax.inset_axes((0, place, 1, high)), field, first, groups, colors)
        handles = [
            Patch(facecolor=color, edgecolor=INK, label=short_name(f"{name}: {value}"))
            for name, bar in bars.items()
            for value, color in bar.legend
        ]
        if handles:
            below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.12)}
            ax.legend(handles=handles, ncols=6, fontsize=6, **below)
        # The height of the bars depends on the layout, so a first layout is needed.
        figure: Any = ax.get_figure(root=True)
        figure.draw_without_rendering()
    return _finish(ax, "heatmap", show, save, return_fig)


def _name_samples(ax: Axes, field: OrderedField, names: pd.Index) -> None:
    n_samples, n_columns = len(names), len(field.columns)
    if n_samples <= MOST_NAMED_SAMPLES:
        shown = [short_name(names[those[0]], 18) for those in field.columns]
        ax.set_xticks(range(n_columns), shown, rotation=90, fontsize=6, parse_math=False)
        return
    means = f", means in {n_columns:,} columns" if n_columns < n_samples else ""
    ax.set_xlabel(f"{n_samples:,} cells{means}")


def _stored_colors(adata: AnnData, name: str) -> dict[str, str]:
    """Return the colours that scanpy stored for the categories of a column."""
    stored = adata.uns.get(f"{name}_colors", ())
    return dict(zip(map(str, pd.Categorical(adata.obs[name]).categories), stored, strict=False))


def _draw_groups(
    ax: Axes, field: OrderedField, title: str, groups: pd.Categorical, colors: Sequence[str]
) -> None:
    names = [short_name(group, 18) for group in groups.categories]
    draw_bar(ax, field, short_name(title, 18), Bar(groups.codes, dict(enumerate(colors))))
    # In one row they would overlap.
    is_crowded = max(map(len, names)) * len(names) > 90
    middles = [np.flatnonzero(field.clusters == number).mean() for number in range(len(names))]
    ax.xaxis.tick_top()
    ax.set_xticks(middles, names, rotation=90 if is_crowded else 0, fontsize=6.5, parse_math=False)


def _read_genes(adata: AnnData, key: str) -> tuple[np.ndarray, ...]:
    """Return the places of the genes, largest score first, the scores, and which are kept."""
    check_anndata(adata)
    written = [key] if f"{key}_score" in adata.var and key in adata.obs else []
    rule = "the key_added of a call of sparsekm.tl.sparse_kmeans on adata"
    check_name("key", key, set(written).intersection(adata.uns), rule)
    names = (f"{key}_score", f"{key}_weight")
    score, weight = (adata.var[name].to_numpy(np.float64) for name in names)
    return np.argsort(-score, kind="stable"), score, weight > 0


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def _finish(
    ax: Axes,
    name: str,
    show: bool | None,
    save: bool | str | os.PathLike | None,
    return_fig: bool,
) -> Axes | Figure | None:
    """Save, show or return a figure."""
    figure: Any = ax.get_figure(root=True)
    if save is None:
        save = _scanpy_setting("autosave", False)
    if save is not False and save is not None:
        file = _file(name, save)
        refuse_to_replace(file)
        figure.savefig(file, bbox_inches="tight")
    if return_fig:
        return figure
    if not (_scanpy_setting("autoshow", True) if show is None else show):
        return ax
    plt.show()
    if save:
        plt.close(figure)
    return None


def _file(name: str, save: bool | str | os.PathLike) -> Path:
    if isinstance(save, os.PathLike) or (isinstance(save, str) and Path(save).name != save):
        return Path(save)
    ending = save if isinstance(save, str) else ""
    folder = Path(_scanpy_setting("figdir", "figures"))
    folder.mkdir(parents=True, exist_ok=True)
    is_whole = Path(f"x{ending}").suffix in (".pdf", ".png", ".svg")
    return folder / f"sparse_kmeans_{name}{ending}{'' if is_whole else '.pdf'}"


def _scanpy_setting(name: str, otherwise: Any) -> Any:
    """Return a setting of scanpy, if it is in use."""
    return getattr(getattr(sys.modules.get("scanpy"), "settings", None), name, otherwise)


def __dir__() -> list[str]:
    return __all__
