"""The figure of the comparison: the features that each rule keeps, and its CER."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sparsekm.figures.palette import BLUE, GREY, INK, MARKERS, ORANGE, VERMILION
from sparsekm.figures.style import figure_style, new_figure

# Rules that are drawn; the table has all.
DRAWN = {
    "permutation, max": (ORANGE, MARKERS[1]),
    "permutation, auto": (BLUE, MARKERS[0]),
    "gaussian, max": (GREY, MARKERS[2]),
    "consensus": (VERMILION, MARKERS[3]),
}


def study_figure(summary: pd.DataFrame) -> Figure:
    """Draw a line per data set: CER above that of k-means, and the share of features kept."""
    shown = summary[summary["kind"] != "no_clusters"]
    names = list(dict.fromkeys(shown["data_set"]))
    with figure_style():
        figure = new_figure(7.4, 0.26 * len(names) + 1.1)
        left, right = figure.subplots(1, 2, sharey=True)
        for offset, (rule, (color, marker)) in zip(
            np.linspace(-0.24, 0.24, len(DRAWN)), DRAWN.items(), strict=True
        ):
            rows = shown[shown["rule"] == rule].set_index("data_set").loc[names]
            places = np.arange(len(names)) + offset
            style = {"color": color, "linestyle": "", "marker": marker, "markersize": 4.5}
            left.plot(rows["cer"] - rows["cer_kmeans"], places, label=rule, **style)
            right.plot(rows["share"], places, **style)
        best = shown[shown["rule"] == "best on path"].set_index("data_set").loc[names]
        left.plot(
            best["cer"] - best["cer_kmeans"],
            np.arange(len(names)),
            linestyle="",
            marker="|",
            markersize=13,
            color=INK,
            label="best on path",
        )
        left.axvline(0, color=GREY, linewidth=0.7)
        right.axvline(0.25, color=GREY, linewidth=0.7, linestyle=":")
        left.set_yticks(np.arange(len(names)), names)
        left.invert_yaxis()
        left.set(xlabel="CER above that of k-means on all features")
        right.set(xlabel="share of the features kept", xlim=(0, 1.02))
        for axes in (left, right):
            axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
            axes.set_axisbelow(True)
        figure.legend(loc="outside upper center", ncols=len(DRAWN) + 1)
    return figure
