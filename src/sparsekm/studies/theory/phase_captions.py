"""What the phase diagrams of Theorems 4 and 5 show, with the numbers they were made with."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from sparsekm.studies.theory.level_model import three_levels
from sparsekm.studies.theory.plane import Plane
from sparsekm.studies.theory.support_recovery import least_features, samples_for_growth


def recovery_caption(planes: Sequence[Plane], table: pd.DataFrame, n_init: int) -> str:
    """Caption `sparsekm.studies.theory.phase_figure.recovery_figure`."""
    return (
        "Theorems 4 and 5. Share of data sets in which the scores a_j of all p* relevant features "
        "exceed those of all noise features, so that the top s = p* are the planted support "
        f"({table['repetitions'].iloc[0]} data sets a cell, the same for every column; three equal "
        "clusters at levels μ, −μ and 0, unit variance, not standardised). Columns: scores of the "
        f"true labels; of k-means on all p features, the best of {n_init} starts (the partition of "
        f"Theorem 4); of l0-k-means at s = p* by Algorithm 1, made monotone, with {n_init} "
        "restarts (Theorem 5); and by the global search. The dark line is where the exact "
        "probability for the true labels, min noncentral chi-square > max chi-square, is one half. "
        "In vermilion, "
        "where it crosses a panel: p = p* n (dashed; the theorem asks for fewer features), p* = κ "
        f"(solid) and p = exp(ρ n) (dotted or solid). {_outside(planes)}\n"
    )


def condition_caption(planes: Sequence[Plane]) -> str:
    """Caption `sparsekm.studies.theory.phase_figure.condition_figure`."""
    return (
        "Theorems 4 and 5: how far their conditions lie from where recovery sets in. Shading: the "
        "exact probability that, with the true labels known, the scores of all relevant features "
        "exceed those of all noise features. Lines: the conditions p ≤ p* n, p* ≥ κ = 128 ln K "
        "(K + Σ π μ²) / (Σ π μ² − (Σ π μ)²)², and p = exp(ρ n) with ρ = Σ π μ² / 258, which stands "
        f"for p = o(exp(ρ n)). {_outside(planes)} {_unstated_condition(planes)} The conditions "
        "suffice; they are far from necessary.\n"
    )


def _unstated_condition(planes: Sequence[Plane]) -> str:
    """Say what p >= M asks for, for the strongest signal of the planes."""
    mu = max(max(plane.ys) if plane.y == "mu" else plane.fixed["mu"] for plane in planes)
    least = least_features(three_levels(mu))
    return (
        "No panel reaches p ≥ M, which Theorem 4 states without a value for M and Theorem 5 needs "
        f"without saying so: their proof goes through from M = {least:.0e} on, even at μ = {mu:g}."
    )


def _outside(planes: Sequence[Plane]) -> str:
    sentences = []
    for plane in planes:
        if plane.x == "n_samples":
            model = three_levels(plane.fixed["mu"])
            fewest, most = (samples_for_growth(model, p) for p in (plane.ys[0], plane.ys[-1]))
            sentences.append(
                f"At μ = {plane.fixed['mu']:g} the theorem asks for p* ≥ κ = {model.kappa:,.0f} "
                f"(here p* = {plane.fixed['n_relevant']:g}), and p = exp(ρ n) is at n = "
                f"{fewest:,.0f} for p = {plane.ys[0]:,g} and n = {most:,.0f} for p = "
                f"{plane.ys[-1]:,g}."
            )
        else:
            low, high = three_levels(plane.ys[0]), three_levels(plane.ys[-1])
            needed = samples_for_growth(high, plane.fixed["n_features"])
            sentences.append(
                f"κ falls from {low.kappa:,.0f} at μ = {plane.ys[0]:g} to {high.kappa:,.0f} at μ = "
                f"{plane.ys[-1]:g}, where p = exp(ρ n) is at n = {needed:,.0f} (here n = "
                f"{plane.fixed['n_samples']:g})."
            )
    return " ".join(sentences)
