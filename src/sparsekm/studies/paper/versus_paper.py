r"""Our results against the paper's, and which variant accounts for a difference.

A difference is told in units of :math:`\sqrt 2` times our standard error: the paper's mean over as
many repetitions has a standard error of its own, which is not printed and is taken to equal ours.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.studies.paper.method_rows import METHOD_ROWS, MethodRow

LIMIT = 2.0
"""A larger difference, in units, is to be explained."""

N_NAMED = 3
"""So many runs at most are named that meet the paper's value, the nearest first."""

COLUMNS = (
    "experiment",
    "setting",
    "method",
    "metric",
    "paper",
    "paper_bracket",
    "row",
    "n",
    "mean",
    "sd",
    "se",
    "difference",
    "units",
    "exceeds",
)
_CELL = ["experiment", "setting", "method", "metric"]


def compare_rows(summary: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Set every row of a summary beside the paper's value for the method that it runs.

    The columns are `COLUMNS`. Units are NaN where there is no standard error, and infinite where it
    is 0 and the values differ. The floor row, which knows the relevant features, is compared with
    nothing.
    """
    compared = [name for name, row in METHOD_ROWS.items() if row.features == "all"]
    ours = summary[summary["method"].isin(compared)].rename(columns={"method": "row"})
    ours = ours.assign(method=ours["row"].map(lambda name: METHOD_ROWS[name].method))
    both = ours.merge(
        paper.rename(columns={"value": "paper", "bracket": "paper_bracket"}), on=_CELL
    )
    both["difference"] = both["mean"] - both["paper"]
    both["units"] = [
        difference_in_units(difference, se)
        for difference, se in zip(both["difference"], both["se"], strict=True)
    ]
    both["exceeds"] = both["units"].abs() > LIMIT
    return both[list(COLUMNS)]


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


def explain_differences(comparison: pd.DataFrame) -> pd.DataFrame:
    """Say of every main row that differs by more than `LIMIT` which other runs do not.

    The main rows of what `compare_rows` made get two columns from the other rows of the same
    method, setting and metric alone: explanation, empty where nothing is to be explained, and
    n_meeting, how many other runs meet the paper's value.
    """
    main = comparison["row"].map(lambda name: not METHOD_ROWS[name].is_variant)
    cells = dict(tuple(comparison.groupby(_CELL, sort=False)))
    explained = comparison[main].reset_index(drop=True)
    others = [
        _order_others(line, cells[tuple(getattr(line, key) for key in _CELL)])
        for line in explained.itertuples()
    ]
    explained["n_meeting"] = [int((~runs["exceeds"]).sum()) for runs in others]
    explained["explanation"] = [
        _explain(line, runs) for line, runs in zip(explained.itertuples(), others, strict=True)
    ]
    return explained


def _order_others(line, cell: pd.DataFrame) -> pd.DataFrame:
    """Give the other runs that can be judged, those nearest to the paper's value first."""
    others = cell[(cell["row"] != line.row) & cell["units"].notna()]
    distances = others.assign(units=others["units"].abs(), difference=others["difference"].abs())
    # Where nothing varies every difference is infinite in units.
    return others.loc[distances.sort_values(["units", "difference"], kind="stable").index]


def _explain(line, others: pd.DataFrame) -> str:
    if np.isnan(line.units):
        return "too few repetitions to judge"
    if not line.exceeds:
        return ""
    within = others[~others["exceeds"]]
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
