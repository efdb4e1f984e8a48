"""Tables of one row: every column's kind is known, and so is the rule that writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sparsekm.storage.atomic import write_table
from sparsekm.storage.checked_hdf5 import DamagedFileError
from sparsekm.storage.checked_table import read_table


@dataclass(frozen=True)
class OneRowFile:
    """A table of one row.

    Attributes
    ----------
    rule : str
        Name of the rule that writes it.
    contract : mapping of column to kind
        All columns in their order; see `sparsekm.storage.checked_table.read_table`.
    """

    rule: str
    contract: Mapping[str, str]

    def write(self, file: str | Path, values: Mapping[str, object]) -> None:
        """Write the row, whole or not at all; None where something is not known."""
        if set(values) != set(self.contract):
            raise ValueError(f"columns={sorted(values)} should be exactly {list(self.contract)}.")
        write_table(pd.DataFrame([{column: values[column] for column in self.contract}]), file)

    def read(self, file: str | Path) -> pd.Series:
        """Read the row; what is not known is NaN."""
        table = read_table(file, self.contract, self.rule)
        if len(table) != 1:
            raise DamagedFileError(file, f"rows={len(table)} should be 1", self.rule)
        return table.iloc[0]
