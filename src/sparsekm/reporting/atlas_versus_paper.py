"""Comparison of our results on the real atlas with those printed in the paper.

No setting was tuned to match. The paper does not say how it chose its genes and voxels, so each
difference comes with counts of what was left out here. A simulated atlas is never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.figures.palette import method_look
from sparsekm.reporting.page_tables import (
    TableView,
    excluded_counts,
    format_count,
    format_rate,
    list_methods,
    view_table,
)
from sparsekm.reporting.results import DatasetResult
from sparsekm.reporting.run_facts import attribute, joined

STATISTICS = {"n_genes": "genes", "n_voxels": "voxels", "n_regions": "regions"}
PAPER_LEVEL = 3
# How the paper clustered: setting, its name, the paper's value.
PROCEDURE = (
    ("search", "search", "alternate"),
    ("rule", "rule for the sparsity", "max"),
    ("reference", "reference data", "permutation"),
    ("min_cluster_size", "smallest cluster", 1),
)
_STATISTIC_COLUMNS = ("age", "statistic", "value")
_SCORE_COLUMNS = ("age", "method", "metric", "value")


@dataclass(frozen=True)
class PaperTables:
    """The paper's tables about the atlas.

    `statistics` has the columns age, statistic ("n_genes", "n_voxels", "n_regions") and value,
    `scores` age, method, metric ("cer", "nw") and value.
    """

    statistics: pd.DataFrame
    scores: pd.DataFrame


@dataclass(frozen=True)
class AtlasComparison:
    """The section of the report: tables, and a paragraph for each age."""

    tables: list[TableView]
    paragraphs: list[str]


def read_paper_tables(statistics: str | Path, scores: str | Path) -> PaperTables:
    """Read the paper's tables from ``data/paper``."""
    tables = []
    for path, columns in ((statistics, _STATISTIC_COLUMNS), (scores, _SCORE_COLUMNS)):
        table = pd.read_csv(path)
        absent = [column for column in columns if column not in table]
        if absent:
            raise ValueError(f"{path}: columns should include {', '.join(absent)}.")
        tables.append(table)
    return PaperTables(*tables)


def compare_with_paper(
    results: Sequence[DatasetResult], paper: PaperTables
) -> AtlasComparison | None:
    """Compare our results on the real atlas, if any, with the paper's."""
    ages = [result for result in results if is_measured_atlas(result)]
    if not ages:
        return None
    return AtlasComparison(
        tables=[
            view_table(
                _statistics(ages, paper),
                "Size of the data: ours, and Table 4 of the paper",
                write=format_count,
            ),
            view_table(
                _scores(ages, paper, "cer"),
                "CER: ours, and Table 5 of the paper. Each is of the fit shown, without a standard "
                "error",
                write=format_rate,
            ),
            view_table(
                _scores(ages, paper, "nw"),
                "NW, the number of genes kept: ours, and Table 6 of the paper. Each is of the fit "
                "shown, without a standard error",
                write=format_count,
            ),
        ],
        paragraphs=[_describe_procedure(ages), *(_explain(result, paper) for result in ages)],
    )


def is_measured_atlas(result: DatasetResult) -> bool:
    """Whether a data set is an age of the real atlas."""
    is_allen = str(result.provenance.get("source", "")) == "allen"
    return result.is_atlas and is_allen and not result.is_simulated


def _statistics(ages: Sequence[DatasetResult], paper: PaperTables) -> pd.DataFrame:
    rows = {}
    for statistic, noun in STATISTICS.items():
        rows[f"{noun}: ours"] = [_size(result, statistic) for result in ages]
        rows[f"{noun}: the paper's"] = [_printed(paper, result.name, statistic) for result in ages]
    return _table(rows, ages)


def _scores(ages: Sequence[DatasetResult], paper: PaperTables, metric: str) -> pd.DataFrame:
    printed = paper.scores[paper.scores["metric"] == metric]
    theirs = printed.set_index(["method", "age"])["value"].to_dict()
    rows = {}
    for method in dict.fromkeys([*list_methods(ages), *printed["method"]]):
        title = method_look(method).title
        rows[f"{title}: ours"] = [_score(result, method, metric) for result in ages]
        rows[f"{title}: the paper's"] = [theirs.get((method, r.name), np.nan) for r in ages]
    return _table(rows, ages)


def _table(rows: dict[str, list[float]], ages: Sequence[DatasetResult]) -> pd.DataFrame:
    columns = [result.name for result in ages]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns, dtype=np.float64)


def _size(result: DatasetResult, statistic: str) -> float:
    return {
        "n_genes": result.n_features,
        "n_voxels": result.n_samples,
        "n_regions": np.unique(result.labels).size,
    }[statistic]


def _score(result: DatasetResult, method: str, metric: str) -> float:
    found = result.methods.get(method)
    if found is None:
        return np.nan
    value = found.cer if metric == "cer" else found.n_kept
    return np.nan if value is None else value


def _printed(paper: PaperTables, age: str, statistic: str) -> float:
    values = paper.statistics.set_index(["age", "statistic"])["value"].to_dict()
    return values.get((age, statistic), np.nan)


def _describe_procedure(ages: Sequence[DatasetResult]) -> str:
    """Say where l1 and l0 were not fitted as in the paper."""
    fits = [result.methods.get(name) for result in ages for name in ("l1", "l0")]
    fits = [fit for fit in fits if fit is not None]
    parts = []
    for setting, noun, theirs in PROCEDURE:
        other = [value for value in attribute(fits, setting) if value != theirs]
        if other:
            parts.append(f"{noun} {joined(other)} (the paper: {theirs})")
    if not parts:
        return "Search, choice of the sparsity and smallest cluster are the paper's."
    return (
        f"This run does not follow the paper's procedure: {joined(parts)}. "
        "config/paper-procedure.yaml does."
    )


def _explain(result: DatasetResult, paper: PaperTables) -> str:
    """Describe how the data of an age differ from the paper's, and what was left out here."""
    parts = []
    for statistic, noun in STATISTICS.items():
        ours, theirs = _size(result, statistic), _printed(paper, result.name, statistic)
        if np.isnan(theirs):
            parts.append(f"{ours:,} {noun} (the paper gives no number)")
        elif ours == theirs:
            parts.append(f"{ours:,} {noun}, as in the paper")
        else:
            parts.append(
                f"{ours:,} {noun}, {ours - theirs:+,.0f} compared with {theirs:,.0f} in the paper"
            )
    settings = result.provenance.get("settings", {})
    tissue = joined(str(name).replace("_", " ") for name in settings.get("tissue", ()))
    level = int(settings.get("level", PAPER_LEVEL))
    kept = f" The kept voxels are those of {tissue}." if tissue else ""
    if level != PAPER_LEVEL:
        kept += f" Regions are those of level {level} (level {PAPER_LEVEL} in the paper)."
    left_out = [f"{n:,} {what}" for what, n in excluded_counts(result.provenance).items() if n]
    return f"{result.name}: {'; '.join(parts)}.{kept} Left out: {joined(left_out) or 'nothing'}."
