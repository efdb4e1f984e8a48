"""What the jobs of the last workflow run took, rule by rule, as their logs say."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

LOGS = Path("logs")
CLOSING_LINE = re.compile(r"done in ([\d.]+) s, with ([\d.]+) s of CPU and (\d+) MB$")


def benchmark(logs: Path = LOGS) -> pd.DataFrame:
    """Gather, per rule: finished jobs, seconds and CPU seconds of all, megabytes of the largest."""
    rows = []
    for log in sorted(logs.rglob("*.log")):
        rule = log.relative_to(logs).parts[0].removesuffix(".log")
        # The last line of a job that ended well is its closing line.
        lines = log.read_text(errors="replace").splitlines()
        found = CLOSING_LINE.search(lines[-1]) if lines else None
        if found:
            rows.append((rule, *map(float, found.groups())))
    if not rows:
        raise FileNotFoundError(f"no logs of finished jobs in {logs}/; run the workflow first")
    table = pd.DataFrame(rows, columns=["rule", "wall", "cpu", "peak_mb"])
    groups = table.groupby("rule")
    costs = groups[["wall", "cpu"]].sum()
    costs.insert(0, "jobs", groups.size())
    costs["peak_mb"] = groups["peak_mb"].max()
    return costs.sort_values("cpu", ascending=False).reset_index()
