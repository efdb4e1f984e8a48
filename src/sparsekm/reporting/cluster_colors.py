"""The colours of clusters and of known classes, the same in every figure and table."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.colors import to_hex

from sparsekm.annotation.clusters import ClusterOverlap, overlap_clusters
from sparsekm.figures.palette import DROPPED
from sparsekm.figures.style import categorical_colors, shades
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.reporting.results import DatasetResult


def color_clusters(overlap: ClusterOverlap, known: Mapping[str, str]) -> dict[int, str]:
    """Assign each cluster the colour of its majority region, in shades if several share a region.

    The cluster with the most samples of the region gets the colour of the region itself.
    """
    colors = {}
    for region, clusters in overlap.best_region.groupby(overlap.best_region).groups.items():
        shared = overlap.counts.loc[clusters, region].sort_values(ascending=False, kind="stable")
        others = [color for name, color in known.items() if name != region]
        own = shades(known[region], len(shared), avoid=others)
        colors.update(zip(shared.index, own, strict=True))
    return {int(cluster): colors[cluster] for cluster in overlap.counts.index}


def region_colors(result: DatasetResult) -> dict[str, str]:
    """Return the colours of the occurring regions by acronym, in the order of the atlas.

    Regions without a colour in the table get another colour.
    """
    present = set(result.obs["region"].astype(str))
    table = result.regions
    listed = {
        # The ontology omits the # before a colour.
        str(acronym): to_hex("#" + str(color).removeprefix("#"))
        for acronym, color in zip(table["acronym"], table["color"], strict=True)
        if str(acronym) in present
    }
    missing = sorted(present - set(listed))
    return listed | dict(zip(missing, categorical_colors(len(missing)), strict=True))


def class_colors(result: DatasetResult) -> dict[str, str]:
    """Return the colour of every known class; samples without a class are grey."""
    if result.is_atlas:
        return region_colors(result)
    labels = result.labels
    if labels is None:
        return {}
    names = sorted(distinct_classes(labels), key=_natural)
    unknown = {UNKNOWN: DROPPED} if UNKNOWN in labels else {}
    return dict(zip(names, categorical_colors(len(names)), strict=True)) | unknown


def cluster_colors(result: DatasetResult) -> dict[int, str]:
    """Return the colour of every cluster of the answer: that of its majority class, if any.

    Clusters that share a class have different shades; those without any known class are grey.
    """
    clusters = result.primary.labels
    numbers = [int(number) for number in np.unique(clusters)]
    if result.labels is None:
        return dict(zip(numbers, categorical_colors(len(numbers)), strict=True))
    known = {name: color for name, color in class_colors(result).items() if name != UNKNOWN}
    overlap = overlap_clusters(clusters, result.labels, list(known))
    return dict.fromkeys(numbers, DROPPED) | color_clusters(overlap, known)


def _natural(name: str) -> tuple[int, float, str]:
    """Order "2" before "10", and numbers before words."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
