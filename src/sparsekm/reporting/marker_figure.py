"""Clusters against the kept features that mark them."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sparsekm.figures.style import choose_markers, feature_heat_map
from sparsekm.reporting.results import DatasetResult


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
        _name_clusters(result, found),
        [symbols[feature] for feature in features],
        marked,
    )


def _name_clusters(result: DatasetResult, found: np.ndarray) -> list[str]:
    """Name clusters by their majority classes, in ties the same as in the tables."""
    best = {}
    if result.overlap is not None:
        majorities = result.overlap[result.overlap["is_best"]]
        best = dict(zip(majorities["cluster"], majorities["label"], strict=True))
    return [f"{cluster}  {best[cluster]}" if cluster in best else str(cluster) for cluster in found]
