"""Overlap of clusters with known classes (or the regions of an atlas).

This module defines the file ``contingency.csv``: a row for each method, cluster and class that have
samples in common, with the columns of `OVERLAP`. Samples without a known class are left out,
including from ``n_cluster``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.io.checked_table import FLAG, NUMBER, WHOLE, WORD
from sparsekm.io.known_classes import distinct_classes, is_known
from sparsekm.io.table_format import TableFormat

OVERLAP = TableFormat(
    "match_clusters",
    {
        "method": WORD,
        "cluster": WHOLE,
        "n_cluster": WHOLE,
        "label": WORD,
        "name": WORD,
        "color": WORD,
        "n_label": WHOLE,
        "n_shared": WHOLE,
        "share_of_cluster": NUMBER,
        "share_of_label": NUMBER,
        "is_best": FLAG,
    },
)


@dataclass(frozen=True)
class ClusterOverlap:
    """Clusters (rows, by label) against regions (columns).

    `counts` are the samples in both; a cluster without samples of a known region has no row.
    `best_region` is the region with most of the cluster's samples; ties go to the first region.
    """

    counts: pd.DataFrame
    best_region: pd.Series


def overlap_clusters(labels: np.ndarray, regions: np.ndarray, order: list[str]) -> ClusterOverlap:
    """Count the samples of each cluster in each region.

    `order` lists the regions in the order of the columns, which decides ties.
    """
    known = is_known(regions)
    counts = pd.crosstab(
        pd.Series(np.asarray(labels)[known], name="cluster"),
        pd.Series(np.asarray(regions)[known], name="region"),
    ).reindex(columns=order, fill_value=0)
    return ClusterOverlap(counts, counts.idxmax(axis=1))


def tabulate_overlap(
    clusters: Mapping[str, np.ndarray],
    labels: np.ndarray | None,
    regions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Tabulate clusters against known classes, for every method, with the columns of `OVERLAP`.

    `regions` has the columns acronym, name and color, and its order decides ties; other classes
    follow in alphabetical order, without name and colour. Rows are sorted by method, cluster and
    descending ``n_shared``; ``is_best`` marks one row of each cluster, whose ``share_of_cluster``
    is the purity of the cluster. Without known classes there are no rows.
    """
    parts = (
        []
        if labels is None
        else [_tabulate(m, found, labels, regions) for m, found in clusters.items()]
    )
    if not parts:
        return pd.DataFrame({column: [] for column in OVERLAP.columns})
    return pd.concat(parts, ignore_index=True)


def _tabulate(
    method: str, clusters: np.ndarray, labels: np.ndarray, regions: pd.DataFrame | None
) -> pd.DataFrame:
    names, colors = {}, {}
    if regions is not None:
        acronyms = regions["acronym"].astype(str)
        names = dict(zip(acronyms, regions["name"].astype(str), strict=True))
        colors = dict(zip(acronyms, regions["color"].astype(str), strict=True))
    labels = np.asarray(labels).astype(str)
    present = distinct_classes(labels)
    order = [a for a in names if a in set(present)] + [a for a in present if a not in names]
    overlap = overlap_clusters(clusters, labels, order)
    rows = overlap.counts.stack().rename("n_shared").reset_index()
    rows.columns = ["cluster", "label", "n_shared"]
    n_cluster, n_label = overlap.counts.sum(axis=1), overlap.counts.sum(axis=0)
    rows["method"] = method
    rows["n_cluster"] = rows["cluster"].map(n_cluster)
    rows["n_label"] = rows["label"].map(n_label)
    rows["name"] = rows["label"].map(lambda label: names.get(label, ""))
    rows["color"] = rows["label"].map(lambda label: colors.get(label, ""))
    rows["share_of_cluster"] = rows["n_shared"] / rows["n_cluster"]
    rows["share_of_label"] = rows["n_shared"] / rows["n_label"]
    rows["is_best"] = rows["label"] == rows["cluster"].map(overlap.best_region)
    rows = rows[rows["n_shared"] > 0].sort_values(
        ["cluster", "n_shared", "is_best"], ascending=[True, False, False], kind="stable"
    )
    return rows[list(OVERLAP.columns)]
