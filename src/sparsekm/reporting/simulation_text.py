"""What the simulations' page says in words, with its numbers computed from the tables."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.reporting.simulation_results import SimulationResult
from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.versus_paper import LIMIT

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
    "cer": "CER: classification error rate, lower is better",
    "pzw": "PZW: noise features dropped",
    "pnw": "PNW: relevant features kept",
}


def introduce(result: SimulationResult) -> list[str]:
    """Say what was run and how often."""
    number = result.replicates
    sentences = [
        f"Every number here comes from {number} repetition{'s' if number > 1 else ''} on simulated "
        "data, the same data for every method. Sparsities are chosen by the gap statistic with "
        "permuted references and its maximum, as in the paper."
    ]
    if result.is_preview:
        sentences.append(
            "This is a preview: standard errors from few repetitions are rough, and some settings "
            "are left out. The paper's evaluation, with its number of repetitions, all settings "
            "and the variants that explain differences, comes from the target “paper”, which "
            "writes results/simulation/report.html."
        )
    return sentences


def describe_differences(versus_paper: pd.DataFrame) -> list[str]:
    """Say how many of the paper's numbers are met, and how many differences are accounted for."""
    judged = versus_paper[versus_paper["units"].notna()]
    if judged.empty:
        return []
    far = judged[judged["exceeds"]]
    met = int((far["n_meeting"] > 0).sum())
    text = (
        f"Of {len(judged)} comparisons with the paper's tables, {len(far)} differ by more than "
        f"{LIMIT:g} units, a unit being √2 times our standard error (the paper's mean has an error "
        "too, taken to equal ours)."
    )
    if len(far):
        text += (
            f" In {met} of these, another run of the same method on the same data meets the "
            "paper's value; the table names them. No setting was tuned to match."
        )
    return [text]


def describe_brackets(versus_paper: pd.DataFrame) -> list[str]:
    """Say whether the CERs' brackets have the size of our standard deviations or variances."""
    cer = versus_paper[(versus_paper["metric"] == "cer") & (versus_paper["sd"] > 0)]
    cer = cer[cer["paper_bracket"].notna()].drop_duplicates(["setting", "method"])
    if cer.empty:
        return []
    as_sd = np.abs(np.log(cer["paper_bracket"] / cer["sd"]))
    as_variance = np.abs(np.log(cer["paper_bracket"] / cer["sd"] ** 2))
    nearer = int((as_variance < as_sd).sum())
    titles = ", ".join(dict.fromkeys(METHOD_ROWS[row].title for row in cer["row"]))
    return [
        f"The numbers in brackets after the CERs of Experiment 3 are called standard deviations; "
        f"in {nearer} of {len(cer)} rows they are closer to our variance than to our standard "
        f"deviation (of {titles}; the deviations range from {cer['sd'].min():.3f} to "
        f"{cer['sd'].max():.3f}). They are not used here."
    ]
