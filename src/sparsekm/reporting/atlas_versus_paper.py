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

from sparsekm.reporting.methods_text import attribute
from sparsekm.reporting.page_tables import (
    TableView,
    excluded_counts,
    format_count,
    format_rate,
    joined,
    list_methods,
    make_table,
    score_table,
)
from sparsekm.reporting.results import DatasetResult

STATISTICS = {"n_genes": "genes", "n_voxels": "voxels", "n_regions": "regions"}
PAPER_LEVEL = 3
# How the paper clustered: setting, its name, the paper's value.
PROCEDURE = (
    ("search", "search", "alternate"),
    ("rule", "rule for the sparsity", "max"),
    ("reference", "reference data", "permutation"),
    ("min_cluster_size", "smallest cluster", 1),
)


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
    for path, names in ((statistics, "age statistic value"), (scores, "age method metric value")):
        table = pd.read_csv(path)
        absent = [column for column in names.split() if column not in table]
        if absent:
            raise ValueError(f"{path}: columns should include {', '.join(absent)}.")
        tables.append(table)
    return PaperTables(*tables)


def compare_with_paper(
    results: Sequence[DatasetResult], paper: PaperTables
) -> AtlasComparison | None:
    """Compare our results on the real atlas, if any, with the paper's."""
    ages = [
        result
        for result in results
        if result.is_atlas and result.source == "allen" and not result.is_simulated
    ]
    if not ages:
        return None
    printed = paper.statistics.set_index(["statistic", "age"])["value"].to_dict()
    sizes = {
        noun: (
            [_sizes(age)[statistic] for age in ages],
            [printed.get((statistic, age.name)) for age in ages],
        )
        for statistic, noun in STATISTICS.items()
    }
    genes = "NW, the number of genes kept: ours, and Table 6 of the paper"
    heads = dict.fromkeys(("", *(age.name for age in ages)), "")
    tables = [
        make_table(
            caption,
            heads,
            (
                [f"{name}: {whose}", *map(write, values)]
                for name, pair in rows.items()
                for whose, values in zip(("ours", "the paper's"), pair, strict=True)
            ),
        )
        for caption, rows, write in (
            ("Size of the data: ours, and Table 4 of the paper", sizes, format_count),
            ("CER: ours, and Table 5 of the paper", _scores(ages, paper, "cer"), format_rate),
            (genes, _scores(ages, paper, "nw"), format_count),
        )
    ]
    texts = [_describe_procedure(ages), *(_explain(age, printed) for age in ages)]
    return AtlasComparison(tables, texts)


def _sizes(result: DatasetResult) -> dict[str, int]:
    return {
        "n_genes": result.n_features,
        "n_voxels": result.n_samples,
        "n_regions": np.unique(result.labels).size,
    }


def _scores(
    ages: Sequence[DatasetResult], paper: PaperTables, metric: str
) -> dict[str, tuple[list, list]]:
    printed = paper.scores[paper.scores["metric"] == metric]
    theirs = printed.set_index(["method", "age"])["value"].to_dict()
    methods = dict.fromkeys([*list_methods(ages), *printed["method"]])
    ours = score_table(ages, "cer" if metric == "cer" else "n_kept", list(methods))
    return {
        title: (list(row), [theirs.get((method, age.name)) for age in ages])
        for method, (title, row) in zip(methods, ours.iterrows(), strict=True)
    }


def _describe_procedure(ages: Sequence[DatasetResult]) -> str:
    """Say where l1 and l0 were not fitted as in the paper."""
    fits = [age.methods[name] for age in ages for name in ("l1", "l0") if name in age.methods]
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


def _explain(result: DatasetResult, printed: dict) -> str:
    """Describe how the data of an age differ from the paper's, and what was left out here."""
    parts = []
    for statistic, noun in STATISTICS.items():
        ours, theirs = _sizes(result)[statistic], printed.get((statistic, result.name))
        compared = f", {ours - (theirs or 0):+,.0f} compared with {theirs or 0:,.0f} in the paper"
        if theirs is None:
            compared = " (the paper gives no number)"
        elif ours == theirs:
            compared = ", as in the paper"
        parts.append(f"{ours:,} {noun}{compared}")
    settings = result.provenance.get("settings", {})
    tissue = joined(str(name).replace("_", " ") for name in settings.get("tissue", ()))
    level = int(settings.get("level", PAPER_LEVEL))
    kept = f" The kept voxels are those of {tissue}." if tissue else ""
    if level != PAPER_LEVEL:
        kept += f" Regions are those of level {level} (level {PAPER_LEVEL} in the paper)."
    left_out = [f"{n:,} {what}" for what, n in excluded_counts(result.provenance).items() if n]
    return f"{result.name}: {'; '.join(parts)}.{kept} Left out: {joined(left_out) or 'nothing'}."
