"""Theorem 1 drawn: expected scores against the share of mislabelled samples."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from sparsekm.figures.palette import BLUE, GREY, INK, ORANGE
from sparsekm.figures.style import figure_style, new_figure, write_near

_LOOKS = {"normal": (BLUE, "o"), "exponential": (ORANGE, "s")}


def score_figure(scores: pd.DataFrame, n_clusters: int) -> Figure:
    """Draw relevant features beside noise features, as `simulate_scores` and in closed form."""
    with figure_style():
        figure = new_figure(6.6, 2.7, has_formulas=True)
        for axes, feature in zip(figure.subplots(1, 2), ("relevant", "noise"), strict=True):
            panel = scores[scores["feature"] == feature]
            closed = panel.groupby("mislabelled")["expected"].mean()
            axes.plot(
                100 * closed.index, closed, color=INK, linewidth=1.1, label="closed form", zorder=1
            )
            for shift, (distribution, points) in zip(
                (-0.6, 0.6), panel.groupby("distribution", sort=False), strict=False
            ):
                color, marker = _LOOKS[distribution]
                axes.errorbar(
                    100 * points["mislabelled"] + shift,
                    points["score"],
                    2 * points["standard_error"],
                    color=color,
                    marker=marker,
                    markersize=3.6,
                    linestyle="none",
                    elinewidth=1,
                    capsize=2,
                    label=f"simulated, {distribution} noise",
                )
            axes.set_title(f"{feature} features", loc="left")
            axes.set_xlabel("samples mislabelled (%)")
        relevant, noise = figure.axes
        relevant.set_ylim(bottom=0)
        relevant.axhline(n_clusters - 1, color=GREY, linewidth=0.8, linestyle=":")
        write_near(relevant, "$K-1$", (0, n_clusters - 1), (0, 2))
        relevant.set_ylabel("score $a_j$, mean")
        relevant.legend(loc="upper right")
        margin = 0.15 * (n_clusters - 1)
        noise.set_ylim(n_clusters - 1 - margin, n_clusters - 1 + margin)
    return figure


def score_caption(scores: pd.DataFrame, mu: float, cluster_size: int, n_features: int) -> str:
    """Say what the figure shows, with the numbers it was made with."""
    repetitions = scores["repetitions"].iloc[0]
    return (
        "Theorem 1. Expected score a_j (between-cluster sum of squares of one feature) of a "
        "partition into K = 3 clusters against the share of samples moved at random to another "
        f"cluster. The closed form is n Σ π̃ μ̃² − n (Σ π̃ μ̃)² + K − 1, averaged over the "
        f"partitions drawn. Markers: mean over {repetitions} data sets of {3 * cluster_size} "
        f"samples, of {n_features} features each of either kind; bars are two standard errors. "
        f"Relevant features (levels {mu:g}, −{mu:g}, 0) score highest at the true partition (part "
        "III); a noise feature scores K − 1 = 2 in expectation whatever the partition (parts I and "
        "II), for skewed noise as well as for normal noise: only the variance matters. Note the "
        "narrow axis on the right.\n"
    )
