"""Means and standard errors over repetitions, and beside them the paper's values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.repetition import METRICS
from sparsekm.studies.paper.settings import PAPER_SETTINGS
from sparsekm.studies.paper.study_tables import KEYS

PAPER_COLUMNS = ("experiment", "setting", "method", "metric", "value", "bracket")


def summarise(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Average every metric over the repetitions of every setting and row.

    `repetitions` are all tables of `repetition_table` together. The columns are `KEYS`, metric, n,
    mean, sd (ddof = 1), log_sd_se (the standard error of ln sd, see `log_sd_error`) and se = sd /
    sqrt(n), in the order of the paper's settings and the rows; sd and se are NaN for a single
    repetition. A metric that a row does not have is left out.
    """
    long = repetitions.melt(id_vars=list(KEYS), value_vars=list(METRICS), var_name="metric")
    grouped = long.dropna(subset="value").groupby([*KEYS, "metric"])["value"]
    summary = grouped.agg(n="count", mean="mean", sd="std", log_sd_se=log_sd_error).reset_index()
    summary["se"] = summary["sd"] / np.sqrt(summary["n"])
    settings = (f"{s.experiment}/{s.name}" for s in PAPER_SETTINGS)
    places = {n: at for names in (settings, METHOD_ROWS, METRICS) for at, n in enumerate(names)}
    keys = summary[["method", "metric"]]
    keys = keys.assign(setting=summary["experiment"] + "/" + summary["setting"])
    ranks = keys.apply(lambda column: column.map(places))
    by_rank = ranks.sort_values(["setting", "method", "metric"], kind="stable").index
    return summary.loc[by_rank].reset_index(drop=True)


def log_sd_error(values: ArrayLike) -> float:
    """Estimate the standard error of the logarithm of a standard deviation by a jackknife.

    It needs no normal distribution (Miller 1968, doi:10.1214/aoms/1177698418). It is 0 where all
    values are equal, infinite where the spread hangs on one of them, and NaN for fewer than three.

    Examples
    --------
    >>> round(log_sd_error([1.0, 2.0, 4.0]), 3)
    0.641
    >>> log_sd_error([5.0, 5.0, 5.0]), log_sd_error([5.0, 5.0, 6.0])
    (0.0, inf)
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    if n < 3:
        return np.nan
    if np.ptp(values) == 0:
        return 0.0
    rest = np.array([np.delete(values, at) for at in range(n)])
    if (np.ptp(rest, axis=1) == 0).any():
        return np.inf
    logs = np.log(rest.std(axis=1, ddof=1))
    return float(np.sqrt((n - 1) / n * ((logs - logs.mean()) ** 2).sum()))


def read_paper_values(file: str | Path) -> pd.DataFrame:
    """Read the paper's numbers on simulated data, ``data/paper/simulations.csv``.

    The columns are `PAPER_COLUMNS` and table; the bracket is NaN where none is printed.
    """
    table = pd.read_csv(file)
    missing = sorted({*PAPER_COLUMNS, "table"} - set(table.columns))
    if missing:
        raise ValueError(f"{file}: columns={list(table.columns)} should include {missing}.")
    if not pd.api.types.is_numeric_dtype(table["value"]) or table["value"].isna().any():
        raise ValueError(f"{file}: every value should be a number.")
    repeated = table.duplicated(list(PAPER_COLUMNS[:4]))
    if repeated.any():
        cell = table.loc[repeated, list(PAPER_COLUMNS[:4])].iloc[0].tolist()
        raise ValueError(f"{file}: {cell} should stand there once.")
    return table[[*PAPER_COLUMNS, "table"]]
