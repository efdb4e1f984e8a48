"""A heat map of samples by features, with bars for annotation of the samples.

Columns are samples, ordered by cluster and, within a cluster, along the direction in which they
differ most. Rows are features, ordered by the cluster that they mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from sparsekm.figures.style import DROPPED, categorical_colors, remove_frame, short_name

# More samples are shown as means of this many bins.
MOST_COLUMNS = 600
# Standard deviations at which the colours end.
FARTHEST = 2.5
# The colours of more categories would not be distinguishable.
MOST_COLORED = 12
# The colour for samples without a value.
UNKNOWN = "#fdf0c4"


@dataclass(frozen=True)
class OrderedField:
    """Values in the order in which they are drawn."""

    values: np.ndarray  # (n_features, n_columns)
    columns: list[np.ndarray]  # the samples of each column
    clusters: np.ndarray  # their cluster
    features: np.ndarray  # the rows, as positions in the matrix that was given


def order_field(
    X: np.ndarray,
    labels: np.ndarray,
    most: int = MOST_COLUMNS,
    marked: np.ndarray | None = None,
) -> OrderedField:
    """Order samples and features, in standard deviations from the means of the features.

    Features are in blocks by the cluster for which they are `marked`, or else in which they are
    most extreme. A label of -1 leaves a sample out. More than `most` are averaged in bins of one
    cluster each.
    """
    deviation = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    found = [int(cluster) for cluster in np.unique(labels) if cluster >= 0]
    columns, clusters = [], []
    n_shown = int((np.asarray(labels) >= 0).sum())
    for cluster in found:
        members = np.flatnonzero(labels == cluster)
        members = members[_along_first_axis(Z[members])]
        n_bins = len(members)
        if n_shown > most:
            n_bins = max(1, round(most * len(members) / n_shown))
        columns += np.array_split(members, n_bins)
        clusters += [cluster] * n_bins
    centers = np.array([Z[labels == cluster].mean(axis=0) for cluster in found])
    most_extreme = np.abs(centers).argmax(axis=0)
    marked = most_extreme if marked is None else np.searchsorted(found, marked)
    extreme = np.take_along_axis(centers, marked[None], axis=0)[0]
    features = np.lexsort([-np.abs(extreme), extreme < 0, marked])
    values = np.array([Z[those].mean(axis=0) for those in columns])[:, features].T
    return OrderedField(values, columns, np.array(clusters), features)


def _along_first_axis(Z: np.ndarray) -> np.ndarray:
    """Order samples along their first principal component, whose largest loading is positive."""
    centred = Z - Z.mean(axis=0)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    # Values are rounded, so that equal samples keep their order with any linear algebra library.
    return np.argsort((centred @ axis).round(6), kind="stable")


def draw_field(axes: Axes, field: OrderedField, names: Sequence[str]) -> None:
    """Draw the heat map; `names` are those of all features, in the order of the matrix."""
    limits = {"vmin": -FARTHEST, "vmax": FARTHEST}
    image = axes.imshow(field.values, cmap="RdBu_r", aspect="auto", interpolation="none", **limits)
    shown = [short_name(names[feature], 18) for feature in field.features]
    axes.set_yticks(range(len(shown)), shown, fontsize=6.5, parse_math=False)
    axes.set_xticks([])
    remove_frame(axes)
    for border in np.flatnonzero(np.diff(field.clusters)) + 0.5:
        axes.axvline(border, color="white", linewidth=1.2)
    bar = axes.figure.colorbar(
        image, ax=axes, extend="both", pad=0.01, fraction=0.02, ticks=[-2, 0, 2]
    )
    bar.set_label("standard deviations", fontsize=6.5)
    bar.outline.set_linewidth(0.4)


class Bar(NamedTuple):
    """Annotation of samples: codes of categories with their colours, or shares from 0 to 1."""

    values: np.ndarray
    colors: Mapping[Any, str] | None = None
    legend: Sequence[tuple[str, str]] = ()  # names and their colours


def color_column(
    column: pd.Series,
    taken: int = 0,
    limits: tuple[float, float] | None = None,
    known: Mapping[str, str] | None = None,
) -> Bar:
    """Make a bar of a column: numbers from white to black, or categories.

    The most frequent categories have the colours after the first `taken`, so that none has two
    meanings, or those that are `known`; rarer ones are grey, and missing values pale. `limits` are
    those of numbers.
    """
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        numbers = column.to_numpy(float)
        finite = numbers[np.isfinite(numbers)]
        low, high = limits or ((finite.min(), finite.max()) if len(finite) else (0.0, 1.0))
        ends = [(f"{low:.3g}", "white"), (f"{high:.3g}", "black")]
        return Bar((numbers - low) / (high - low or 1.0), legend=ends)
    found = pd.Categorical(column).remove_unused_categories()
    common = np.sort(pd.Series(found.codes[found.codes >= 0]).value_counts().index[:MOST_COLORED])
    names, free = [*map(str, found.categories)], categorical_colors(taken + len(common))[taken:]
    hues = {c: (known or {}).get(names[c], hue) for c, hue in zip(common, free, strict=True)}
    rare = dict.fromkeys(range(len(names)), DROPPED)
    legend = [(names[code], hue) for code, hue in hues.items()]
    return Bar(found.codes, {-1: UNKNOWN, **rare, **hues}, legend)


def sample_colors(bar: Bar) -> np.ndarray:
    """Return the colour of every sample, (n, 3)."""
    if bar.colors is not None:
        return np.array([to_rgb(bar.colors[value]) for value in bar.values])
    greys = 1 - np.clip(np.asarray(bar.values, float), 0, 1)[:, None]
    return np.where(np.isfinite(greys), greys, to_rgb(UNKNOWN))


def draw_bar(axes: Axes, field: OrderedField, name: str, bar: Bar) -> None:
    """Draw a bar; a column of several samples has the most frequent colour, or the mean."""
    colors, pixels = sample_colors(bar), []
    for those in field.columns:
        found, counts = np.unique(colors[those], axis=0, return_counts=True)
        is_mean = bar.colors is None
        pixels.append(colors[those].mean(axis=0) if is_mean else found[counts.argmax()])
    axes.imshow([pixels], aspect="auto", interpolation="none")
    axes.set_xticks([])
    axes.set_yticks([0], [name], fontsize=6.5, parse_math=False)
    remove_frame(axes)
