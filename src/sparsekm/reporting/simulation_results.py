"""What the simulations found, gathered from the workflow's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from sparsekm.io.tables import infer_table, require_columns
from sparsekm.studies.paper.verdicts import CLAIM_COLUMNS, COMPARED_COLUMNS

_RULES = ("simulate", "summarise_simulation")


@dataclass(frozen=True)
class SimulationResult:
    """The tables of a study."""

    repetitions: pd.DataFrame  # metrics: a row per experiment, setting, method and repetition
    summary: pd.DataFrame  # of `summarise`
    versus_paper: pd.DataFrame  # of `compare_rows`
    claims: pd.DataFrame  # of `judge_claims`
    gaps: list[pd.DataFrame] = field(default_factory=list)  # of Experiment 1, as the weights
    weights: list[pd.DataFrame] = field(default_factory=list)

    @property
    def replicates(self) -> int:
        """The number of repetitions."""
        return int(self.repetitions["replicate"].max()) + 1

    @property
    def fewest(self) -> int:
        """The smallest number of repetitions of a method in a setting."""
        return int(self.repetitions.groupby(["experiment", "setting", "method"]).size().min())


def load_simulation_result(
    *,
    repetitions: Sequence[str | Path],
    summary: str | Path,
    versus_paper: str | Path,
    claims: str | Path,
    gaps: Sequence[str | Path] = (),
    weights: Sequence[str | Path] = (),
) -> SimulationResult:
    """Read the tables of a study; `repetitions` has one for each setting and method."""
    tables, means = _RULES
    compared, judged = infer_table(versus_paper, means), infer_table(claims, means)
    require_columns(versus_paper, compared, COMPARED_COLUMNS, means)
    require_columns(claims, judged, CLAIM_COLUMNS, means)
    return SimulationResult(
        pd.concat([infer_table(file, tables) for file in repetitions], ignore_index=True),
        infer_table(summary, means),
        compared,
        judged.fillna({"reason": "", "remark": ""}),
        [infer_table(file, tables) for file in gaps],
        [infer_table(file, tables) for file in weights],
    )
