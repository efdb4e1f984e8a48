"""The colour of a cluster, determined by the region (or class) that it overlaps most."""

from __future__ import annotations

from collections.abc import Mapping

from sparsekm.annotation.clusters import ClusterOverlap
from sparsekm.figures.style import shades


def color_clusters(overlap: ClusterOverlap, region_colors: Mapping[str, str]) -> dict[int, str]:
    """Assign each cluster the colour of its majority region, in shades if several share a region.

    The cluster with the most samples of the region gets the colour of the region itself.
    """
    colors = {}
    for region, clusters in overlap.best_region.groupby(overlap.best_region).groups.items():
        shared = overlap.counts.loc[clusters, region].sort_values(ascending=False, kind="stable")
        others = [color for name, color in region_colors.items() if name != region]
        own = shades(region_colors[region], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in overlap.counts.index}
