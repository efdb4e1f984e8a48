r"""The paper's claims judged by our runs: printed numbers, their brackets, orders and levels.

Of each of the paper's methods one row is judged (`stand_ins`). A printed number is not reproduced
where our mean differs from it beyond chance, a level where our mean is beyond its bound. An order
is reproduced only where our data show it, by a paired test over the repetitions; where they do not,
they may show the contrary or leave it open, which a second test tells: two means that our
repetitions cannot tell apart do not contradict the paper. Each of the three families of tests,
for differences, for orders and for contrary orders, is held to an error of 5 % as a whole (Holm
1979).

Of a claim that differs beyond these tests, `outcome` says whether a run shows a reason: another run
of the method meets the number or the bound, or shows the order; with another run in place of one
side the contrary order vanishes; the bracket agrees as a variance; the paper's own tables speak
against the claim; or a computation found what is wrong with a statement of theory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import t

from sparsekm.studies.paper.method_rows import METHOD_ROWS, stand_ins
from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.settings import Setting
from sparsekm.studies.paper.versus_paper import (
    CELL,
    ERROR,
    FEWEST,
    describe_run,
    difference_in_units,
    explain_bracket,
    explain_difference,
    list_some,
    mean_p,
    spread_p,
)

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
CANNOT_BE_TESTED = "cannot be tested here"
NOT_JUDGED = "not judged"
"""The settings or methods did not run, or too seldom."""

OPEN, WITH_REASON, WITHOUT_REASON = "within noise", "with a reason", "without a reason"
"""Outcomes of what is not reproduced: nothing is shown; it differs, with or without a reason."""

CLAIM_COLUMNS = (
    *("claim", "where", "statement", "kind", "experiment", "setting", "metric", "method"),
    *("verdict", "outcome", "ours", "se", "theirs", "p_value", "reason"),
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
    numbers = dict.fromkeys(("ours", "se", "theirs", "p_value", "contrary"), float)
    columns = [*CLAIM_COLUMNS, "contrary", "found", "found_contrary", "explained"]
    table = pd.DataFrame(lines, columns=columns).astype(numbers)
    table["found_contrary"] = table["found_contrary"].fillna("")
    tested = table["p_value"].notna()
    against = table["kind"].isin(DIFFERENCE_KINDS)
    for column, family in (
        ("p_value", tested & against),
        ("p_value", tested & ~against),
        ("contrary", tested & ~against),
    ):
        table.loc[family, column] = holm(table.loc[family, column])
    shown = (table["p_value"] < ERROR) ^ against
    judged = np.where(shown, REPRODUCED, NOT_REPRODUCED)
    table["verdict"] = table["verdict"].where(~tested, judged)
    missed = table["verdict"] == NOT_REPRODUCED
    differs = missed & (against | ~tested | (table["contrary"] < ERROR))
    table["outcome"] = np.select(
        [differs & table["explained"].astype(bool), differs, missed],
        [WITH_REASON, WITHOUT_REASON, OPEN],
        "",
    )
    orders = tested & ~against
    table.loc[orders, "found"] = np.where(
        differs,
        "It is the other way round. " + table["found_contrary"],
        "The difference is within noise. " + table["found"],
    )[orders]
    # What was found is told where a claim is not reproduced; the remark on its reading always.
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
        met, reason = explain_difference(line, comparison)
        lines.append(
            told
            | {
                "claim": f"table_{line.table}_{line.metric}_{line.method}",
                "statement": f"Mean {line.metric.upper()} of {title}",
                "kind": _NUMBER,
                "ours": line.mean,
                "se": line.se,
                "theirs": line.paper,
                "p_value": mean_p(line),
                "found": _sentence(reason),
                "explained": met,
            }
        )
        if line.paper_bracket > 0:
            met, reason = explain_bracket(line, comparison)
            lines.append(
                told
                | {
                    "claim": f"table_{line.table}_{line.metric}_{line.method}_bracket",
                    "statement": f"Standard deviation of the {line.metric.upper()} of {title}",
                    "kind": _SPREAD,
                    "ours": line.sd,
                    "se": line.sd * line.log_sd_se if line.sd else 0.0,
                    "theirs": line.paper_bracket,
                    "p_value": spread_p(line),
                    "found": _sentence(reason),
                    "explained": met,
                }
            )
    return lines


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
        return [told | _untested(CANNOT_BE_TESTED) | {"reason": reason}]
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
        return _untested(NOT_JUDGED)
    reason = "" if pd.isna(check.reason) else check.reason
    return _untested(REPRODUCED if check.holds else NOT_REPRODUCED) | {
        "ours": check.ours,
        "se": check.se,
        "theirs": check.theirs,
        "reason": f"{reason} {claim.remark}".strip(),
        "explained": bool(reason),
    }


def _untested(verdict: str, theirs: float = np.nan) -> dict:
    return {"verdict": verdict, "theirs": theirs, "found": "", "explained": False}


def _judge_order(claim: PaperClaim, setting: Setting, study: _Study) -> dict:
    """Test by pairs whether the left mean is below the right one."""
    theirs = study.printed(setting, claim.left, claim.metric) - study.printed(
        setting, claim.right, claim.metric
    )
    left, right = (
        study.values(setting, method, claim.metric) for method in (claim.left, claim.right)
    )
    if left is None or right is None:
        return _untested(NOT_JUDGED, theirs)
    mean, se, p_value = _below(left, right)
    against_table = theirs >= 0
    holds, vanishes = _other_orders(claim, setting, study)
    told = [
        "The paper's own table says otherwise." if against_table else "",
        f"It holds with other runs: {holds}." if holds else "",
    ]
    contrary = f"With other runs the two do not differ: {vanishes}." if vanishes else ""
    return {
        "ours": mean,
        "se": se,
        "theirs": theirs,
        "p_value": p_value,
        "contrary": 1 - p_value,
        "found": _join(told),
        "found_contrary": _join([told[0], told[1] or contrary]),
        "explained": bool(against_table or holds or vanishes),
    }


def _below(left: pd.Series, right: pd.Series) -> tuple[float, float, float]:
    """Give the mean of the paired differences, its standard error, and the p-value of "below"."""
    differences = (left - right).dropna()
    n = len(differences)
    mean, se = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n))
    if se == 0:
        return mean, se, 0.0 if mean < 0 else 1.0
    return mean, se, float(t.cdf(mean / se, n - 1))


def _other_orders(claim: PaperClaim, setting: Setting, study: _Study) -> tuple[str, str]:
    """Name the runs with which an order holds, and those with which a contrary one vanishes.

    The latter also have to move the difference towards the claim. Tests are adjusted for their
    number (Bonferroni).
    """
    judged = tuple(study.judged.get(method, method) for method in (claim.left, claim.right))
    ran = {
        pair: [study.row_values(setting, one, claim.metric) for one in pair]
        for pair in _like_pairs(claim, judged)
    }
    pairs = {pair: values for pair, values in ran.items() if all(v is not None for v in values)}
    own = [study.row_values(setting, one, claim.metric) for one in judged]
    holds, vanishes = [], []
    for pair, values in pairs.items():
        p_value = _below(*values)[2]
        other = [one for one, before in zip(pair, judged, strict=True) if one != before]
        name = " beside ".join(METHOD_ROWS[one].title for one in other)
        if p_value * len(pairs) < ERROR:
            holds.append((p_value, name))
        elif 1 - p_value >= ERROR:
            moved = _below(values[0] - values[1], own[0] - own[1])[2]
            if moved * len(pairs) < ERROR:
                vanishes.append((moved, name))
    return tuple(list_some([name for _, name in sorted(found)]) for found in (holds, vanishes))


def _like_pairs(claim: PaperClaim, judged: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """List pairs of runs of the two methods, other than the judged one, on the same data.

    One side is the judged row, or both vary in the same way, or both see another design.
    """
    sides = [
        [name, *(other for other in METHOD_ROWS if _stands_for(other, method) and other != name)]
        for name, method in zip(judged, (claim.left, claim.right), strict=True)
    ]
    for left, right in product(*sides):
        rows = METHOD_ROWS[left], METHOD_ROWS[right]
        n_judged = (left == judged[0]) + (right == judged[1])
        alike = rows[0].varies and left.partition("_")[2] == right.partition("_")[2]
        chosen = bool(n_judged or alike or rows[0].arguments)
        if chosen and n_judged < 2 and rows[0].arguments == rows[1].arguments:
            yield left, right


def _stands_for(name: str, method: str) -> bool:
    row = METHOD_ROWS[name]
    return row.method == method and row.features == "all"


def _judge_level(claim: PaperClaim, setting: Setting, study: _Study) -> dict:
    """Test whether our mean is beyond the bound; a mean that keeps to it has p = 1."""
    theirs = study.printed(setting, claim.left, claim.metric)
    values = study.values(setting, claim.left, claim.metric)
    if values is None:
        return _untested(NOT_JUDGED, theirs)
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
        "found": _join(told),
        "explained": bool(against_table or kept),
    }


def _beyond(claim: PaperClaim, values: pd.Series) -> tuple[float, float, float]:
    """Give the mean, its standard error, and the p-value of "beyond the bound"."""
    mean, se = float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
    low, high = claim.interval
    beyond = max(low - mean, mean - high, 0.0)
    p_value = 1.0 if beyond == 0 else (float(t.sf(beyond / se, len(values) - 1)) if se else 0.0)
    return mean, se, p_value


def _other_levels(claim: PaperClaim, setting: Setting, study: _Study) -> str:
    """Name other runs of the method whose mean keeps to the bound, but for noise."""
    kept = []
    for name in METHOD_ROWS:
        values = study.row_values(setting, name, claim.metric)
        if _stands_for(name, claim.left) and values is not None:
            mean, se, p_value = _beyond(claim, values)
            if p_value >= ERROR:
                kept.append(describe_run(name, claim.metric, mean, se))
    return list_some(kept)


def _judge_repeat(claim: PaperClaim, study: _Study) -> dict:
    """Test whether two of the paper's means of one design differ by more than our error allows."""
    first, second = claim.settings
    printed = [study.printed(setting, claim.left, claim.metric) for setting in claim.settings]
    theirs = printed[0] - printed[1]
    pair = [study.values(setting, claim.left, claim.metric) for setting in (first, second)]
    if any(values is None for values in pair):
        return _untested(NOT_JUDGED, theirs)
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


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _join(sentences: Sequence[str]) -> str:
    return " ".join(filter(None, sentences))
