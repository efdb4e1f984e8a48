"""Which region (or class) a cluster overlaps most, and the colour that follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.reporting.style import shades


@dataclass(frozen=True)
class ClusterOverlap:
    """Clusters against regions.

    Attributes
    ----------
    counts : DataFrame of shape (K, n_regions)
        Samples of each cluster (rows, by label) in each region (columns).
    best_region : Series of length K
        The region that holds most of the cluster's samples; ties go to the first region.
    purity : Series of length K
        Share of the cluster's samples that lie in its best region.
    """

    counts: pd.DataFrame
    best_region: pd.Series
    purity: pd.Series

    @property
    def unmatched_regions(self) -> list[str]:
        """Regions that are the best region of no cluster."""
        matched = set(self.best_region)
        return [region for region in self.counts.columns if region not in matched]


def overlap_clusters(labels: np.ndarray, regions: np.ndarray, order: list[str]) -> ClusterOverlap:
    """Count the samples that each cluster shares with each region.

    Parameters
    ----------
    labels : int array of shape (n,)
    regions : array of str, shape (n,)
    order : list of str
        The regions in the order of the columns; it decides ties.

    Returns
    -------
    overlap : ClusterOverlap
    """
    counts = pd.crosstab(
        pd.Series(np.asarray(labels), name="cluster"), pd.Series(regions, name="region")
    ).reindex(columns=order, fill_value=0)
    best = counts.idxmax(axis=1)
    purity = counts.max(axis=1) / counts.sum(axis=1)
    return ClusterOverlap(counts, best, purity)


def color_clusters(overlap: ClusterOverlap, region_colors: Mapping[str, str]) -> dict[int, str]:
    """Give each cluster the colour of its best region, in shades where a region has several.

    The cluster that shares most samples with the region gets the region's own colour.

    Parameters
    ----------
    overlap : ClusterOverlap
    region_colors : mapping of region to colour

    Returns
    -------
    colors : dict of cluster label to hex string
    """
    colors = {}
    for region, clusters in overlap.best_region.groupby(overlap.best_region).groups.items():
        shared = overlap.counts.loc[clusters, region].sort_values(ascending=False, kind="stable")
        others = [color for name, color in region_colors.items() if name != region]
        own = shades(region_colors[region], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in overlap.counts.index}
