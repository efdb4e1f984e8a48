"""The paper's printed numbers judged: its means, their brackets, and two means of one design.

Brackets are taken for the standard deviations that they are called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.stats import t

from sparsekm.studies.paper.joint_counts import explain_counts
from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.other_runs import explain_bracket, explain_difference
from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.study_values import StudyValues
from sparsekm.studies.paper.versus_paper import (
    difference_in_units,
    mean_p,
    spread_p,
)

MEAN, SPREAD = "number", "spread"
"""Kinds of lines: a printed mean, and the bracket behind it."""


def judge_numbers(comparison: pd.DataFrame, study: StudyValues) -> Iterator[dict]:
    """Test every printed mean, and its bracket if there is one, as `compare_rows` lists them."""
    for line in comparison[comparison["row"].isin(study.judged.values())].itertuples():
        if np.isnan(line.units):
            continue
        yield _judge_mean(line, comparison, study)
        if line.paper_bracket > 0:
            yield _judge_bracket(line, comparison, study)


def _judge_mean(line, comparison: pd.DataFrame, study: StudyValues) -> dict:
    met, reason = explain_difference(line, comparison, study)
    joint = "" if met else explain_counts(line, comparison, study)
    return {
        **_describe(line, "", "Mean"),
        "kind": MEAN,
        "ours": line.mean,
        "se": line.se,
        "theirs": line.paper,
        "p_value": mean_p(line),
        "found": _sentence(joint or reason),
        "explained": met or bool(joint),
    }


def _judge_bracket(line, comparison: pd.DataFrame, study: StudyValues) -> dict:
    met, reason = explain_bracket(line, comparison)
    joint = "" if met else explain_counts(line, comparison, study)
    return {
        **_describe(line, "_bracket", "Standard deviation of the"),
        "kind": SPREAD,
        "ours": line.sd,
        "se": line.sd * line.log_sd_se if line.sd else 0.0,
        "theirs": line.paper_bracket,
        "p_value": spread_p(line),
        "found": _sentence(joint or reason),
        "explained": met or bool(joint),
    }


def _describe(line, ending: str, what: str) -> dict:
    metric = line.metric.upper()
    return {
        "claim": f"table_{line.table}_{line.metric}_{line.method}{ending}",
        "where": f"Table {line.table}",
        "statement": f"{what} {metric} of {METHOD_ROWS[line.row].title}",
        "experiment": line.experiment,
        "setting": line.setting,
        "metric": line.metric,
        "method": line.method,
        "reason": "",
    }


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def judge_repeat(claim: PaperClaim, study: StudyValues) -> dict:
    """Test whether two of the paper's means of one design differ by more than our error allows."""
    printed = [study.printed(setting, claim.left, claim.metric) for setting in claim.settings]
    theirs = printed[0] - printed[1]
    pair = [study.of_method(setting, claim.left, claim.metric) for setting in claim.settings]
    if any(values is None for values in pair):
        return {"theirs": theirs}
    se = float(np.sqrt(sum(values.var(ddof=1) / len(values) for values in pair)))
    # Their difference has the standard error of ours.
    units = difference_in_units(theirs, se, 0)
    return {
        "ours": float(pair[0].mean() - pair[1].mean()),
        "se": se,
        "theirs": theirs,
        "p_value": float(2 * t.sf(abs(units), min(map(len, pair)) - 1)),
        "found": "The paper's two means differ by more than our standard errors allow.",
        "explained": True,
    }
