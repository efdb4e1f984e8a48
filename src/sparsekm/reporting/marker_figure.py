"""Clusters against the kept features that mark them."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sparsekm.annotation.cluster_overlap import overlap_clusters
from sparsekm.figures.feature_heat_map import choose_markers, feature_heat_map
from sparsekm.io.known_classes import distinct_classes
from sparsekm.reporting.results import DatasetResult, MethodResult


def marker_figure(result: DatasetResult) -> Figure | None:
    """Draw the clusters of the primary method and the features that mark them, if any."""
    method = result.primary
    found = np.unique(method.labels)
    if method.centers is None or len(found) < 2:
        return None
    sizes = np.bincount(method.labels, minlength=len(method.centers))[found]
    differences = method.centers[found] - np.average(method.centers[found], axis=0, weights=sizes)
    markers = choose_markers(differences, method.weights)
    marked, features = zip(*markers, strict=True)
    symbols = result.var.index.astype(str)
    return feature_heat_map(
        differences[:, features],
        _name_clusters(result, method, found),
        [symbols[feature] for feature in features],
        marked,
    )


def _name_clusters(result: DatasetResult, method: MethodResult, found: np.ndarray) -> list[str]:
    best = {}
    if result.labels is not None:
        order = sorted(distinct_classes(result.labels))
        best = overlap_clusters(method.labels, result.labels, order).best_region.to_dict()
    return [f"{cluster}  {best[cluster]}" if cluster in best else str(cluster) for cluster in found]
