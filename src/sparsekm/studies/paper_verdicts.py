r"""Compare our means with the numbers in the paper, and give a verdict for each of its claims.

``docs/paper.md`` has the rules. The unit of a difference is :math:`\sqrt{1 + n / 20}` times our
standard error over n repetitions. If the paper's mean is at the end of a range, it is our standard
error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sparsekm.pipeline.registry import METHODS
from sparsekm.studies import METHOD_ROWS, Setting, get_setting, select_settings, stand_ins
from sparsekm.studies.paper_runs import KEYS, METRICS

PAPER_REPETITIONS = 20
FEWEST = 10
"""Minimum number of repetitions for a comparison; with fewer, the standard error is too rough."""

CELL = ["experiment", "setting", "method", "metric"]
COMPARED_COLUMNS = (
    *("table", *CELL, "paper", "paper_bracket", "n_paper"),
    *("row", "n", "mean", "sd", "sd_se", "se", "difference", "units"),
)


def summarise(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Average every metric over the repetitions of every setting and row, in the order given.

    The columns are `KEYS`, metric, n, mean, sd (ddof = 1), sd_se (see `spread_error`) and se, NaN
    for a single repetition. Metrics that a row does not have are omitted.
    """
    keys = [*KEYS, "metric"]
    values = repetitions.set_index(list(KEYS))[list(METRICS)]
    values = values.stack(future_stack=True).rename_axis(keys).dropna()
    groups = values.groupby(keys, sort=False)
    summary = groups.agg(n="count", mean="mean", sd="std", sd_se=spread_error).reset_index()
    return summary.assign(se=summary["sd"] / np.sqrt(summary["n"]))


def spread_error(values: ArrayLike) -> float:
    """Estimate the standard error of a standard deviation from the fourth moment."""
    values = np.asarray(values, dtype=float)
    if np.ptp(values) == 0:
        return 0.0
    squares = (values - values.mean()) ** 2
    return float(np.sqrt(squares.var() / len(values) / squares.mean()) / 2)


def read_paper_values(file: str | Path) -> pd.DataFrame:
    """Read the paper's numbers on simulated data, ``data/paper/simulations.csv``."""
    columns = ["table", *CELL, "value", "bracket"]
    return pd.read_csv(file, usecols=columns, dtype={"value": float})[columns]


def compare_rows(summary: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Compare every row of a summary with the paper's value for its method.

    Units are NaN for fewer than `FEWEST` repetitions, and infinite if the standard error is 0 and
    the values differ. Numbers of features are omitted for a method that always keeps all, because
    they cannot differ. The floor row, which knows the relevant features, is also omitted.
    """
    methods = {name: row.method for name, row in METHOD_ROWS.items() if row.features == "all"}
    ours = summary[summary["method"].isin(methods)].rename(columns={"method": "row"})
    ours = ours.assign(method=ours["row"].map(methods))
    # k-means keeps every feature: its counts are the ends of the range.
    kept = paper[(paper["method"] == "kmeans") & (paper["metric"] != "cer")]
    ends = kept.rename(columns={"value": "end"})[[*CELL[:2], "metric", "end"]]
    theirs = paper.merge(ends, how="left", on=[*CELL[:2], "metric"])
    at_end = theirs["value"] == theirs["end"]
    theirs = theirs.assign(n_paper=np.where(at_end, np.inf, PAPER_REPETITIONS))
    theirs = theirs.rename(columns={"value": "paper", "bracket": "paper_bracket"})
    keeps_all = theirs["method"].map(lambda method: METHODS[method].tuning == "none")
    both = ours.merge(theirs[(theirs["metric"] == "cer") | ~keeps_all], on=CELL)
    both["difference"] = both["mean"] - both["paper"]
    errors = both["se"] * np.sqrt(1 + both["n"] / both["n_paper"])
    units = np.vectorize(in_errors, otypes=[float])(both["difference"], errors)
    both["units"] = np.where(both["n"] >= FEWEST, units, np.nan)
    return both[list(COMPARED_COLUMNS)]


def in_errors(difference: float, error: float) -> float:
    """Divide a difference by its standard error; without error only equal values agree."""
    if error == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return float(difference / error)


MEAN, SPREAD = "number", "spread"
"""Kinds of claims besides claims of the text: a printed mean, and the bracket after it."""
REPRODUCED, OPEN = "reproduced", "within noise"
EXPLAINED, UNEXPLAINED = "differs, with a reason", "differs, no reason found"
CANNOT_BE_TESTED, NOT_JUDGED = "cannot be tested here", "not judged"
"""Verdicts; settings with too few or no runs are not judged."""

ERRORS = 2.0
CLAIM_COLUMNS = (
    *("claim", "where", "statement", "kind", "experiment", "setting", "metric", "method"),
    *("verdict", "ours", "se", "low", "high", "theirs", "units", "reason", "remark"),
)
_ABOUT = 1.25  # how far a value may be from what it is "about", as a factor
_EXPERIMENT_4 = "The counts printed for Experiment 4 contradict its design: see docs/paper.md."


class PaperClaim(NamedTuple):
    """One claim of the text.

    The kind is "order" (the mean of `left` is below the mean of `right`), "level" (the mean of
    `left` respects `bound`), "repeat" (two settings draw the same data, so their means should
    agree), "theory" (an argument in the remark decides, or the computation that `metric` names in
    `sparsekm.studies.theorems`) or "atlas" (only the atlas can decide).
    """

    name: str
    where: str
    statement: str
    kind: str
    settings: tuple[Setting, ...] = ()  # for each of which an order or a level is claimed
    metric: str = ""
    left: str = ""  # a method, as the paper's tables name it, or a row; likewise `right`
    relation: str = ""  # below, at least, at most, about, equal, holds, fails
    right: str = ""
    bound: float = np.nan
    remark: str = ""  # the interpretation of a vague word, or the error of the claim

    def excess(self, mean: float) -> float:
        """Return how far a mean is beyond the bound of a level; 0 if it is within the bound."""
        factor = _ABOUT if self.relation == "about" else 1.0
        above = 0.0 if self.relation == "at least" else mean - self.bound * factor
        below = 0.0 if self.relation == "at most" else self.bound / factor - mean
        return float(max(above, below, 0.0))


def read_paper_claims(file: str | Path) -> list[PaperClaim]:
    """Read the claims, ``data/paper/claims.csv``."""
    table = pd.read_csv(file, dtype=str, keep_default_na=False).rename(columns={"claim": "name"})
    claims = []
    for line in table.to_dict("records"):
        line["bound"] = float(line["bound"] or "nan")
        line["settings"] = tuple(select_settings(line["settings"].split()))
        claims.append(PaperClaim(**line))
    return claims


class _Study:
    """Our values by repetition, the paper's numbers, and the row that is judged for each method."""

    def __init__(self, repetitions: pd.DataFrame, comparison: pd.DataFrame) -> None:
        self.judged = stand_ins(set(repetitions["method"]))
        cells = repetitions.groupby(CELL[:3])
        self._cells = {cell: table.set_index("replicate") for cell, table in cells}
        self._paper = comparison.drop_duplicates(CELL).set_index(CELL)["paper"].to_dict()

    def printed(self, setting: Setting, method: str, metric: str) -> float:
        """Return the paper's number; NaN if there is none."""
        return self._paper.get((setting.experiment, setting.name, method, metric), np.nan)

    def runs(self, setting: Setting, method: str, metric: str) -> dict[str, pd.Series]:
        """Return the values of a method's runs, the judged run first; none if it is too short."""
        judged, runs = self.judged.get(method, method), {}
        rows = [r.name for r in METHOD_ROWS.values() if r.method == method and r.features == "all"]
        for name in (judged, *rows):
            cell = self._cells.get((setting.experiment, setting.name, name))
            values = [] if cell is None else cell[metric].dropna()
            if len(values) >= FEWEST:
                runs[name] = values
        return runs if judged in runs else {}


def judge_claims(
    claims: Sequence[PaperClaim],
    repetitions: pd.DataFrame,
    comparison: pd.DataFrame,
    checks: pd.DataFrame,
) -> pd.DataFrame:
    """Judge every claim of the text in each of its settings, and every printed number.

    `comparison` comes from `compare_rows`, and `checks` from `sparsekm.studies.theorems`. For an
    order, ours and theirs are the mean of left minus right. Units are differences over their
    standard errors; low and high are the interval of a share.
    """
    study = _Study(repetitions, comparison)
    computed = checks.set_index("check")[["holds", "ours", "se", "low", "high", "theirs"]]
    lines = [*_judge_numbers(comparison, study)]
    for claim in claims:
        sides = ", ".join(filter(None, [claim.left, claim.right]))
        row = claim._asdict() | {"claim": claim.name, "method": sides}
        match claim.kind:
            case "order" | "level":
                for setting in claim.settings:
                    keys = {"experiment": setting.experiment, "setting": setting.name}
                    lines.append(row | keys | _judge_runs(claim, setting, study))
            case "repeat":
                lines.append(row | _judge_repeat(claim, study))
            case "atlas":
                lines.append(row | {"verdict": CANNOT_BE_TESTED})
            case _:
                holds = {"holds": claim.relation == "holds"}
                found = computed.loc[claim.metric].to_dict() if claim.metric else holds
                # The remark explains the error of a statement.
                verdict = _decide(found["holds"], False, claim.remark)
                lines.append(row | found | verdict | {"reason": ""})
    table = pd.DataFrame(lines, columns=list(CLAIM_COLUMNS))
    return table.fillna({"verdict": NOT_JUDGED, "reason": "", "remark": ""})


def _decide(holds: bool, is_open: bool, reason: str) -> dict:
    """Write the verdict, with the reason if a claim differs."""
    if holds or is_open:
        return {"verdict": REPRODUCED if holds else OPEN}
    return {"verdict": EXPLAINED if reason else UNEXPLAINED, "reason": reason}


def _judge_numbers(comparison: pd.DataFrame, study: _Study) -> Iterator[dict]:
    """Judge every printed mean, and the bracket after it as a standard deviation."""
    for line in comparison[comparison["row"].isin(study.judged.values())].itertuples():
        if np.isnan(line.units):
            continue
        runs = study.runs(get_setting(line.experiment, line.setting), line.method, line.metric)
        written = _EXPERIMENT_4 if line.experiment == "experiment_4" else ""
        noun = f"{line.metric.upper()} of {METHOD_ROWS[line.row].title}"
        claim = f"table_{line.table}_{line.metric}_{line.method}"
        row = line._asdict() | {"where": f"Table {line.table}"}
        row |= {"claim": claim, "kind": MEAN, "statement": f"Mean {noun}"}
        reason = _find_runs(runs, lambda mean, paper=line.paper: abs(mean - paper), line.n_paper)
        decided = _decide(abs(line.units) <= ERRORS, False, reason or written)
        yield row | {"ours": line.mean, "theirs": line.paper} | decided
        if not line.paper_bracket > 0:
            continue
        units, as_variance = (_spread_units(line, power) for power in (1.0, 0.5))
        if abs(as_variance) <= ERRORS:
            written = f"If the bracket is a variance, it agrees with our {line.sd**2:.4f}."
        row |= {"claim": f"{claim}_bracket", "kind": SPREAD, "theirs": line.paper_bracket}
        row |= {"statement": f"Standard deviation of the {noun}"}
        row |= {"ours": line.sd, "se": line.sd_se, "units": units}
        yield row | _decide(abs(units) <= ERRORS, False, written)


def _spread_units(line, power: float) -> float:
    """Compare logarithms of spreads; a bracket stands for all numbers that round to it."""
    half = 0.5 * 10.0 ** -len(f"{line.paper_bracket:g}".partition(".")[2])
    low, high = max(line.paper_bracket - half, 0.0) ** power, (line.paper_bracket + half) ** power
    nearest = min(max(line.sd, low), high)
    if 0 in (line.sd, nearest):
        return 0.0 if line.sd == nearest else -np.inf
    error = line.sd_se / line.sd * np.sqrt(1 + line.n / PAPER_REPETITIONS)
    return in_errors(float(np.log(line.sd / nearest)), error)


def _judge_runs(claim: PaperClaim, setting: Setting, study: _Study) -> dict:
    """Judge an order or a level by the judged run, and explain a difference by other runs.

    An order uses paired differences of left and right; if all are zero, there is no order.
    """
    sides = [side for side in (claim.left, claim.right) if side]
    printed = [study.printed(setting, side, claim.metric) for side in sides]
    each = [study.runs(setting, side, claim.metric) for side in sides]
    if claim.kind == "order":
        theirs, runs, miss, most = float(np.subtract(*printed)), _pair(*each), float, -ERRORS
        table = "The paper's own table says otherwise." if theirs >= 0 else ""
    else:
        (theirs,), (runs,), miss, most = printed, each, claim.excess, 0.0
        broken = not np.isnan(theirs) and claim.excess(theirs) > 0
        table = f"The paper's own number is not {claim.relation} {claim.bound:g}." if broken else ""
    if not runs:
        return {"theirs": theirs}
    own, *_ = runs.values()
    units = in_errors(miss(own.mean()), _error(own))
    # `most` is the largest error that counts as met: 0 by default, and 2 to allow for noise.
    decided = _decide(units <= most, units < ERRORS, table or _find_runs(runs, miss))
    return {"theirs": theirs, "ours": own.mean(), "se": _error(own), "units": units} | decided


def _pair(left: dict[str, pd.Series], right: dict[str, pd.Series]) -> dict[str, pd.Series]:
    """Return differences of runs, with the judged run as one of them, or of the same variant."""
    judged = {*list(left)[:1], *list(right)[:1]}
    return {
        f"{one} less {other}": (left[one] - right[other]).dropna()
        for one, other in product(left, right)
        if {one, other} & judged or one.partition("_")[2] == other.partition("_")[2]
    }


def _find_runs(runs: Mapping[str, pd.Series], miss: Callable, n_paper: float = np.inf) -> str:
    """Name at most three other runs that meet a claim that the first run misses.

    They miss it by at most two errors and by less than the first run, and differ from that run by
    two errors on the same data.
    """
    own, *_ = runs.values()
    better = []
    for name, values in runs.items():
        mean, error, moved = values.mean(), _error(values), (values - own).dropna()
        units = in_errors(miss(mean), error * np.sqrt(1 + len(values) / n_paper))
        is_apart = abs(in_errors(moved.mean(), _error(moved))) > ERRORS
        if units <= ERRORS and miss(mean) < miss(own.mean()) and is_apart:
            title = " less ".join(METHOD_ROWS[row].title for row in name.split(" less "))
            better.append((units, f"{title} ({mean:.4g} ± {error:.2g})"))
    return f"Met by {'; '.join(text for _, text in sorted(better)[:3])}." if better else ""


def _error(values: pd.Series) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _judge_repeat(claim: PaperClaim, study: _Study) -> dict:
    """Judge whether two means of the paper for one design differ by more than our error allows."""
    left, right = (study.printed(setting, claim.left, claim.metric) for setting in claim.settings)
    pair = [study.runs(setting, claim.left, claim.metric) for setting in claim.settings]
    if not all(pair):
        return {"theirs": left - right}
    one, other = (next(iter(runs.values())) for runs in pair)
    error = float(np.hypot(_error(one), _error(other)))
    units = in_errors(left - right, error)
    numbers = {"ours": one.mean() - other.mean(), "se": error, "theirs": left - right}
    reason = "The paper's two means differ by more than our standard errors allow."
    return {**numbers, "units": units, **_decide(abs(units) <= ERRORS, False, reason)}
