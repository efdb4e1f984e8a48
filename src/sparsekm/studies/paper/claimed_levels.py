"""The paper's claims that a method's mean keeps to a bound, judged by tests against it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t

from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.settings import Setting
from sparsekm.studies.paper.study_values import StudyValues, runs_of
from sparsekm.studies.paper.versus_paper import ERROR, describe_run, list_some


def judge_level(claim: PaperClaim, setting: Setting, study: StudyValues) -> dict:
    """Test whether our mean is beyond the bound; a mean that keeps to it has p = 1."""
    theirs = study.printed(setting, claim.left, claim.metric)
    values = study.of_method(setting, claim.left, claim.metric)
    if values is None:
        return {"theirs": theirs}
    mean, se, p_value = _beyond(claim, values)
    low, high = claim.interval
    against_table = not (np.isnan(theirs) or low <= theirs <= high)
    kept = _other_levels(claim, setting, study)
    told = [
        f"Our mean is not {claim.relation} {claim.bound:g}.",
        "Nor is the paper's own number." if against_table else "",
        f"It is with other runs: {kept}." if kept else "",
    ]
    return {
        "ours": mean,
        "se": se,
        "theirs": theirs,
        "p_value": p_value,
        "found": " ".join(filter(None, told)),
        "explained": bool(against_table or kept),
    }


def _beyond(claim: PaperClaim, values: pd.Series) -> tuple[float, float, float]:
    """Give the mean, its standard error, and the p-value of "beyond the bound"."""
    mean, se = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    low, high = claim.interval
    beyond = max(low - mean, mean - high, 0.0)
    p_value = 1.0 if beyond == 0 else (float(t.sf(beyond / se, len(values) - 1)) if se else 0.0)
    return mean, se, p_value


def _other_levels(claim: PaperClaim, setting: Setting, study: StudyValues) -> str:
    """Name other runs of the method whose mean keeps to the bound, but for noise."""
    kept = []
    for name in runs_of(claim.left):
        values = study.of_row(setting, name, claim.metric)
        if values is not None:
            mean, se, p_value = _beyond(claim, values)
            if p_value >= ERROR:
                kept.append(describe_run(name, claim.metric, mean, se))
    return list_some(kept)
