"""Clusters against known classes (the regions of an atlas): who shares how many samples with whom.

This module defines the file ``contingency.csv``: a row for each method, cluster and class that
share samples, with the columns of `OVERLAP`. Samples without a known class are left out, also of
``n_cluster``.
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
    """Clusters against regions.

    Attributes
    ----------
    counts : DataFrame of shape (K, n_regions)
        Samples of each cluster (rows, by label) in each region (columns).
        A cluster of which no sample's region is known has no row.
    best_region : Series of length K
        The region that holds most of the cluster's samples; ties go to the first region.
    """

    counts: pd.DataFrame
    best_region: pd.Series


def overlap_clusters(labels: np.ndarray, regions: np.ndarray, order: list[str]) -> ClusterOverlap:
    """Count the samples that each cluster shares with each region.

    Parameters
    ----------
    labels : int array of shape (n,)
    regions : array of str, shape (n,)
        As `sparsekm.io.known_classes` describes them.
    order : list of str
        The regions in the order of the columns; it decides ties.
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
    """Tabulate clusters against known classes, for every method.

    Parameters
    ----------
    clusters : mapping of method name to int array of shape (n,)
    labels : array of str, shape (n,), or None
        Without known classes the table has no rows.
    regions : DataFrame, optional
        Columns acronym, name and color; its order decides ties. Classes that it does not have
        follow in alphabetical order, without name and colour.

    Returns
    -------
    table : DataFrame with the columns of `OVERLAP`
        By method, cluster and falling ``n_shared``; ``is_best`` marks one row of each cluster,
        whose ``share_of_cluster`` is the cluster's purity.
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
