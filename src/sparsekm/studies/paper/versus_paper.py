r"""Our means and spreads beside the paper's printed ones, and which other runs meet one we miss.

The paper's mean over its 20 repetitions has an error of its own, which is not printed. Its values
are taken to spread as ours do: then a difference is told in units of :math:`\sqrt{1 + n / 20}`
times our standard error over n repetitions. A mean at the end of its range, such as no noise
feature dropped, leaves the paper's repetitions no spread; there the unit is our standard error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import t

from sparsekm.pipeline.registry import METHODS
from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.value_text import write_value

PAPER_REPETITIONS = 20

FEWEST = 10
"""Repetitions below which nothing is judged: a standard error of fewer is too rough."""

ERROR = 0.05
"""A run meets a printed number where a test of the two does not tell them apart at this level."""

N_NAMED = 3
"""So many runs at most are named that meet the paper's value, the nearest first."""

COLUMNS = (
    *("table", "experiment", "setting", "method", "metric", "paper", "paper_bracket"),
    *("row", "n", "mean", "sd", "log_sd_se", "se", "difference", "units"),
)
CELL = ["experiment", "setting", "method", "metric"]


def compare_rows(summary: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Set every row of a summary beside the paper's value for the method that it runs.

    The columns are `COLUMNS`. Units are NaN for fewer than `FEWEST` repetitions, and infinite where
    the standard error is 0 and the values differ. Left out is what could not differ, the numbers of
    features that a method keeps which drops none, and the floor row, which knows the relevant ones.
    """
    compared = [name for name, row in METHOD_ROWS.items() if row.features == "all"]
    ours = summary[summary["method"].isin(compared)].rename(columns={"method": "row"})
    ours = ours.assign(method=ours["row"].map(lambda name: METHOD_ROWS[name].method))
    ends = _at_an_end(paper)
    theirs = paper.rename(columns={"value": "paper", "bracket": "paper_bracket"})
    theirs = theirs.assign(at_an_end=ends)[_could_differ(theirs)]
    both = ours.merge(theirs, on=CELL)
    both["difference"] = both["mean"] - both["paper"]
    both["units"] = [
        difference_in_units(line.difference, line.se, 0 if line.at_an_end else line.n)
        if line.n >= FEWEST
        else np.nan
        for line in both.itertuples()
    ]
    return both[list(COLUMNS)]


def _could_differ(paper: pd.DataFrame) -> pd.Series:
    drops_none = paper["method"].map(lambda method: METHODS[method].tuning == "none")
    return (paper["metric"] == "cer") | ~drops_none


def _at_an_end(paper: pd.DataFrame) -> pd.Series:
    """Say which counts are those of k-means in their setting, which keeps every feature."""
    counts = paper[(paper["method"] == "kmeans") & (paper["metric"] != "cer")]
    kept = counts.set_index(["experiment", "setting", "metric"])["value"].to_dict()
    cells = zip(paper["experiment"], paper["setting"], paper["metric"], strict=True)
    return paper["value"] == [kept.get(cell) for cell in cells]


def difference_in_units(difference: float, se: float, n: int) -> float:
    """Divide a difference by its error: ours over n repetitions, theirs over 20 of like spread.

    With n = 0 theirs has none.

    Examples
    --------
    >>> round(difference_in_units(0.4, 0.1, 20), 3)
    2.828
    >>> difference_in_units(0.0, 0.0, 20), difference_in_units(-1.0, 0.0, 20)
    (0.0, -inf)
    """
    if np.isnan(se):
        return np.nan
    if se == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return float(difference / (np.sqrt(1 + n / PAPER_REPETITIONS) * se))


def mean_p(line) -> float:
    """Test whether our mean and the paper's are one; `line` is of `compare_rows`."""
    return float(2 * t.sf(abs(line.units), line.n - 1))


def spread_p(line, *, as_variance: bool = False) -> float:
    """Test whether our standard deviation and the paper's bracket are one, by their logarithms.

    The error of ours is a jackknife's (`sparsekm.studies.paper.study_summary`): rates and counts
    are skewed or have two modes, and over 20 repetitions the usual test, which takes them to be
    normal, calls equal spreads of an exponential quantity different in 27 of 100 cases, this one in
    12 (6 and 6 of a normal quantity). A bracket stands for all numbers that round to it.
    """
    half = 0.5 * 10.0 ** -_decimals(line.paper_bracket)
    low, high = max(line.paper_bracket - half, 0.0), line.paper_bracket + half
    if as_variance:
        low, high = np.sqrt(low), np.sqrt(high)
    if low <= line.sd <= high:
        return 1.0
    if line.sd == 0:
        return 0.0
    away = np.log(line.sd / high) if line.sd > high else np.log(low / line.sd)
    error = line.log_sd_se * np.sqrt(1 + line.n / PAPER_REPETITIONS)
    return float(2 * t.sf(away / error, line.n - 1)) if error else 0.0


def _decimals(number: float) -> int:
    """Count the decimals that a number was printed with.

    Examples
    --------
    >>> _decimals(0.003), _decimals(12.0)
    (3, 0)
    """
    return len(f"{number:g}".partition(".")[2])


def explain_difference(line, comparison: pd.DataFrame) -> tuple[bool, str]:
    """Say whether other runs of the same method on the same data meet the paper's value, and which.

    `line` is a row of what `compare_rows` made, as `itertuples` gives it.
    """
    others = _order_others(line, _cell(line, comparison))
    within = [other for other in others if mean_p(other) >= ERROR]
    same = _say_that_nothing_varies(line, others)
    if within:
        named = [_describe(other) for other in within]
        return True, f"{same}the paper's value is met by {list_some(named)}"
    if others:
        return False, (
            f"{same}none of {len(others)} other runs meets the paper's value; nearest is "
            f"{_describe(others[0])}"
        )
    return False, f"{same}no other run of this method to compare with"


def explain_bracket(line, comparison: pd.DataFrame) -> tuple[bool, str]:
    """Say whether a bracket agrees as a variance, or with other runs that meet the mean too."""
    if spread_p(line, as_variance=True) >= ERROR:
        return True, f"as a variance the bracket agrees: ours is {line.sd**2:.4f}"
    # A spread around another mean is no reason.
    others = [
        other for other in _order_others(line, _cell(line, comparison)) if mean_p(other) >= ERROR
    ]
    for as_variance, noun in ((False, "bracket"), (True, "bracket, as a variance,")):
        met = [other for other in others if spread_p(other, as_variance=as_variance) >= ERROR]
        if met:
            written = {
                o.row: f"{o.sd**2:.4f}" if as_variance else write_value(o.metric, o.sd) for o in met
            }
            named = [f"{_name(row)}: {value}" for row, value in written.items()]
            return True, f"the {noun} is met by {list_some(named)}"
    return False, "no other run meets both the mean and its bracket"


def list_some(named: Sequence[str]) -> str:
    """Name a few of many, and how many more there are."""
    more = f"; and {len(named) - N_NAMED} more" if len(named) > N_NAMED else ""
    return "; ".join(named[:N_NAMED]) + more


def _cell(line, comparison: pd.DataFrame) -> pd.DataFrame:
    return comparison[(comparison[CELL] == [getattr(line, key) for key in CELL]).all(axis=1)]


def _order_others(line, cell: pd.DataFrame) -> list:
    """Give the other runs that can be judged, those nearest to the paper's value first."""
    others = cell[(cell["row"] != line.row) & cell["units"].notna()]
    distances = others.assign(units=others["units"].abs(), difference=others["difference"].abs())
    # Where nothing varies every difference is infinite in units.
    ordered = distances.sort_values(["units", "difference"], kind="stable").index
    return list(others.loc[ordered].itertuples())


def _say_that_nothing_varies(line, others: list) -> str:
    """Say so where every repetition gave the same; and which runs always give something else.

    A value that never varies is often one of the grid's: the other runs show what it hangs on.
    """
    if line.se != 0:
        return ""
    said = ", ".join(
        f"every one of {_name(other.row)} {write_value(line.metric, other.mean)}"
        for other in others
        if other.se == 0 and other.mean != line.mean
    )
    return "every repetition gave our value" + (f", {said}; " if said else "; ")


def _describe(line) -> str:
    units = f"{line.units:+.1f} units".replace("-", "−").replace("inf", "∞")
    return f"{describe_run(line.row, line.metric, line.mean, line.se)}, {units}"


def describe_run(name: str, metric: str, mean: float, se: float) -> str:
    """Name a row of the study and say in which respect it varies, with its mean."""
    return f"{_name(name)}: {write_value(metric, mean, se)}"


def _name(name: str) -> str:
    return f"{METHOD_ROWS[name].title} [{METHOD_ROWS[name].varies or 'search'}]"
