"""The colour of a cluster, which follows from the region (or class) that it overlaps most."""

from __future__ import annotations

from collections.abc import Mapping

from sparsekm.annotation.cluster_overlap import ClusterOverlap
from sparsekm.figures.style import shades


def color_clusters(overlap: ClusterOverlap, region_colors: Mapping[str, str]) -> dict[int, str]:
    """Give each cluster the colour of its best region, in shades where a region has several.

    The cluster that shares most samples with the region gets the region's own colour.
    """
    colors = {}
    for region, clusters in overlap.best_region.groupby(overlap.best_region).groups.items():
        shared = overlap.counts.loc[clusters, region].sort_values(ascending=False, kind="stable")
        others = [color for name, color in region_colors.items() if name != region]
        own = shades(region_colors[region], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in overlap.counts.index}
