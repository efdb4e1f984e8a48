"""The table of clusters with the kept features that mark them."""

from __future__ import annotations

import pandas as pd

from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.slice_figure import region_colors
from sparsekm.reporting.table_view import Cell, Column, TableView
from sparsekm.reporting.tables import nouns

_SHOWN = 4
_NEEDED = ("highest_cluster", "effect_cluster", "lead_cluster")


def view_markers(result: DatasetResult, file: str) -> TableView | None:
    """Make a row for each cluster of the primary method: the kept features highest in it.

    Features are sorted by their lead on the next cluster; `file` has those of all features.
    """
    genes = result.genes
    if not set(_NEEDED) <= set(genes):
        return None
    words, method = nouns(result), result.primary
    sizes = pd.Series(method.labels).value_counts().sort_index()
    best = _majorities(result)
    kept = genes[(genes[f"weight_{method.name}"] != 0) & genes["lead_cluster"].notna()]
    kept = kept.sort_values("lead_cluster", ascending=False, kind="stable")
    rows = []
    for cluster, size in sizes.items():
        marking = kept[kept["highest_cluster"] == cluster]
        rows.append(
            [
                Cell(str(cluster)),
                Cell(f"{size:,}"),
                *([best.get(cluster, Cell(""))] if best else []),
                Cell(f"{len(marking):,}"),
                *(_marker_cell(gene) for gene in marking.head(_SHOWN).itertuples()),
                *([Cell("")] * max(0, _SHOWN - len(marking))),
            ]
        )
    columns = [Column("cluster"), Column(words.samples)]
    columns += [Column("majority", kind="text")] if best else []
    columns += [Column("markers")]
    columns += [Column(f"{place}.", kind="text") for place in range(1, _SHOWN + 1)]
    caption = (
        f"Markers of each cluster of {method.title}: how many kept {words.features} have their "
        f"highest mean there, and the {_SHOWN} of them with the largest lead. Below each: its lead "
        "(how far its mean exceeds that in the next cluster, in units of the normalised data) and "
        f"its effect (Cohen’s d against all other {words.samples}). The clusters were found in the "
        "same data, so both are too large on average, and neither has a standard error. "
        f"{file} has them for all {words.features}"
    )
    return TableView(caption, columns, rows, result.is_simulated)


def _marker_cell(gene) -> Cell:
    effect = "" if pd.isna(gene.effect_cluster) else f"; d = {gene.effect_cluster:.1f}"
    return Cell(str(gene.symbol), note=f"{gene.lead_cluster:.2f}{effect}")


def _majorities(result: DatasetResult) -> dict[int, Cell]:
    table = result.overlap
    if table is None:
        return {}
    colors = region_colors(result) if result.is_atlas else {}
    return {
        row.cluster: Cell(row.label, color=colors.get(row.label, ""), hover=row.name)
        for row in table[table["is_best"]].itertuples(index=False)
    }
