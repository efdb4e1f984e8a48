r"""Our means and spreads beside the paper's printed ones, and the tests that tell them apart.

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


def paired_below(left: pd.Series, right: pd.Series) -> tuple[float, float, float]:
    """Give the mean of the paired differences, its standard error, and the p-value of "below"."""
    differences = (left - right).dropna()
    n = len(differences)
    mean, se = float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(n))
    if se == 0:
        return mean, se, 0.0 if mean < 0 else 1.0
    return mean, se, float(t.cdf(mean / se, n - 1))


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
    half = half_unit(line.paper_bracket)
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


def half_unit(number: float) -> float:
    """Give half a unit of a number's last printed decimal, by which it may have been rounded.

    Examples
    --------
    >>> half_unit(0.003), half_unit(12.0)
    (0.0005, 0.5)
    """
    return 0.5 * 10.0 ** -len(f"{number:g}".partition(".")[2])


def list_some(named: Sequence[str]) -> str:
    """Name a few of many, and how many more there are."""
    more = f"; and {len(named) - N_NAMED} more" if len(named) > N_NAMED else ""
    return "; ".join(named[:N_NAMED]) + more


def describe_run(name: str, metric: str, mean: float, se: float) -> str:
    """Name a row of the study with its mean."""
    return f"{name_run(name)}: {write_value(metric, mean, se)}"


def name_run(name: str) -> str:
    """Name a row of the study and say in which respect it varies."""
    return f"{METHOD_ROWS[name].title} [{METHOD_ROWS[name].varies or 'search'}]"
