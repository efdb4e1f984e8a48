"""The one way the workflow's tables of known columns are written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.atomic import write_table
from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import read_table


@dataclass(frozen=True)
class TableFormat:
    """A kind of table; of one with a column ``chosen`` exactly one row is chosen.

    Attributes
    ----------
    rule : str
        Name of the rule that writes it.
    columns : mapping of column to kind
        All columns in their order; see `sparsekm.io.checked_table.read_table`.
    """

    rule: str
    columns: Mapping[str, str]

    def write(self, file: str | Path, table: pd.DataFrame, chosen: int | None = None) -> None:
        """Write the columns whole or not at all; `chosen` is the position of the row to mark."""
        if chosen is not None:
            table = table.assign(chosen=np.arange(len(table)) == chosen)
        write_table(table[list(self.columns)], file)

    def read(self, file: str | Path) -> pd.DataFrame:
        """Read the table, checking every cell.

        Raises
        ------
        DamagedFileError
            Naming the column, the line and the value.
        """
        table = read_table(file, self.columns, self.rule)
        if "chosen" in self.columns and table["chosen"].sum() != 1:
            raise DamagedFileError(file, "there should be one chosen row", self.rule)
        return table

    def write_row(self, file: str | Path, values: Mapping[str, object]) -> None:
        """Write a table of one row; None where something is not known."""
        if set(values) != set(self.columns):
            raise ValueError(f"columns={sorted(values)} should be exactly {list(self.columns)}.")
        self.write(file, pd.DataFrame([values]))

    def read_row(self, file: str | Path) -> pd.Series:
        """Read a table of one row; what is not known is NaN."""
        table = self.read(file)
        if len(table) != 1:
            raise DamagedFileError(file, f"rows={len(table)} should be 1", self.rule)
        return table.iloc[0]
