"""What the simulations' page says in words, with its numbers computed from the tables."""

from __future__ import annotations

import numpy as np
from scipy.stats import binomtest

from sparsekm.reporting.simulation_results import SimulationResult

DESIGNS = {
    "experiment_1": "120 samples in six clusters, 2,000 features of which 200 are relevant, with "
    "mean 0.5 k in the k-th cluster; independent features.",
    "experiment_2": "60 samples in three clusters, p features of which 50 are relevant, with means "
    "μ, −μ and 0 in the clusters; independent features.",
    "experiment_3": "The means of Experiment 2. p = 25: 30 samples, 5 relevant features. p = 500: "
    "60 samples, 50 relevant features.",
    "experiment_4": "120 samples in six clusters, 2,000 features of which 200 are relevant, with "
    "mean k in the k-th cluster; features a and b correlate as ρ to the power |a − b|.",
}
METRIC_NAMES = {
    "cer": "CER: classification error rate, lower is better; chance is that of random clusters of "
    "the sizes found",
    "ari": "ARI: adjusted Rand index, 1 for the true partition, 0 on average for a random one",
    "ami": "AMI: adjusted mutual information, on the same scale",
    "pzw": "PZW: noise features dropped",
    "pnw": "PNW: relevant features kept",
}
METRIC_GROUPS = [["cer", "ari", "ami"], ["pzw", "pnw"]]
_RATES = ("cer", "cer_chance", "ari", "ami", "ecr")


def introduce(result: SimulationResult) -> list[str]:
    """Say what was run and how often."""
    number = result.replicates
    said = f"{number} repetition{'s' if number > 1 else ''}"
    if result.fewest < number:
        said += f" ({result.fewest} of most runs that judge no claim)"
    sentences = [
        f"Every number here comes from {said} on simulated data, the same data for every method. "
        "Sparsities are chosen by the gap statistic with permuted references and its maximum, as "
        "in the paper.",
        "Algorithm 1 as printed runs Lloyd's k-means afresh in every round and shares nothing "
        "along the path; made monotone it also tries the labels it has, by exchange moves, and is "
        "restarted. The paper says of Experiment 1 alone that data are normalised; here all are "
        "z-scored, and variants on raw data show what that changes.",
        "What the paper leaves open is ours: the starts of every k-means (one for Algorithm 1 as "
        "printed), at most 100 rounds of that algorithm (six in the authors' scripts and in a row "
        "of its own), the grid of sparsities, its refinement around the largest gap, the number of "
        "permutations (that of the authors' scripts), one principal "
        "component for PCA-k-means (also theirs), and of P-likelihood the common variances, the "
        "starts and the grid of penalties, chosen by the modified BIC.",
    ]
    if number > 1:
        most = {
            n: f"{binomtest(0, n, alternative='less').proportion_ci(0.95).high:.0%}"
            for n in (number, result.fewest)
        }
        fewer = f" ({most[result.fewest]} after {result.fewest})" if len(most) > 1 else ""
        sentences.append(
            "Where all repetitions agree, a standard error of 0 would claim too much, so none is "
            f"given: with 95 % confidence at most {most[number]} of further ones would differ "
            f"after {number}{fewer}."
        )
    return sentences


def is_exact(value: float, error: float) -> bool:
    """Tell whether an error is 0, but for rounding: it is where all repetitions agree."""
    return error <= 1e-9 * max(1.0, abs(value))


def write_value(metric: str, value: float, se: float = np.nan) -> str:
    """Write a value with its standard error: rates to three decimals, counts to one.

    An error that this would round to 0 has one more digit. An error that is unknown, or 0 because
    all repetitions agree, is not written.

    Examples
    --------
    >>> write_value("cer", 0.3117, 0.0123), write_value("pzw", 1799.96, 0.04)
    ('0.312 ± 0.012', '1,799.96 ± 0.04')
    """
    if np.isnan(value):
        return "–"
    digits, error = 3 if metric in _RATES else 1, ""
    if not np.isnan(se) and not is_exact(value, se):
        if se < 0.5 * 10.0**-digits:
            digits = int(-np.floor(np.log10(se)))
        error = f" ± {se:.{digits}f}"
    return f"{value:,.{digits}f}{error}".replace("-", "−").replace("inf", "∞")
