"""The file ``scores.csv``: one row on how good a tuned fit is; empty where a truth is not known."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_hdf5 import DamagedFileError
from sparsekm.storage.checked_table import NUMBER_OR_NOTHING, WORD, read_table

_RULE = "score_clustering"
_CONTRACT = {
    "dataset": WORD,
    "method": WORD,
    "n_samples": NUMBER_OR_NOTHING,
    "n_features": NUMBER_OR_NOTHING,
    "n_clusters": NUMBER_OR_NOTHING,
    "sparsity": NUMBER_OR_NOTHING,
    "n_nonzero_weights": NUMBER_OR_NOTHING,
    "objective": NUMBER_OR_NOTHING,
    "cer": NUMBER_OR_NOTHING,
    "ecr": NUMBER_OR_NOTHING,
    "pzw": NUMBER_OR_NOTHING,
    "pnw": NUMBER_OR_NOTHING,
}
COLUMNS = tuple(_CONTRACT)
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
    table = read_table(file, _CONTRACT, _RULE)
    if len(table) != 1:
        raise DamagedFileError(file, f"rows={len(table)} should be 1", _RULE)
    return table.iloc[0]
