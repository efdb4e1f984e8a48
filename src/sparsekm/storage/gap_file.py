"""The file ``gap.csv``: the gap curve of a path, and the row that was chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.storage.atomic import write_table

COLUMNS = (
    "sparsity",
    "n_selected",
    "objective",
    "log_objective",
    "reference_mean",
    "reference_sd",
    "gap",
    "se",
    "chosen",
)
"""Columns in their order, one row per sparsity, ascending."""


def write_gap(file: str | Path, gap: pd.DataFrame, chosen: int) -> None:
    """Write a gap curve whole or not at all.

    Parameters
    ----------
    file : path
    gap : DataFrame
        As `sparsekm.tuning.gap.gap_curve` returns it.
    chosen : int
        The position of the chosen row.
    """
    table = gap.reset_index(drop=True).assign(chosen=np.arange(len(gap)) == chosen)
    write_table(table[list(COLUMNS)], file)


def read_gap(file: str | Path) -> pd.DataFrame:
    """Read a gap curve, of which exactly one row is chosen."""
    table = pd.read_csv(file)
    if (
        tuple(table.columns) != COLUMNS
        or table["chosen"].dtype != bool
        or table["chosen"].sum() != 1
    ):
        raise ValueError(
            f"{file}: columns={list(table.columns)} should be {list(COLUMNS)} with one chosen row, "
            "as rule tune_sparsity writes it."
        )
    return table
