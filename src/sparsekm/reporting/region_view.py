"""The table of regions: size, best cluster, and how many of the planted markers are kept."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from scipy.stats import binomtest

from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.table_view import MISSING, Cell, Column, TableView


def view_regions(result: DatasetResult, colors: Mapping[str, str]) -> TableView:
    """List the regions of an atlas age in the order of `colors`.

    Each has its colour, name and size; with the overlap of clusters, the cluster of the primary
    method that shares most voxels with it (ties go to the lowest); with planted truth, the number
    of markers planted in it and how many of them the primary method keeps.
    """
    regions = result.regions.astype(str)
    names = dict(zip(regions["acronym"], regions["name"], strict=True))
    voxels = result.obs["region"].astype(str).value_counts()
    method, overlap = result.primary, result.overlap
    columns = [Column("acronym"), Column("name", kind="text"), Column("voxels")]
    caption = f"Regions of {result.name}"
    rows = {
        acronym: [
            Cell(acronym, color=color),
            Cell(names.get(acronym, "")),
            Cell(f"{voxels.get(acronym, 0):,}"),
        ]
        for acronym, color in colors.items()
    }
    if overlap is not None:
        columns += [Column("best cluster"), Column("covered"), Column("purity")]
        caption += (
            f". Best cluster: that of {method.title} with most voxels of the region; covered: its "
            "share of the region; purity: the region’s share of the cluster"
        )
        best = _best_clusters(overlap)
        for acronym, row in rows.items():
            row += best.get(acronym, [Cell(MISSING)] * 3)
    recall = planted_recall(result)
    if recall is not None:
        columns += [Column("planted"), Column("kept"), Column("recall"), Column("95 % interval")]
        caption += (
            f". Planted: genes planted as markers of the region; kept: those that {method.title} "
            "keeps. A gene planted in several regions counts in each. The interval is Wilson’s, "
            "for genes kept independently of each other"
        )
        for acronym, row in rows.items():
            row += _recall_cells(*recall.get(acronym, (0, 0)))
    return TableView(caption, columns, list(rows.values()), simulated=result.is_simulated)


def _best_clusters(overlap: pd.DataFrame) -> dict[str, list[Cell]]:
    best = overlap.sort_values(["n_shared", "cluster"], ascending=[False, True])
    return {
        row.label: [
            Cell(str(row.cluster)),
            Cell(f"{row.share_of_label:.0%}"),
            Cell(f"{row.share_of_cluster:.0%}"),
        ]
        for row in best.drop_duplicates("label").itertuples()
    }


def planted_recall(result: DatasetResult) -> dict[str, tuple[int, int]] | None:
    """Count for each region the genes planted there, and those of them that are kept.

    None without planted regions, or if the primary method keeps every gene by design.
    """
    genes, method = result.genes, result.primary
    if "planted_regions" not in genes or not method.is_sparse:
        return None
    counts: dict[str, list[bool]] = {}
    planted = genes[genes["relevant"].astype(bool)]
    kept = planted[f"weight_{method.name}"] != 0
    for regions, is_kept in zip(planted["planted_regions"], kept, strict=True):
        for region in filter(None, str(regions).split(";")):
            counts.setdefault(region, []).append(bool(is_kept))
    return {region: (len(found), sum(found)) for region, found in counts.items()}


def _recall_cells(planted: int, kept: int) -> list[Cell]:
    cells = [Cell(str(planted)), Cell(str(kept))]
    if not planted:
        return [*cells, Cell(MISSING), Cell(MISSING)]
    interval = binomtest(kept, planted).proportion_ci(method="wilson")
    return [*cells, Cell(f"{kept / planted:.0%}"), Cell(f"{interval.low:.0%}–{interval.high:.0%}")]
