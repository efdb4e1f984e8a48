"""The file ``stability_curve.csv``: the stability curve of a path, and the row that was chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.storage.atomic import write_table

COLUMNS = (
    "sparsity",
    "n_selected",
    "objective",
    "stability",
    "stability_sd",
    "se",
    "selection_stability",
    "likeness",
    "chosen",
)
"""Columns in their order, one row per sparsity, ascending."""


def write_stability(file: str | Path, curve: pd.DataFrame, chosen: int) -> None:
    """Write a stability curve whole or not at all.

    Parameters
    ----------
    file : path
    curve : DataFrame
        As `sparsekm.tuning.stability.stability_curve` returns it.
    chosen : int
        The position of the chosen row.
    """
    table = curve.reset_index(drop=True).assign(chosen=np.arange(len(curve)) == chosen)
    write_table(table[list(COLUMNS)], file)
