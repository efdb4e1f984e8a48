"""What the judged claims are held against: our repetitions by row, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from sparsekm.studies.paper.method_rows import METHOD_ROWS, stand_ins
from sparsekm.studies.paper.settings import Setting
from sparsekm.studies.paper.versus_paper import CELL, FEWEST


class StudyValues:
    """The values of every repetition, and the paper's numbers."""

    def __init__(self, repetitions: pd.DataFrame, paper: pd.DataFrame) -> None:
        self.judged = stand_ins(set(repetitions["method"]))
        keys = ["experiment", "setting", "method"]
        self._cells: Mapping = {
            cell: table.set_index("replicate") for cell, table in repetitions.groupby(keys)
        }
        self._paper = paper.set_index(CELL)["value"].to_dict()

    def of_row(self, setting: Setting, row: str, metric: str) -> pd.Series | None:
        """Give a row's values by repetition; None where they are too few to judge."""
        cell = self._cells.get((setting.experiment, setting.name, row))
        values = None if cell is None else cell[metric].dropna()
        return None if values is None or len(values) < FEWEST else values

    def of_method(self, setting: Setting, method: str, metric: str) -> pd.Series | None:
        """Give those of the row that stands for one of the paper's methods, or of a row."""
        return self.of_row(setting, self.judged.get(method, method), metric)

    def printed(self, setting: Setting, method: str, metric: str) -> float:
        """Give the paper's number; NaN where it prints none."""
        return self._paper.get((setting.experiment, setting.name, method, metric), np.nan)


def runs_of(method: str) -> list[str]:
    """List all rows that run one of the paper's methods on all features."""
    return [
        name for name, row in METHOD_ROWS.items() if row.method == method and row.features == "all"
    ]
