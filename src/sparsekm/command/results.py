"""The results of a run in a few lines: the answer first, then where its tables are."""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparsekm.annotation.gene_table import primary_method
from sparsekm.io.store import read_fit
from sparsekm.pipeline.registry import METHODS

_RATES = {"cer": "CER", "cer_chance": "chance", "ari": "ARI", "ami": "AMI"}
_RATES_HEAD = "".join(f"  {name:>6}" for name in _RATES.values())
_TABLES = {
    "clusters.csv": "Clusters:",
    "genes.csv": "Features:",
    "clusters.xlsx": "Workbook:",
    "kept.gct": "GCT, CLS:",
    "ranked.zip": "Ranked:",
}


def describe_results(
    folder: Path, settings: Mapping[str, Any], short: Callable[[Path], str]
) -> list[str]:
    """List the last lines of a run: the answer, scores, tables, report and logs.

    The workflow ran in `folder` with the configuration `settings`; `short` abbreviates paths.
    """
    lines = []
    for name in settings.get("matrices") or {}:
        place = folder / "results" / name
        lines += ["", *_scores(place, name), *_conclusion(place)]
        lines += [
            f"  {title:<9} {short(place / file)}"
            for file, title in _TABLES.items()
            if (place / file).is_file()
        ]
    return [
        *lines,
        "",
        f"Report: {short(folder / 'results' / 'report.html')}",
        f"Logs:   {short(folder / 'logs')}",
    ]


def _conclusion(folder: Path) -> list[str]:
    """Say what the recommended method concluded, if it ran."""
    file = folder / "sparse" / "tuned.h5"
    found = str(read_fit(file).attributes.get("conclusion", "")) if file.is_file() else ""
    return textwrap.wrap(found, 98, initial_indent="  ", subsequent_indent="  ")


def _scores(folder: Path, name: str) -> list[str]:
    """Tabulate clusters, features kept and, if classes are known, the scores of every method.

    The first is the answer.
    """
    rows = {}
    for method in METHODS:
        file = folder / method / "scores.csv"
        if file.is_file():
            with file.open(encoding="utf-8", newline="") as opened:
                rows[method] = next(csv.DictReader(opened))
    if rows:
        answer = primary_method(rows)
        rows = {answer: rows[answer], **rows}
    has_classes = any(row["cer"] for row in rows.values())
    head = f"{name:<20} clusters  features kept" + (_RATES_HEAD if has_classes else "")
    lines = [head]
    for method, row in rows.items():
        rates = "".join(f"  {float(row[rate]):6.3f}" for rate in _RATES) if row["cer"] else ""
        title = METHODS[method].title
        kept = int(row["n_nonzero_weights"])
        lines.append(f"  {title:<18} {int(row['n_clusters']):8d}  {kept:13,d}{rates}")
    if has_classes:
        lines += [
            "  CER: share of pairs of samples on which clusters and classes disagree; chance: of",
            "  random clusters. ARI, AMI: 1 for the same groups, 0 by chance.",
        ]
    return lines
