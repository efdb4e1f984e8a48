"""The file ``scores.csv``: one row on how good a tuned fit is; empty where a truth is not known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.storage.atomic import write_table

COLUMNS = (
    "dataset",
    "method",
    "n_samples",
    "n_features",
    "n_clusters",
    "sparsity",
    "n_nonzero_weights",
    "objective",
    "cer",
    "ecr",
    "pzw",
    "pnw",
)
"""Columns in their order; the last four need a known truth."""


def write_scores(file: str | Path, scores: dict[str, object]) -> None:
    """Write one row of scores whole or not at all.

    Parameters
    ----------
    file : path
    scores : dict
        A value for every one of `COLUMNS`; None where it is not known.
    """
    if set(scores) != set(COLUMNS):
        raise ValueError(f"scores={sorted(scores)} should hold exactly {list(COLUMNS)}.")
    write_table(pd.DataFrame([{column: scores[column] for column in COLUMNS}]), file)


def read_scores(file: str | Path) -> pd.Series:
    """Read one row of scores; what is not known is NaN."""
    table = pd.read_csv(
        file,
        dtype={"dataset": str, "method": str},
        keep_default_na=False,
        na_values={column: [""] for column in COLUMNS[2:]},
    )
    if tuple(table.columns) != COLUMNS or len(table) != 1:
        raise ValueError(
            f"{file}: columns={list(table.columns)}, rows={len(table)} should be one row of "
            f"{list(COLUMNS)}, as rule score_clustering writes it."
        )
    row = table.iloc[0]
    return row.replace({None: np.nan})
