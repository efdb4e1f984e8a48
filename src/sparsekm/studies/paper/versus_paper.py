r"""Our means beside the paper's printed ones, and which other runs meet a value that we miss.

A difference is told in units of :math:`\sqrt 2` times our standard error: the paper's mean over as
many repetitions has a standard error of its own, which is not printed and is taken to equal ours.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.pipeline.registry import METHODS
from sparsekm.studies.paper.method_rows import METHOD_ROWS, MethodRow

FEWEST = 10
"""Repetitions below which nothing is judged: a standard error of fewer is too rough."""

LIMIT = 2.0
"""A run within so many units meets the paper's value."""

N_NAMED = 3
"""So many runs at most are named that meet the paper's value, the nearest first."""

COLUMNS = (
    *("table", "experiment", "setting", "method", "metric", "paper", "paper_bracket"),
    *("row", "n", "mean", "sd", "se", "difference", "units"),
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
    theirs = paper.rename(columns={"value": "paper", "bracket": "paper_bracket"})
    both = ours.merge(theirs[_could_differ(theirs)], on=CELL)
    both["difference"] = both["mean"] - both["paper"]
    both["units"] = [
        difference_in_units(difference, se) if n >= FEWEST else np.nan
        for difference, se, n in zip(both["difference"], both["se"], both["n"], strict=True)
    ]
    return both[list(COLUMNS)]


def _could_differ(paper: pd.DataFrame) -> pd.Series:
    drops_none = paper["method"].map(lambda method: METHODS[method].tuning == "none")
    return (paper["metric"] == "cer") | ~drops_none


def difference_in_units(difference: float, se: float) -> float:
    """Divide a difference by sqrt(2) standard errors.

    Examples
    --------
    >>> round(difference_in_units(0.4, 0.1), 3)
    2.828
    >>> difference_in_units(0.0, 0.0), difference_in_units(-1.0, 0.0)
    (0.0, -inf)
    """
    if np.isnan(se):
        return np.nan
    if se == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return float(difference / (np.sqrt(2.0) * se))


def explain_difference(line, comparison: pd.DataFrame) -> str:
    """Say which other runs of the same method on the same data meet the paper's value.

    `line` is a row of what `compare_rows` made, as `itertuples` gives it.
    """
    cell = comparison[(comparison[CELL] == [getattr(line, key) for key in CELL]).all(axis=1)]
    others = _order_others(line, cell)
    within = others[others["units"].abs() <= LIMIT]
    same = _say_that_nothing_varies(line, others)
    if len(within):
        named = within.head(N_NAMED)
        said = "; ".join(_describe(METHOD_ROWS[other.row], other) for other in named.itertuples())
        more = f"; and {len(within) - N_NAMED} more" if len(within) > N_NAMED else ""
        return f"{same}the paper's value is met by {said}{more}"
    if len(others):
        nearest = next(others.itertuples())
        return (
            f"{same}none of {len(others)} other runs meets the paper's value; nearest is "
            f"{_describe(METHOD_ROWS[nearest.row], nearest)}"
        )
    return f"{same}no other run of this method to compare with"


def _order_others(line, cell: pd.DataFrame) -> pd.DataFrame:
    """Give the other runs that can be judged, those nearest to the paper's value first."""
    others = cell[(cell["row"] != line.row) & cell["units"].notna()]
    distances = others.assign(units=others["units"].abs(), difference=others["difference"].abs())
    # Where nothing varies every difference is infinite in units.
    return others.loc[distances.sort_values(["units", "difference"], kind="stable").index]


def _say_that_nothing_varies(line, others: pd.DataFrame) -> str:
    """Say so where every repetition gave the same; and which runs always give something else.

    A value that never varies is often one of the grid's: the other runs show what it hangs on.
    """
    if line.se != 0:
        return ""
    elsewhere = others[(others["se"] == 0) & (others["mean"] != line.mean)]
    said = ", ".join(
        f"every one of {_name(METHOD_ROWS[other.row])} {_value(other)}"
        for other in elsewhere.itertuples()
    )
    return "every repetition gave our value" + (f", {said}; " if said else "; ")


def _describe(row: MethodRow, line) -> str:
    return f"{_name(row)}: {_value(line)} ± {_value(line, 'se')}, {line.units:+.1f} units"


def _name(row: MethodRow) -> str:
    return f"{row.title} [{row.varies or 'search'}]"


def _value(line, what: str = "mean") -> str:
    return f"{getattr(line, what):.{3 if line.metric == 'cer' else 1}f}"
