"""The clusters one by one: their numbers, and the left-out samples between neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.reporting.clusters import class_colors, cluster_colors
from sparsekm.reporting.page import Bars, Cell, TableView, caption, make_table
from sparsekm.reporting.results import DatasetResult

_MOST_ORIGINS = 40  # classes, donors or batches that have a row: the most frequent


def view_each_cluster(result: DatasetResult) -> TableView:
    """Make a column for each cluster: its size, stability, neighbour and origin."""
    method, colors, parts = result.primary, cluster_colors(result), ["each_cluster"]
    numbers, sizes = np.unique(method.labels, return_counts=True)
    rows: list[list[Any]] = [[result.words.samples, *map("{:,}".format, sizes)]]
    if method.overlaps is not None and method.separation is not None:
        nearest: dict[int, str] = {}
        for pair in method.separation.sort_values("distance", kind="stable").itertuples():
            ends = pair.cluster_a, pair.cluster_b
            for own, other in (ends, ends[::-1]):
                nearest.setdefault(own, f"{other} ({pair.distance:.1f})")
        rows.append(["overlap", *map("{:.2f}".format, method.overlaps[numbers])])
        rows.append(["nearest (distance)", *(nearest.get(number, "") for number in numbers)])
        parts.append("overlaps")
    heads = [Cell("cluster"), *(Cell(str(number), color=colors[number]) for number in numbers)]
    if result.batches is not None:
        # Within batches, a sample may be in none of these clusters.
        if -1 in method.batch_centred:
            numbers, heads = np.append(numbers, -1), [*heads, Cell("none")]
        parts.append("centred")
    table = pd.DataFrame([*rows, *_count_origins(result, numbers)], columns=heads).fillna("")
    facts = {"words": result.words, "agreement": result.batches[1] if result.batches else 1.0}
    text = caption(*parts, **facts)
    return make_table(text, table, {}, result.is_simulated, kind="numbers contingency")


def _count_origins(result: DatasetResult, numbers: np.ndarray) -> Iterator[list[Cell]]:
    """Make a row for each class, donor and batch: how many of its samples are in each cluster."""
    method, donors, batch = result.primary, result.obs.get("group"), result.obs.get("batch")
    label, colors = result.words.label, class_colors(result)
    known = [(label, result.labels, method.labels), ("donor", donors, method.labels)]
    known += [("batch", batch, method.labels), ("centred batch", batch, method.batch_centred)]
    for what, values, labels in known:
        if values is None or labels is None:
            continue
        counts = pd.crosstab(np.asarray(values).astype(str), labels)
        counts = counts.reindex(columns=numbers, fill_value=0)
        shares = counts / counts.sum().clip(lower=1)
        listed = set(counts.sum(axis=1).nlargest(_MOST_ORIGINS).index)
        order = colors if what == label else dict.fromkeys(counts.index, "")
        for name in order:
            if name not in listed:
                continue
            shaded = zip(counts.loc[name], shares.loc[name], strict=True)
            cells = [Cell(f"{n:,}" if n else "", shade=round(100 * share)) for n, share in shaded]
            yield [Cell(f"{what} {name or 'not known'}", color=order[name]), *cells]


def view_neighbours(result: DatasetResult) -> TableView | None:
    """Make a row for each pair of neighbours, with the left-out samples between them."""
    if result.primary.separation is None:
        return None
    colors = cluster_colors(result)
    pairs = result.primary.separation.sort_values("distance", kind="stable")
    rows = []
    for pair in pairs.itertuples():
        ends = pair.cluster_a, pair.cluster_b
        counts, title = map(int, pair.histogram.split("-")), "from cluster {} to cluster {}"
        bars = Bars([*counts], [colors[end] for end in ends], title.format(*ends))
        row = {"neighbours": "{} and {}".format(*ends), "on the axis": Cell("", bars=bars)}
        row |= {"distance": pair.distance, "p": pair.p_adjusted, "in the middle": pair.n_middle}
        rows.append({**row, "at the ends": f"{pair.n_a} and {pair.n_b}"})
    kinds, text = {"distance": ".1f", "p": ".2g"}, caption("neighbours", words=result.words)
    return make_table(text, pd.DataFrame(rows), kinds, result.is_simulated)
