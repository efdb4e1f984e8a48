"""Means of the features that mark the clusters, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from sparsekm.figures.style import figure_style, new_figure
from sparsekm.figures.texts import short_name

MOST_FEATURES = 40
_MOST_OF_A_CLUSTER = 8
_LEAST_LIMIT = 0.5


def choose_markers(centers: np.ndarray, weights: np.ndarray) -> list[tuple[int, int]]:
    """Choose, among the kept features, the best markers of each cluster.

    A feature marks the cluster with its highest mean; the more that mean exceeds the second
    highest, the better the marker. `centers` has the shape (n_clusters, n_features), with at least
    two clusters, and `weights` (n_features,). The result is a list of (cluster, feature), cluster
    after cluster, the best marker first, about `MOST_FEATURES` at most. The maximum is the same for
    all clusters; ties go to the lowest index.
    """
    number = max(1, min(_MOST_OF_A_CLUSTER, MOST_FEATURES // len(centers)))
    kept = np.flatnonzero(weights)
    highest = centers[:, kept].argmax(axis=0)
    second, first = np.sort(centers[:, kept], axis=0)[-2:]
    order = np.argsort(second - first, kind="stable")
    return [
        (cluster, int(kept[place]))
        for cluster in range(len(centers))
        for place in order[highest[order] == cluster][:number]
    ]


def feature_heat_map(
    values: np.ndarray, clusters: Sequence[str], features: Sequence[str], marked: Sequence[int]
) -> Figure:
    """Draw one row for each cluster and one column for each feature.

    `values`, of shape (n_clusters, n_features), are differences from the mean over all samples;
    `clusters` and `features` are names. `marked` is the cluster that each feature marks; features
    of one cluster follow each other.
    """
    limit = max(_LEAST_LIMIT, float(np.quantile(np.abs(values), 0.98)))
    clusters, features = ([*map(short_name, names)] for names in (clusters, features))
    longest = [max(len(name) for name in names) for names in (clusters, features)]
    with figure_style():
        width = 1.6 + 0.06 * longest[0] + 0.125 * len(features)
        figure = new_figure(max(width, 3.6), 0.7 + 0.055 * longest[1] + 0.17 * len(clusters))
        axes = figure.subplots()
        # One pixel for each value: small files, and sharp at any size.
        look = {"cmap": "RdBu_r", "aspect": "auto", "interpolation": "none"}
        image = axes.imshow(values, vmin=-limit, vmax=limit, **look)
        axes.set_yticks(range(len(clusters)), clusters)
        axes.set_xticks(range(len(features)), features, rotation=90, fontsize=6.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        for border in np.flatnonzero(np.diff(marked)) + 0.5:
            axes.axvline(border, color="white", linewidth=1.2)
        bar = figure.colorbar(image, ax=axes, extend="both", pad=0.01, fraction=0.03)
        bar.set_label("difference from\nthe overall mean")
        bar.outline.set_linewidth(0.4)
    return figure
