"""The file ``consensus.csv``: agreement of the fits from a consensus with resampled fits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.checked_table import FLAG, NUMBER, WHOLE
from sparsekm.io.table_format import TableFormat


@dataclass(frozen=True)
class _ConsensusFormat(TableFormat):
    """A table whose chosen row is admissible."""

    def read(self, file: str | Path) -> pd.DataFrame:
        """Read the table, checking every cell and the choice."""
        table = super().read(file)
        if not table["admissible"][table["chosen"]].all():
            raise DamagedFileError(file, "the chosen row should be admissible", self.rule)
        return table


CONSENSUS = _ConsensusFormat(
    "find_consensus",
    {
        "sparsity": NUMBER,
        "n_selected": WHOLE,
        "objective": NUMBER,
        "agreement": NUMBER,
        "agreement_se": NUMBER,
        "admissible": FLAG,
        "chosen": FLAG,
    },
)
