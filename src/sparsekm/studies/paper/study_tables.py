"""Tidy tables of the repetitions of one setting and row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from sparsekm.simulation.gaussian_clusters import SimulatedData
from sparsekm.studies.paper.method_rows import MethodRow
from sparsekm.studies.paper.repetition import (
    GAP_COLUMNS,
    METRICS,
    Effort,
    Repetition,
    run_repetition,
)
from sparsekm.studies.paper.repetition_store import RepetitionStore
from sparsekm.studies.paper.settings import Setting

KEYS = ("experiment", "setting", "method")
_COUNTS = ["nw", "pzw", "pnw"]


def run_repetitions(
    setting: Setting,
    row: MethodRow,
    effort: Effort,
    *,
    root: int,
    replicates: int,
    store: RepetitionStore,
    progress: Callable[[int, int], None],
) -> list[Repetition]:
    """Run all repetitions that are not kept yet, and keep each in the store once it is done."""
    repetitions = []
    for replicate in range(replicates):
        repetition = store.load(replicate)
        if repetition is None:
            repetition = run_repetition(setting, row, effort, root=root, replicate=replicate)
            store.keep(replicate, repetition)
        repetitions.append(repetition)
        progress(replicate + 1, replicates)
    return repetitions


def repetition_table(
    setting: Setting, row: MethodRow, repetitions: Sequence[Repetition]
) -> pd.DataFrame:
    """Tabulate the metrics: columns `KEYS`, replicate and `METRICS`, one row per repetition."""
    table = pd.DataFrame([repetition.metrics for repetition in repetitions], columns=list(METRICS))
    table[_COUNTS] = table[_COUNTS].astype(np.int64)
    table.insert(0, "replicate", range(len(table)))
    return _with_keys(table, setting, row)


def gap_table(setting: Setting, row: MethodRow, repetitions: Sequence[Repetition]) -> pd.DataFrame:
    """Tabulate the gap curves: one row per repetition and sparsity, none where nothing is tuned.

    The columns are `KEYS`, replicate, sparsity, n_selected, gap, se, chosen (0 or 1).
    """
    parts = [
        pd.DataFrame(repetition.gap, columns=list(GAP_COLUMNS)).assign(replicate=replicate)
        for replicate, repetition in enumerate(repetitions)
    ]
    table = pd.concat(parts, ignore_index=True)[["replicate", *GAP_COLUMNS]]
    table = table.astype({"n_selected": np.int64, "chosen": np.int64, "replicate": np.int64})
    return _with_keys(table, setting, row)


def weight_table(
    setting: Setting, row: MethodRow, data: SimulatedData, repetitions: Sequence[Repetition]
) -> pd.DataFrame:
    """Tabulate every feature's weight over the repetitions: one row per feature.

    `data` is any draw of the setting; it knows which features are relevant. The columns are `KEYS`,
    feature (from 1), relevant (0 or 1), mean_weight, se and share_kept; se is NaN for a single
    repetition.
    """
    weights = np.array([repetition.weights for repetition in repetitions])
    n = len(weights)
    table = pd.DataFrame(
        {
            "feature": np.arange(1, weights.shape[1] + 1),
            "relevant": data.relevant.astype(np.int64),
            "mean_weight": weights.mean(axis=0),
            "se": weights.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.nan,
            "share_kept": (weights != 0).mean(axis=0),
        }
    )
    return _with_keys(table, setting, row)


def _with_keys(table: pd.DataFrame, setting: Setting, row: MethodRow) -> pd.DataFrame:
    names = (setting.experiment, setting.name, row.name)
    for position, (key, name) in enumerate(zip(KEYS, names, strict=True)):
        table.insert(position, key, name)
    return table
