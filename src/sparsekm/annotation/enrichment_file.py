"""The file ``enrichment.csv``: a row per group and term tested, by group and ascending in p."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_table import NUMBER_OR_NOTHING, WHOLE, WORD, read_table

_CONTRACT = {
    "group": WORD,
    "term": WORD,
    "name": WORD,
    "n_analysed": WHOLE,
    "n_group": WHOLE,
    "n_term": WHOLE,
    "n_shared": WHOLE,
    "expected": NUMBER_OR_NOTHING,
    "fold": NUMBER_OR_NOTHING,
    "p_value": NUMBER_OR_NOTHING,
    "q_value": NUMBER_OR_NOTHING,
    "genes": WORD,
}
COLUMNS = tuple(_CONTRACT)
GROUPS = ("kept", "dropped", "only l1")
"""Groups of features, in the order of tables."""


def write_enrichment(table: pd.DataFrame, file: str | Path) -> None:
    """Write the table as UTF-8 CSV, whole or not at all."""
    write_table(table[list(COLUMNS)], file)


def read_enrichment(file: str | Path) -> pd.DataFrame:
    """Read a table written by `write_enrichment`."""
    return read_table(file, _CONTRACT, "enrich_genes")
