"""Theorem 3 drawn: the error clustering rate of k-means beside its bound."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from sparsekm.figures.palette import GREY, MARKERS
from sparsekm.figures.style import categorical_colors, figure_style, new_figure, write_near
from sparsekm.studies.theory.level_model import three_levels


def bound_figure(partitions: pd.DataFrame, bounds: pd.DataFrame, p_star_of_paper: int) -> Figure:
    """Draw observed rates as markers and the bound, where the theorem has one, as dashed lines.

    The tables are those of `sparsekm.studies.theory.partition_consistency`; a line marks the number
    of relevant features in the paper's Experiment 2.
    """
    mus = list(dict.fromkeys(partitions["mu"]))
    with figure_style():
        figure = new_figure(6.4, 3.2, has_formulas=True)
        axes = figure.subplots()
        handles = []
        for mu, color, marker in zip(
            mus, categorical_colors(len(mus)), cycle(MARKERS), strict=False
        ):
            seen = partitions[partitions["mu"] == mu]
            observed = axes.errorbar(
                seen["n_relevant"],
                seen["ecr"],
                2 * seen["standard_error"],
                color=color,
                marker=marker,
                markersize=3.8,
                linewidth=1,
                capsize=2,
                label=f"μ = {mu:g}: observed",
                clip_on=False,
                zorder=3,
            )
            bound = bounds[bounds["mu"] == mu]
            kappa = bound["kappa"].iloc[0]
            (promised,) = axes.plot(
                bound["n_relevant"],
                bound["bound"],
                color=color,
                linestyle="--",
                label=f"μ = {mu:g}: bound, κ = {kappa:,.0f}",
            )
            handles += [observed, promised]
            axes.plot([kappa], [bound["bound"].iloc[0]], color=color, marker="|", markersize=9)
        axes.axvline(p_star_of_paper, color=GREY, linewidth=0.8, linestyle=":")
        text = f"$p^*$ = {p_star_of_paper} in\nExperiment 2"
        write_near(axes, text, (p_star_of_paper, 0.72), (3, 0), va="top")
        axes.set(xscale="log", ylim=(0, 0.72), xlabel="relevant features $p^*$ (log scale)")
        axes.set_ylabel("error clustering rate")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        # Column by column: what was observed above what is promised.
        figure.legend(handles=handles, loc="outside lower center", ncols=len(mus))
    return figure


def bound_caption(partitions: pd.DataFrame, bounds: pd.DataFrame, p_star_of_paper: int) -> str:
    """Say what the figure shows, and where the theorem says nothing."""
    n_samples = partitions["n_samples"].iloc[0]
    ratio = (partitions["n_features"] / partitions["n_relevant"]).iloc[0]
    lowest = three_levels(min(partitions["mu"]))
    kappas = bounds.drop_duplicates("mu")
    listed = "; ".join(
        f"{row.stated_kappa:,.0f} and {row.kappa:,.0f} at μ = {row.mu:g}"
        for row in kappas.itertuples()
    )
    held = partitions[
        partitions["n_relevant"] >= partitions["mu"].map(lambda mu: three_levels(mu).kappa)
    ]
    observed = (
        f"Where the condition p* ≥ κ holds, the largest mean rate observed is {held['ecr'].max():g}"
        f" over {held['repetitions'].sum()} data sets. "
        if len(held)
        else ""
    )
    exceedance = bounds["exceedance"].iloc[0]
    return (
        f"Theorem 3. Error clustering rate (one minus purity) of k-means, the best of 10 starts, "
        f"against the number p* of relevant features: {n_samples} samples, three equal clusters at "
        f"levels μ, −μ and 0, p = {ratio:g} p* (p ≤ p* n holds). Markers: mean over "
        f"{partitions['repetitions'].iloc[0]} data sets, bars two standard errors (none where all "
        f"agree). Dashed: the bound F(p*), exceeded with probability at most 2 K^−n = "
        f"{exceedance:.0e}, with f found numerically and the constant of the proof, which has a "
        "factor ln K that the theorem's statement leaves out. "
        f"Least p* for the bound, without and with ln K: {listed}. "
        f"{observed}At the settings of Experiment 2 (p* = {p_star_of_paper}, μ = "
        f"{max(lowest.levels):g}) the theorem is vacuous: it needs p* ≥ {lowest.kappa:,.0f}.\n"
    )
