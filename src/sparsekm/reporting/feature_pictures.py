"""Features on the page: which the heat map shows, the signature by cluster, distributions."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sparsekm.figures import style
from sparsekm.reporting.clusters import cluster_colors
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.sample_map import drawn_samples

MOST_FEATURES = 30  # rows of the heat map whose names can be read, if there are few clusters
_FEWEST_EACH = 2
_MOST_DOTS = 30
_MOST_NUMBERS = 400_000  # on the page, a byte each: all values of the clusters, or else quantiles
_N_QUANTILES = 21  # every twentieth part
_STEP = 0.05  # of a byte, in standard deviations


def shown_features(result: DatasetResult) -> tuple[np.ndarray, np.ndarray]:
    """Choose the features of the heat map, ascending, and the cluster that each is shown for.

    Every cluster has the same number: the features of the signature, and then other kept features,
    whose mean in it is farthest from the mean of all other samples.
    """
    method = result.primary
    kept, numbers = np.flatnonzero(method.weights), np.unique(method.labels)
    sizes = np.bincount(method.labels)[numbers]
    means = method.measured_centers[np.ix_(numbers, kept)]
    # The mean of all others follows from the mean of all samples.
    others = (sizes @ means - sizes[:, None] * means) / np.maximum(sizes.sum() - sizes, 1)[:, None]
    apart = np.nan_to_num(np.abs(means - others))
    if method.signature is not None:
        apart[:, np.isin(kept, method.signature)] += 1 + apart.max()
    ranked = np.argsort(-apart, axis=1, kind="stable")
    each = max(_FEWEST_EACH, MOST_FEATURES // len(numbers))
    chosen: dict[int, int] = {}
    # Clusters choose one after the other, so that none takes features that mark another.
    for _ in range(each):
        for number, order in zip(numbers.tolist(), ranked.tolist(), strict=True):
            place = next((place for place in order if place not in chosen), None)
            if place is not None:
                chosen[place] = number
    places = np.array(sorted(chosen), dtype=int)
    return kept[places], np.array([chosen[place] for place in places], dtype=int)


@style.figure_style()
def dot_figure(result: DatasetResult) -> Figure | None:
    """Draw the signature by cluster: means as colours, shares above the mean of all as sizes."""
    method = result.primary
    if method.signature is None or not len(method.signature):
        return None
    ranked = method.signature[np.argsort(-method.scores[method.signature], kind="stable")]
    features = np.sort(ranked[:_MOST_DOTS])
    numbers, values = np.unique(method.labels), result.read_features(features)
    own = [values[method.labels == number] for number in numbers]
    means = [part.mean(axis=0) for part in own]
    shares = [(part > 0).mean(axis=0) for part in own]
    figure = style.new_figure(1.8 + 0.24 * len(features), 1.3 + 0.24 * len(numbers))
    axes = figure.subplots()
    x, y = np.meshgrid(range(len(features)), range(len(numbers)))
    look: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -2, "vmax": 2, "edgecolors": style.INK}
    dots = axes.scatter(x, y, s=25 + 105 * np.array(shares), c=means, linewidths=0.4, **look)
    names = [style.short_name(name, 18) for name in result.var.index[features]]
    axes.set_xticks(range(len(features)), names, rotation=90, fontsize=6.5, parse_math=False)
    axes.set_yticks(range(len(numbers)), [f"cluster {number}" for number in numbers], fontsize=7)
    axes.set(xlim=(-0.7, len(features) - 0.3), ylim=(len(numbers) - 0.4, -0.6))
    style.remove_frame(axes)
    bar = figure.colorbar(dots, ax=axes, pad=0.02, fraction=0.03, ticks=[-2, 0, 2], extend="both")
    bar.set_label("mean", fontsize=6.5)
    return figure


def view_distributions(result: DatasetResult, names: Sequence[str]) -> dict[str, Any] | None:
    """Prepare the distributions by cluster of listed features: quantiles in bytes.

    They are whole multiples of `_STEP` standard deviations, from -127 to 127. `columns` are the
    numbers in a row of each cluster, ascending: all of its values, or `_N_QUANTILES`. Rows come in
    the order of `names`.
    """
    if result.is_atlas:
        return None
    labels, drawn = result.primary.labels, np.sort(drawn_samples(result))
    numbers, columns = np.unique(labels[drawn], return_counts=True)
    if columns.sum() * len(names) > _MOST_NUMBERS:
        columns = np.full(len(numbers), _N_QUANTILES)
        names = names[: _MOST_NUMBERS // columns.sum()]
    places = {name: place for place, name in enumerate(result.all_features)}
    features = np.array([places[name] for name in names], dtype=int)
    ascending, order = np.unique(features, return_inverse=True)
    values = result.read_features(ascending, drawn, whole=True)
    parts = [
        np.quantile(values[labels[drawn] == number], np.linspace(0, 1, n), axis=0)
        for number, n in zip(numbers, columns, strict=True)
    ]
    steps = np.concatenate(parts).T[order] / _STEP
    code = np.rint(steps.clip(-127, 127)).astype(np.int8).tobytes()
    colors = cluster_colors(result)
    return {
        "clusters": numbers.tolist(),
        "colors": [colors[int(number)] for number in numbers],
        "columns": columns.tolist(),
        "step": _STEP,
        "code": b64encode(code).decode(),
    }
