"""Published error rates on real data sets, for comparison with ours."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

COLUMNS = (
    "source",
    "data_set",
    "n_samples",
    "n_features",
    "n_clusters",
    "method",
    "error",
    "status",
    "recomputed",
)
STATUSES = ("recomputed", "printed", "unchecked")
"""Recomputed by this project; verified in the authors' publication; or neither."""
_KEY = ["data_set", "method"]
_SIZE = ["n_available", "n_features", "n_clusters"]


def read_published(file: str | Path) -> pd.DataFrame:
    """Read the published error rates, ``data/paper/real_set_errors.csv``, and check each row.

    The columns are `COLUMNS`; recomputed is NaN where the method was not run again.
    """
    table = pd.read_csv(file)
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise ValueError(f"{file}: columns={list(table.columns)} should include {missing}.")
    rules = {
        "name a source by https://": table["source"].astype(str).str.startswith("https://"),
        "have an error between 0 and 1": pd.to_numeric(table["error"], "coerce").between(0, 1),
        f"have a status of {list(STATUSES)}": table["status"].isin(STATUSES),
        "have a recomputed value with that status and no other": (
            table["recomputed"].notna() == (table["status"] == "recomputed")
        ),
        "occur once": ~table.duplicated(_KEY),
    }
    for rule, kept in rules.items():
        if not kept.all():
            cell = table.loc[~kept, _KEY].iloc[0].tolist()
            raise ValueError(f"{file}: {cell} should {rule}.")
    return table[list(COLUMNS)]


def add_published(summary: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Add the published error of the same method on the same data set, and its status, if known.

    Data sets match if the name begins with the published name, ignoring case, and the numbers of
    samples, features and classes are equal. The columns are published_error and published_status.
    """
    known = {
        (line.method, line.n_samples, line.n_features, line.n_clusters): line
        for line in published.itertuples()
    }

    def find(line):
        found = known.get((line.method, *(getattr(line, name) for name in _SIZE)))
        is_same = found and line.data_set.lower().startswith(found.data_set.lower())
        return (found.error, found.status) if is_same else (float("nan"), "")

    found = [find(line) for line in summary.itertuples()]
    return summary.assign(
        published_error=[error for error, _ in found],
        published_status=[status for _, status in found],
    )
