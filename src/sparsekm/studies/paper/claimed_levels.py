"""The paper's claims that a method's mean keeps to a bound.

Such a claim is reproduced only where our mean keeps to the bound. A test tells whether a mean
beyond it is so by more than noise.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import t

from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.settings import Setting
from sparsekm.studies.paper.study_values import StudyValues, runs_of
from sparsekm.studies.paper.versus_paper import ERROR, describe_run, list_some, paired_below


def judge_level(claim: PaperClaim, setting: Setting, study: StudyValues) -> dict:
    """Test whether our mean is beyond the bound; a mean that keeps to it has p = 1."""
    theirs = study.printed(setting, claim.left, claim.metric)
    values = study.of_method(setting, claim.left, claim.metric)
    if values is None:
        return {"theirs": theirs}
    mean, se, p_value = _beyond(claim, values)
    against_table = not np.isnan(theirs) and _excess(claim, theirs) != 0
    kept, near = _other_levels(claim, setting, study)
    bound = f"{claim.relation} {claim.bound:g}"
    table = f"The paper's own number is not {bound}." if against_table else ""
    other = f"It is with other runs: {kept}." if kept else ""
    noisy = f"With other runs it misses the bound within noise: {near}." if near else ""
    return {
        "ours": mean,
        "se": se,
        "theirs": theirs,
        "p_value": p_value,
        "keeps": _excess(claim, mean) == 0,
        "found": f"Our mean is not {bound}. {other or noisy}".strip(),
        "explained": bool(against_table or kept or near),
        # Told also of a mean that keeps to the bound: it may be the reading that is wrong.
        "reason": f"{table} {claim.remark}".strip(),
    }


def _excess(claim: PaperClaim, mean: float) -> float:
    """Say how far a mean is above the bound, or below it: then the number is negative."""
    low, high = claim.interval
    return mean - np.clip(mean, low, high)


def _beyond(claim: PaperClaim, values: pd.Series) -> tuple[float, float, float]:
    """Give the mean, its standard error, and the p-value of "beyond the bound"."""
    mean, se = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    excess = abs(_excess(claim, mean))
    p_value = 1.0 if excess == 0 else (float(t.sf(excess / se, len(values) - 1)) if se else 0.0)
    return mean, se, p_value


def _other_levels(claim: PaperClaim, setting: Setting, study: StudyValues) -> tuple[str, str]:
    """Name other runs whose mean keeps to the bound, and those that miss it within noise.

    Both are nearer to the bound than our mean, by paired tests over the same data that are adjusted
    for their number (Bonferroni).
    """
    judged = study.judged.get(claim.left, claim.left)
    own = study.of_row(setting, judged, claim.metric)
    names = [name for name in runs_of(claim.left) if name != judged]
    ran = {name: study.of_row(setting, name, claim.metric) for name in names}
    others = {name: values for name, values in ran.items() if values is not None}
    above = _excess(claim, own.mean()) > 0
    kept, near = [], []
    for name, values in others.items():
        mean, se, p_value = _beyond(claim, values)
        moved = paired_below(*((values, own) if above else (own, values)))[2]
        if moved * len(others) < ERROR and p_value >= ERROR:
            found = kept if _excess(claim, mean) == 0 else near
            found.append(describe_run(name, claim.metric, mean, se))
    return list_some(kept), list_some(near)
