r"""The paper's claims judged by our runs: printed numbers, their brackets, orders and levels.

Of each of the paper's methods one row is judged (`stand_ins`). A printed number is not reproduced
where our mean differs from it beyond chance. A level is reproduced where our mean keeps to its
bound; a mean beyond it differs, or leaves the claim open if it is so within noise. An order is
reproduced only where our data show it, by a paired test over the repetitions; where they do not,
they may show the contrary or leave it open, which a second test tells: two means that our
repetitions cannot tell apart do not contradict the paper. Each of the three families of tests,
for differences, for orders and for contrary orders, is held to an error of 5 % as a whole (Holm
1979).

Of a claim that differs beyond these tests, `outcome` says whether a run shows a reason: another run
of the method differs from ours and meets the number (`sparsekm.studies.paper.other_runs`) or the
bound, or shows the order; with another run in place of one side the contrary order vanishes; the
bracket agrees as a variance; two printed counts cannot both come from the design
(`sparsekm.studies.paper.joint_counts`); the paper's own tables speak against the claim; or a
computation found what is wrong with a statement of theory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.studies.paper.claimed_levels import judge_level
from sparsekm.studies.paper.claimed_orders import judge_order
from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.printed_numbers import MEAN, SPREAD, judge_numbers, judge_repeat
from sparsekm.studies.paper.study_values import StudyValues
from sparsekm.studies.paper.versus_paper import ERROR

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
CANNOT_BE_TESTED = "cannot be tested here"
NOT_JUDGED = "not judged"
"""The settings or methods did not run, or too seldom."""

OPEN, WITH_REASON, WITHOUT_REASON = "within noise", "with a reason", "without a reason"
"""Outcomes of what is not reproduced: nothing is shown; it differs, with or without a reason."""

CLAIM_COLUMNS = (
    *("claim", "where", "statement", "kind", "experiment", "setting", "metric", "method"),
    *("verdict", "outcome", "ours", "se", "low", "high", "theirs", "p_value", "reason"),
)
_NUMBERS = ("ours", "se", "low", "high", "theirs", "p_value", "contrary")
DIFFERENCE_KINDS = (MEAN, SPREAD, "level", "repeat")
"""Kinds whose test speaks against the claim; that of an order speaks for it."""


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Adjust p-values so that all tests at 5 % have one false alarm in 20 families.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate((len(values) - np.arange(len(values))) * values[order])
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def judge_claims(
    claims: Sequence[PaperClaim],
    repetitions: pd.DataFrame,
    paper: pd.DataFrame,
    comparison: pd.DataFrame,
    checks: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Judge every claim of the text in each of its settings, and every printed number.

    `repetitions` are all tables of `repetition_table` together, `paper` is as `read_paper_values`
    and `comparison` as `compare_rows` gives it; `checks` is what
    `sparsekm.studies.theory.checks.run_checks` found, without which theory is not judged.

    There is a line for each claim and setting, with the columns `CLAIM_COLUMNS`. Of an order, ours
    and theirs are the mean of the left side less that of the right; low and high are the interval
    of a share. The p-value is adjusted, and empty where nothing was tested.
    """
    study = StudyValues(repetitions, paper)
    known = {} if checks is None else {line.check: line for line in checks.itertuples()}
    lines = [
        *judge_numbers(comparison, study),
        *(line for claim in claims for line in _judge_claim(claim, study, known)),
    ]
    # The last five are of no use once they are judged.
    columns = [*CLAIM_COLUMNS, "contrary", "keeps", "found", "found_contrary", "explained"]
    table = pd.DataFrame(lines, columns=columns).astype(dict.fromkeys(_NUMBERS, float))
    table[["found", "found_contrary"]] = table[["found", "found_contrary"]].fillna("")
    tested = table["p_value"].notna()
    against = table["kind"].isin(DIFFERENCE_KINDS)
    orders = tested & ~against
    for column, family in (
        ("p_value", tested & against),
        ("p_value", orders),
        ("contrary", orders),
    ):
        table.loc[family, column] = holm(table.loc[family, column])
    levels = tested & (table["kind"] == "level")
    shown = (table["p_value"] < ERROR) ^ against
    judged = np.where(shown & ~(levels & table["keeps"].eq(False)), REPRODUCED, NOT_REPRODUCED)
    table["verdict"] = table["verdict"].fillna(NOT_JUDGED).where(~tested, judged)
    missed = table["verdict"] == NOT_REPRODUCED
    differs = missed & ((against & ~shown) | ~tested | (table["contrary"] < ERROR))
    explained = table["explained"].eq(True)
    table["outcome"] = np.select(
        [differs & explained, differs, missed], [WITH_REASON, WITHOUT_REASON, OPEN], ""
    )
    table.loc[orders & differs, "found"] = (
        "It is the other way round. " + table.loc[orders & differs, "found_contrary"]
    )
    noisy = (orders | levels) & missed & ~differs
    table.loc[noisy, "found"] = "The difference is within noise. " + table.loc[noisy, "found"]
    # What was found is told where a claim is not reproduced; the remark on its reading always.
    table["reason"] = (table["found"].where(missed, "") + " " + table["reason"]).str.strip()
    return table[list(CLAIM_COLUMNS)]


def _judge_claim(claim: PaperClaim, study: StudyValues, checks: Mapping[str, Any]) -> list[dict]:
    told = {
        "claim": claim.name,
        "where": claim.where,
        "statement": claim.statement,
        "kind": claim.kind,
        "metric": claim.metric,
        "method": ", ".join(filter(None, [claim.left, claim.right])),
        "reason": claim.remark,
    }
    if claim.kind == "atlas":
        reason = f"It needs the data of the atlas. {claim.remark}".strip()
        return [told | {"verdict": CANNOT_BE_TESTED, "reason": reason}]
    if claim.kind == "theory":
        return [told | _judge_theory(claim, checks.get(claim.metric))]
    if claim.kind == "repeat":
        return [told | judge_repeat(claim, study)]
    judge = {"order": judge_order, "level": judge_level}[claim.kind]
    return [
        told
        | {"experiment": setting.experiment, "setting": setting.name}
        | judge(claim, setting, study)
        for setting in claim.settings
    ]


def _judge_theory(claim: PaperClaim, check: Any) -> dict:
    """Take the verdict of a computation over."""
    if check is None:
        return {}
    reason = "" if pd.isna(check.reason) else check.reason
    return {
        "verdict": REPRODUCED if check.holds else NOT_REPRODUCED,
        "ours": check.ours,
        "se": check.se,
        "low": check.low,
        "high": check.high,
        "theirs": check.theirs,
        "reason": f"{reason} {claim.remark}".strip(),
        "explained": bool(reason),
    }
