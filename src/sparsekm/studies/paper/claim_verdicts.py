r"""The paper's claims judged by our runs: printed numbers, their brackets, orders and levels.

Of each of the paper's methods one row is judged (`stand_ins`). A printed number is not reproduced
where our mean differs from it beyond chance, a level where our mean is beyond its bound; an order
is reproduced only where our data show it, by a paired test over the repetitions. Each of the two
families of tests is held to an error of 5 % as a whole (Holm 1979).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from sparsekm.studies.paper.method_rows import METHOD_ROWS, stand_ins
from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.settings import Setting
from sparsekm.studies.paper.versus_paper import (
    CELL,
    FEWEST,
    difference_in_units,
    explain_difference,
)

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
CANNOT_BE_TESTED = "cannot be tested here"
NOT_JUDGED = "not judged"
"""The settings or methods did not run, or too seldom."""

ERROR = 0.05

CLAIM_COLUMNS = (
    *("claim", "where", "statement", "kind", "experiment", "setting", "metric", "method"),
    *("verdict", "ours", "se", "theirs", "p_value", "reason"),
)
_NUMBER, _SPREAD = "number", "spread"
DIFFERENCE_KINDS = (_NUMBER, _SPREAD, "level", "repeat")
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

    Parameters
    ----------
    claims : sequence of PaperClaim
    repetitions : DataFrame
        All tables of `repetition_table` together.
    paper : DataFrame
        See `read_paper_values`.
    comparison : DataFrame
        See `compare_rows`.
    checks : DataFrame, optional
        What `sparsekm.studies.theory.checks.run_checks` found. Without it theory is not judged.

    Returns
    -------
    DataFrame
        The columns are `CLAIM_COLUMNS`, a line for each claim and setting. Of an order, ours and
        theirs are the mean of the left side less that of the right. The p-value is adjusted, and
        empty where nothing was tested.
    """
    study = _Study(repetitions, paper, checks)
    lines = [
        *_judge_numbers(comparison, study),
        *(line for claim in claims for line in _judge_claim(claim, study)),
    ]
    numbers = dict.fromkeys(("ours", "se", "theirs", "p_value"), float)
    table = pd.DataFrame(lines, columns=[*CLAIM_COLUMNS, "found"]).astype(numbers)
    tested = table["p_value"].notna()
    against = table["kind"].isin(DIFFERENCE_KINDS)
    for family in (tested & against, tested & ~against):
        table.loc[family, "p_value"] = holm(table.loc[family, "p_value"])
    shown = (table["p_value"] < ERROR) ^ against
    judged = np.where(shown, REPRODUCED, NOT_REPRODUCED)
    table["verdict"] = table["verdict"].where(~tested, judged)
    # What was found is told where a claim is not reproduced; the remark on its reading always.
    missed = table["verdict"] == NOT_REPRODUCED
    table["reason"] = (table["found"].where(missed, "") + " " + table["reason"]).str.strip()
    return table[list(CLAIM_COLUMNS)]


class _Study:
    """The values of every repetition, and the paper's numbers."""

    def __init__(
        self, repetitions: pd.DataFrame, paper: pd.DataFrame, checks: pd.DataFrame | None
    ) -> None:
        self.checks = {} if checks is None else {line.check: line for line in checks.itertuples()}
        self.judged = stand_ins(set(repetitions["method"]))
        keys = ["experiment", "setting", "method"]
        self._cells: Mapping = {
            cell: table.set_index("replicate") for cell, table in repetitions.groupby(keys)
        }
        self._paper = paper.set_index(CELL)["value"].to_dict()

    def row_values(self, setting: Setting, row: str, metric: str) -> pd.Series | None:
        """Give a row's values by repetition; None where they are too few to judge."""
        cell = self._cells.get((setting.experiment, setting.name, row))
        values = None if cell is None else cell[metric].dropna()
        return None if values is None or len(values) < FEWEST else values

    def values(self, setting: Setting, method: str, metric: str) -> pd.Series | None:
        """Give those of the row that stands for one of the paper's methods, or of a row."""
        return self.row_values(setting, self.judged.get(method, method), metric)

    def printed(self, setting: Setting, method: str, metric: str) -> float:
        """Give the paper's number; NaN where it prints none."""
        return self._paper.get((setting.experiment, setting.name, method, metric), np.nan)


def _judge_numbers(comparison: pd.DataFrame, study: _Study) -> list[dict]:
    """Test the printed means, and the brackets as the standard deviations they are called."""
    lines = []
    judged = comparison[comparison["row"].isin(study.judged.values())]
    for line in judged.itertuples():
        if np.isnan(line.units):
            continue
        title = METHOD_ROWS[line.row].title
        told = {
            "where": f"Table {line.table}",
            "experiment": line.experiment,
            "setting": line.setting,
            "metric": line.metric,
            "method": line.method,
            "reason": "",
        }
        lines.append(
            told
            | {
                "claim": f"table_{line.table}_{line.metric}_{line.method}",
                "statement": f"Mean {line.metric.upper()} of {title}",
                "kind": _NUMBER,
                "ours": line.mean,
                "se": line.se,
                "theirs": line.paper,
                "p_value": 2 * t.sf(abs(line.units), line.n - 1),
                "found": _first_upper(explain_difference(line, comparison)) + ".",
            }
        )
        if line.paper_bracket > 0:
            lines.append(
                told
                | {
                    "claim": f"table_{line.table}_{line.metric}_{line.method}_bracket",
                    "statement": f"Standard deviation of the {line.metric.upper()} of {title}",
                    "kind": _SPREAD,
                    "ours": line.sd,
                    "se": line.sd / np.sqrt(2 * (line.n - 1)),
                    "theirs": line.paper_bracket,
                    "p_value": _spread_p(line.sd, line.paper_bracket, line.n),
                    "found": _explain_bracket(line),
                }
            )
    return lines


def _spread_p(ours: float, theirs: float, n: int) -> float:
    """Compare two standard deviations over n repetitions each by their logarithms."""
    if ours == 0:
        return 0.0
    return float(2 * norm.sf(abs(np.log(ours / theirs)) * np.sqrt(n - 1)))


def _explain_bracket(line) -> str:
    if line.sd > 0 and _spread_p(line.sd, np.sqrt(line.paper_bracket), line.n) >= ERROR:
        return f"As a variance the bracket agrees: ours is {line.sd**2:.4f}."
    return ""


def _judge_claim(claim: PaperClaim, study: _Study) -> list[dict]:
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
        return [told | {"verdict": CANNOT_BE_TESTED, "reason": reason, "found": ""}]
    if claim.kind == "theory":
        return [told | _judge_theory(claim, study)]
    if claim.kind == "repeat":
        return [told | _judge_repeat(claim, study)]
    judge = {"order": _judge_order, "level": _judge_level}[claim.kind]
    return [
        told
        | {"experiment": setting.experiment, "setting": setting.name}
        | judge(claim, setting, study)
        for setting in claim.settings
    ]


def _judge_theory(claim: PaperClaim, study: _Study) -> dict:
    """Take the verdict of a computation over."""
    check = study.checks.get(claim.metric)
    if check is None:
        return _not_judged(np.nan)
    return {
        "verdict": REPRODUCED if check.holds else NOT_REPRODUCED,
        "ours": check.ours,
        "se": check.se,
        "theirs": check.theirs,
        "reason": f"{'' if pd.isna(check.reason) else check.reason} {claim.remark}".strip(),
        "found": "",
    }


def _not_judged(theirs: float) -> dict:
    return {"verdict": NOT_JUDGED, "theirs": theirs, "found": ""}


def _judge_order(claim: PaperClaim, setting: Setting, study: _Study) -> dict:
    """Test by pairs whether the left mean is below the right one."""
    theirs = study.printed(setting, claim.left, claim.metric) - study.printed(
        setting, claim.right, claim.metric
    )
    left, right = (
        study.values(setting, method, claim.metric) for method in (claim.left, claim.right)
    )
    if left is None or right is None:
        return _not_judged(theirs)
    mean, se, p_value = _below(left, right)
    parts = []
    if theirs >= 0:
        parts.append("The paper's own table says otherwise.")
    reverse = mean > 0 and 1 - p_value < ERROR
    parts.append("It is the other way round." if reverse else "The difference is within noise.")
    parts.append(_other_orders(claim, setting, study))
    return {
        "ours": mean,
        "se": se,
        "theirs": theirs,
        "p_value": p_value,
        "found": " ".join(filter(None, parts)),
    }


def _below(left: pd.Series, right: pd.Series) -> tuple[float, float, float]:
    """Give the mean of the paired differences, its standard error, and the p-value of "below"."""
    differences = (left - right).dropna()
    n = len(differences)
    mean, se = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n))
    if se == 0:
        return mean, se, 0.0 if mean < 0 else 1.0
    return mean, se, float(t.cdf(mean / se, n - 1))


def _other_orders(claim: PaperClaim, setting: Setting, study: _Study) -> str:
    """Name other main rows of the two methods with which the order holds, tested by themselves."""
    judged = [study.judged.get(method, method) for method in (claim.left, claim.right)]
    held = []
    for side, method in enumerate((claim.left, claim.right)):
        for name, row in METHOD_ROWS.items():
            if row.method != method or row.is_variant or row.features != "all":
                continue
            pair = [name if at == side else other for at, other in enumerate(judged)]
            values = [study.row_values(setting, one, claim.metric) for one in pair]
            if pair == judged or any(found is None for found in values):
                continue
            if _below(*values)[2] < ERROR:
                held.append(row.title)
    return f"It holds with {'; '.join(held)} in its place." if held else ""


def _judge_level(claim: PaperClaim, setting: Setting, study: _Study) -> dict:
    """Test whether our mean is beyond the bound; a mean that keeps to it has p = 1."""
    theirs = study.printed(setting, claim.left, claim.metric)
    values = study.values(setting, claim.left, claim.metric)
    if values is None:
        return _not_judged(theirs)
    mean, se = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    low, high = claim.interval
    beyond = max(low - mean, mean - high, 0.0)
    p_value = 1.0 if beyond == 0 else (float(t.sf(beyond / se, len(values) - 1)) if se else 0.0)
    told = f"Our mean is not {claim.relation} {claim.bound:g}."
    if not (np.isnan(theirs) or low <= theirs <= high):
        told += " Nor is the paper's own number."
    return {"ours": mean, "se": se, "theirs": theirs, "p_value": p_value, "found": told}


def _judge_repeat(claim: PaperClaim, study: _Study) -> dict:
    """Test whether two of the paper's means of one design differ by more than our error allows."""
    first, second = claim.settings
    printed = [study.printed(setting, claim.left, claim.metric) for setting in claim.settings]
    theirs = printed[0] - printed[1]
    pair = [study.values(setting, claim.left, claim.metric) for setting in (first, second)]
    if any(values is None for values in pair):
        return _not_judged(theirs)
    se = float(np.sqrt(sum(values.var(ddof=1) / len(values) for values in pair)))
    # Their difference has the standard error of ours.
    units = np.sqrt(2) * difference_in_units(theirs, se)
    return {
        "ours": float(pair[0].mean() - pair[1].mean()),
        "se": se,
        "theirs": theirs,
        "p_value": float(2 * t.sf(abs(units), min(map(len, pair)) - 1)),
        "found": "The paper's two means differ by more than our standard errors allow.",
    }


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
