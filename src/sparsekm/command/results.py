"""The results of a run in a few lines."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparsekm.figures.palette import METHOD_LOOKS

_RATES = {"cer": "CER", "cer_chance": "chance", "ari": "ARI", "ami": "AMI"}
_RATES_HEAD = "".join(f"  {name:>6}" for name in _RATES.values())


def describe_results(
    folder: Path, settings: Mapping[str, Any], short: Callable[[Path], str]
) -> list[str]:
    """List the last lines of a run: scores, report and logs.

    The workflow ran in `folder` with the configuration `settings`; `short` abbreviates paths.
    """
    lines = []
    for name in settings.get("matrices") or {}:
        lines += ["", *_scores(folder / "results" / name, name)]
    return [
        *lines,
        "",
        f"Report: {short(folder / 'results' / 'report.html')}",
        f"Logs:   {short(folder / 'logs')}",
    ]


def _scores(folder: Path, name: str) -> list[str]:
    """Tabulate clusters, features kept and, if classes are known, the scores of every method."""
    rows = []
    for method in METHOD_LOOKS:
        file = folder / method / "scores.csv"
        if file.is_file():
            with file.open(encoding="utf-8", newline="") as opened:
                rows += csv.DictReader(opened)
    has_classes = any(row["cer"] for row in rows)
    head = f"{name:<20} clusters  features kept" + (_RATES_HEAD if has_classes else "")
    lines = [head]
    for row in rows:
        rates = "".join(f"  {float(row[rate]):6.3f}" for rate in _RATES) if row["cer"] else ""
        title = METHOD_LOOKS[row["method"]].title
        kept = int(row["n_nonzero_weights"])
        lines.append(f"  {title:<18} {int(row['n_clusters']):8d}  {kept:13,d}{rates}")
    if has_classes:
        lines += [
            "  CER: share of pairs of samples on which clusters and classes disagree.",
            "  chance: the mean CER of random clusters of the same sizes.",
            "  ARI, AMI: agreement on pairs and mutual information, corrected for chance (1: the",
            "  same partition, 0: by chance).",
        ]
    return lines
