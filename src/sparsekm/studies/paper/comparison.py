r"""Means over our repetitions beside the numbers that the paper prints.

The paper's mean over 20 repetitions has an error that is not printed. Its values are assumed to
spread as ours do: the unit of a difference is :math:`\sqrt{1 + n / 20}` times our standard error
over n repetitions. Where the paper's mean is at the end of its range, such as no noise feature
dropped, all of its repetitions agreed; there the unit is our standard error.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sparsekm.pipeline.registry import METHODS
from sparsekm.studies.paper.plan import METHOD_ROWS
from sparsekm.studies.paper.repetition import KEYS, METRICS

PAPER_REPETITIONS = 20
FEWEST = 10
"""Minimum number of repetitions for a comparison: the standard error of fewer is too rough."""

CELL = ["experiment", "setting", "method", "metric"]
COMPARED_COLUMNS = (
    *("table", *CELL, "paper", "paper_bracket", "n_paper"),
    *("row", "n", "mean", "sd", "sd_se", "se", "difference", "units"),
)


def summarise(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Average every metric over the repetitions of every setting and row, in the order given.

    `repetitions` are all tables of `repetition_table` together. The columns are `KEYS`, metric, n,
    mean, sd (ddof = 1), sd_se (see `spread_error`) and se = sd / sqrt(n); sd and se are NaN for a
    single repetition. Metrics that a row does not have are omitted.
    """
    keys = [*KEYS, "metric"]
    values = repetitions.set_index(list(KEYS))[list(METRICS)]
    values = values.stack(future_stack=True).rename_axis(keys).dropna()
    groups = values.groupby(keys, sort=False)
    summary = groups.agg(n="count", mean="mean", sd="std", sd_se=spread_error).reset_index()
    return summary.assign(se=summary["sd"] / np.sqrt(summary["n"]))


def spread_error(values: ArrayLike) -> float:
    """Estimate the standard error of a standard deviation from the fourth moment.

    It assumes no normal distribution: rates and counts are skewed or have two modes.

    Examples
    --------
    >>> round(spread_error([1.0, 2.0, 4.0]), 3), spread_error([5.0, 5.0])
    (0.255, 0.0)
    """
    values = np.asarray(values, dtype=float)
    if np.ptp(values) == 0:
        return 0.0
    squares = (values - values.mean()) ** 2
    return float(np.sqrt(squares.var() / len(values) / squares.mean()) / 2)


def read_paper_values(file: str | Path) -> pd.DataFrame:
    """Read the paper's numbers on simulated data, ``data/paper/simulations.csv``.

    The columns are table, `CELL`, value and bracket (NaN where none is printed).
    """
    columns = ["table", *CELL, "value", "bracket"]
    table = pd.read_csv(file, dtype={"value": float})
    missing = sorted(set(columns) - set(table.columns))
    if missing:
        raise ValueError(f"{file}: columns={list(table.columns)} should include {missing}.")
    repeated = table[table.duplicated(CELL)]
    if len(repeated):
        raise ValueError(f"{file}: {repeated[CELL].iloc[0].tolist()} should occur once.")
    return table[columns]


def compare_rows(summary: pd.DataFrame, paper: pd.DataFrame) -> pd.DataFrame:
    """Set every row of a summary beside the paper's value for the method that it runs.

    The columns are `COMPARED_COLUMNS`. Units are NaN for fewer than `FEWEST` repetitions, and
    infinite where
    the standard error is 0 and the values differ. Omitted is what could not differ, the numbers of
    features of a method that always keeps all, and the floor row, which knows the relevant ones.
    """
    compared = [name for name, row in METHOD_ROWS.items() if row.features == "all"]
    ours = summary[summary["method"].isin(compared)].rename(columns={"method": "row"})
    ours = ours.assign(method=ours["row"].map(lambda name: METHOD_ROWS[name].method))
    # k-means keeps every feature: its counts are the ends of the range.
    kept = paper[(paper["method"] == "kmeans") & (paper["metric"] != "cer")]
    ends = kept.set_index([*CELL[:2], "metric"])["value"].to_dict()
    cells = zip(paper["experiment"], paper["setting"], paper["metric"], strict=True)
    at_end = paper["value"] == [ends.get(cell) for cell in cells]
    keeps_all = paper["method"].map(lambda method: METHODS[method].tuning == "none")
    theirs = paper.assign(n_paper=np.where(at_end, np.inf, PAPER_REPETITIONS))
    theirs = theirs.rename(columns={"value": "paper", "bracket": "paper_bracket"})
    both = ours.merge(theirs[(paper["metric"] == "cer") | ~keeps_all], on=CELL)
    both["difference"] = both["mean"] - both["paper"]
    errors = both["se"] * np.sqrt(1 + both["n"] / both["n_paper"])
    units = np.vectorize(in_errors, otypes=[float])(both["difference"], errors)
    both["units"] = np.where(both["n"] >= FEWEST, units, np.nan)
    return both[list(COMPARED_COLUMNS)]


def in_errors(difference: float, error: float) -> float:
    """Divide a difference by its standard error; without error only equal values agree.

    Examples
    --------
    >>> in_errors(0.4, 0.2), in_errors(0.0, 0.0), in_errors(-1.0, 0.0)
    (2.0, 0.0, -inf)
    """
    if error == 0:
        return 0.0 if difference == 0 else float(np.copysign(np.inf, difference))
    return float(difference / error)
