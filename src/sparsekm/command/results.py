"""The results of a run in a few lines."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparsekm.figures.palette import METHOD_LOOKS


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
    head = f"{name:<20} clusters  features kept" + ("    CER     ARI" if has_classes else "")
    lines = [head]
    for row in rows:
        error = f"  {float(row['cer']):5.3f}  {float(row['ari']):6.3f}" if row["cer"] else ""
        title = METHOD_LOOKS[row["method"]].title
        kept = int(row["n_nonzero_weights"])
        lines.append(f"  {title:<18} {int(row['n_clusters']):8d}  {kept:13,d}{error}")
    if has_classes:
        lines.append("  CER: share of pairs of samples on which clusters and classes disagree.")
        lines.append("  ARI: their agreement, corrected for chance (1: the same, 0: by chance).")
    return lines
