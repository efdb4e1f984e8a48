"""The file ``gap.csv``: the gap curve of a path, and the row that was chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_hdf5 import DamagedFileError
from sparsekm.storage.checked_table import FLAG, NUMBER, WHOLE, read_table

_RULE = "tune_sparsity"
_CONTRACT = {
    "sparsity": NUMBER,
    "n_selected": WHOLE,
    "objective": NUMBER,
    "log_objective": NUMBER,
    "reference_mean": NUMBER,
    "reference_sd": NUMBER,
    "gap": NUMBER,
    "se": NUMBER,
    "chosen": FLAG,
}
COLUMNS = tuple(_CONTRACT)
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
    table = read_table(file, _CONTRACT, _RULE)
    if table["chosen"].sum() != 1:
        raise DamagedFileError(file, "there should be one chosen row", _RULE)
    return table
