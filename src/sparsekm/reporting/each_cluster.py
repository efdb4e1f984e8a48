"""Each cluster on the page: its stability, its neighbours, and where its samples come from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.page import Bars, Cell, TableView, make_table, write_text
from sparsekm.reporting.results import DatasetResult


def view_each_cluster(result: DatasetResult) -> dict[str, TableView] | None:
    """Make tables of the clusters, of the pairs of neighbours, and of batches and donors."""
    method, words = result.primary, result.words
    if method.overlaps is None or method.separation is None:
        return None

    def table(name: str, rows: pd.DataFrame, kinds: dict[str, str]) -> TableView:
        text = write_text("each_cluster_text.html", part=name, words=words)
        return make_table(text, rows, kinds, result.is_simulated)

    colors = cluster_colors(result)
    kinds = {"overlap": ".2f", "distance": ".1f", "p": ".2g"}
    pairs = method.separation.sort_values("distance", kind="stable")
    clusters, sizes = np.unique(method.labels, return_counts=True)
    rows = []
    for number, size in zip(clusters.tolist(), sizes, strict=True):
        row: dict[str, Any] = {
            "cluster": Cell(str(number), color=colors[number]),
            words.samples: size,
            "overlap": method.overlaps[number],
        }
        own = pairs[(pairs["cluster_a"] == number) | (pairs["cluster_b"] == number)]
        for pair in own.head(1).itertuples():
            other = pair.cluster_b if pair.cluster_a == number else pair.cluster_a
            row |= {"nearest": other, "distance": pair.distance}
            row["on the axis to it"] = _bars(pair, number, colors)
        rows.append(row)
    shown = {"clusters": table("clusters", pd.DataFrame(rows), kinds)}
    if len(pairs) > 1:
        every = {
            "neighbours": [f"{pair.cluster_a} and {pair.cluster_b}" for pair in pairs.itertuples()],
            "distance": pairs["distance"],
            "p": pairs["p_adjusted"],
            "in the middle": pairs["n_middle"],
            "at the ends": [f"{pair.n_a} and {pair.n_b}" for pair in pairs.itertuples()],
            "on the axis": [_bars(pair, pair.cluster_a, colors) for pair in pairs.itertuples()],
        }
        shown["pairs"] = table("pairs", pd.DataFrame(every), kinds)
    origins = _count_origins(result)
    if origins is not None:
        shown["origins"] = table("origins", origins, {})
    return shown


def _bars(pair: Any, first: int, colors: dict[int, str]) -> Cell:
    """Draw the left-out samples on the axis from the `first` cluster of a pair to the other."""
    counts = [int(count) for count in pair.histogram.split("-")]
    ends = [pair.cluster_a, pair.cluster_b]
    if first != pair.cluster_a:
        counts, ends = counts[::-1], ends[::-1]
    title = f"from cluster {ends[0]} to cluster {ends[1]}"
    return Cell("", bars=Bars(counts, [colors[end] for end in ends], title))


def _count_origins(result: DatasetResult) -> pd.DataFrame | None:
    """Count the samples of each batch and donor (row) in each cluster (column)."""
    found = {"batch": "batch", "donor": "group"}
    columns = {what: name for what, name in found.items() if name in result.obs}
    counts = [
        pd.crosstab(result.obs[name].astype(str), result.primary.labels)
        .add_prefix("cluster ")
        .rename_axis(None, axis=1)
        .rename_axis(what)
        .rename(index=lambda value, what=what: f"{what} {value}")
        for what, name in columns.items()
    ]
    if not counts:
        return None
    return pd.concat(counts).rename_axis("").reset_index()
