"""The file ``consensus.csv``: how well the fits from a consensus agree with resampled ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_hdf5 import DamagedFileError
from sparsekm.storage.checked_table import FLAG, NUMBER, WHOLE, read_table

_RULE = "find_consensus"
_CONTRACT = {
    "sparsity": NUMBER,
    "n_selected": WHOLE,
    "objective": NUMBER,
    "agreement": NUMBER,
    "agreement_se": NUMBER,
    "admissible": FLAG,
    "chosen": FLAG,
}
COLUMNS = tuple(_CONTRACT)
"""Columns in their order, one row per sparsity, ascending."""


def write_consensus(file: str | Path, table: pd.DataFrame) -> None:
    """Write the table of `sparsekm.tuning.consensus_choice.judge_fits` whole or not at all."""
    write_table(table[list(COLUMNS)], file)


def read_consensus(file: str | Path) -> pd.DataFrame:
    """Read the table, of which exactly one row is chosen, and that one is admissible."""
    table = read_table(file, _CONTRACT, _RULE)
    if table["chosen"].sum() != 1 or not table["admissible"][table["chosen"]].all():
        raise DamagedFileError(file, "there should be one chosen row, an admissible one", _RULE)
    return table
