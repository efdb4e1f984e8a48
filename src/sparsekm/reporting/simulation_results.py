"""What the simulations found, gathered from the workflow's files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from sparsekm.io.checked_table import infer_table, require_columns
from sparsekm.studies.paper.claim_verdicts import CLAIM_COLUMNS
from sparsekm.studies.paper.versus_paper import COLUMNS

_RULES = ("simulate", "summarise_simulation")


@dataclass(frozen=True)
class SimulationResult:
    """The tables of a study.

    Attributes
    ----------
    repetitions : DataFrame
        Metrics, one row per experiment, setting, method and repetition.
    summary : DataFrame
        Means and standard errors, see `sparsekm.studies.paper.study_summary.summarise`.
    versus_paper : DataFrame
        See `sparsekm.studies.paper.versus_paper.compare_rows`.
    claims : DataFrame
        See `sparsekm.studies.paper.claim_verdicts.judge_claims`.
    gaps, weights : list of DataFrame
        Gap curves and feature weights of Experiment 1.
    is_preview : bool
        Whether this is the preview of a default run.
    """

    repetitions: pd.DataFrame
    summary: pd.DataFrame
    versus_paper: pd.DataFrame
    claims: pd.DataFrame
    gaps: list[pd.DataFrame] = field(default_factory=list)
    weights: list[pd.DataFrame] = field(default_factory=list)
    is_preview: bool = False

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
    is_preview: bool = False,
) -> SimulationResult:
    """Read the tables of a study; `repetitions` has one for each setting and method."""
    tables, means = _RULES
    compared, verdicts = infer_table(versus_paper, means), infer_table(claims, means)
    require_columns(versus_paper, compared, COLUMNS, means)
    require_columns(claims, verdicts, CLAIM_COLUMNS, means)
    for column in ("outcome", "reason"):
        verdicts[column] = verdicts[column].fillna("")
    return SimulationResult(
        pd.concat([infer_table(file, tables) for file in repetitions], ignore_index=True),
        infer_table(summary, means),
        compared,
        verdicts,
        [infer_table(file, tables) for file in gaps],
        [infer_table(file, tables) for file in weights],
        is_preview,
    )
