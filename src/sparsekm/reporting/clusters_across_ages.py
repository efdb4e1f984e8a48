"""Which clusters correspond across ages, by the regions where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pandas as pd

from sparsekm.reporting.cluster_colors import region_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.table_view import MISSING, Cell, Column, TableView


def view_corresponding(results: Sequence[DatasetResult]) -> TableView | None:
    """List the clusters of each region (row) at each age (column), by the primary methods.

    A cluster belongs to the region with most of its voxels; clusters in one row correspond.
    """
    results = [result for result in results if result.is_atlas]
    tables = {result.name: result.overlap for result in results if result.overlap is not None}
    if len(tables) < 2:
        return None
    colors = {label: c for result in results for label, c in region_colors(result).items()}
    listed = (result.regions["acronym"].astype(str) for result in results)
    order = [label for label in dict.fromkeys(chain(*listed)) if label in colors]
    rows = [
        [
            Cell(label, color=colors[label]),
            *(Cell(_list_clusters(table[table["label"] == label])) for table in tables.values()),
        ]
        for label in [*order, *sorted(set(colors) - set(order))]
    ]
    titles = dict.fromkeys(result.primary.title for result in results)
    caption = (
        f"Which clusters of {' and '.join(titles)} correspond across ages: those with most of "
        "their voxels in the same region, and in brackets the share of the region that each "
        f"covers. {MISSING}: the region is not in the data of that age. The shares describe one "
        "partition per age and have no standard error"
    )
    return TableView(
        caption,
        [Column("region"), *(Column(age, kind="text") for age in tables)],
        rows,
        simulated=all(result.is_simulated for result in results),
    )


def _list_clusters(overlap: pd.DataFrame) -> str:
    """Write the clusters that lie mostly in one region, the largest part of it first."""
    if overlap.empty:
        return MISSING
    own = overlap[overlap["is_best"]].sort_values(["n_shared", "cluster"], ascending=[False, True])
    if own.empty:
        return "no cluster"
    return ", ".join(f"{row.cluster} ({row.share_of_label:.0%})" for row in own.itertuples())
