"""How the workflow's tables (CSV) are written and read: a format is a list of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.atomic import write_table
from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import convert_columns, read_words, require_columns


@dataclass(frozen=True)
class TableFormat:
    """A kind of table; if it has a column ``chosen``, exactly one row is chosen."""

    rule: str
    # The required columns, each with a kind of `sparsekm.io.checked_table`.
    columns: Mapping[str, str]
    # Kinds of further columns, by the beginning of their names. If given, columns may be in any
    # order; otherwise a table has exactly `columns`, in their order.
    others: Mapping[str, str] | None = None

    def write(self, file: str | Path, table: pd.DataFrame, chosen: int | None = None) -> None:
        """Write the table atomically; `chosen` is the position of the row to mark."""
        if chosen is not None:
            table = table.assign(chosen=np.arange(len(table)) == chosen)
        write_table(table if self.others else table[list(self.columns)], file)

    def read(self, file: str | Path) -> pd.DataFrame:
        """Read the table and check every cell: str, int64, float64 (NaN if empty) and bool."""
        table = read_words(file, self.rule)
        found = list(table.columns)
        if self.others:
            require_columns(file, table, self.columns, self.rule)
        elif found != list(self.columns):
            raise DamagedFileError(
                file, f"columns={found} should be {list(self.columns)}", self.rule
            )
        kinds = {name: self._kind_of(file, name) for name in found}
        table = convert_columns(file, table, kinds, self.rule)
        if "chosen" in self.columns and table["chosen"].sum() != 1:
            raise DamagedFileError(file, "there should be one chosen row", self.rule)
        return table

    def _kind_of(self, file: str | Path, column: str) -> str:
        if column in self.columns:
            return self.columns[column]
        for start, kind in self.others.items():
            if column.startswith(start):
                return kind
        raise DamagedFileError(
            file, f"column {column!r} should begin with one of {[*self.others]}", self.rule
        )

    def write_row(self, file: str | Path, values: Mapping[str, object]) -> None:
        """Write a table of one row; unknown values are None."""
        if set(values) != set(self.columns):
            raise ValueError(f"columns={sorted(values)} should be exactly {list(self.columns)}.")
        self.write(file, pd.DataFrame([values]))

    def read_row(self, file: str | Path) -> pd.Series:
        """Read a table of one row; unknown values are NaN."""
        table = self.read(file)
        if len(table) != 1:
            raise DamagedFileError(file, f"rows={len(table)} should be 1", self.rule)
        return table.iloc[0]
