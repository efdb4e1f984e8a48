"""Run the benchmarks: ``python -m benchmarks [name ...]``; all by default.

Tables go to results/benchmarks/{name}.csv.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

NAMES = [
    "few_samples",
    "ablation",
    "batches",
    "many_samples",
    "larger_than_memory",
    "million",
    "million_workflow",
    "missing_values",
    "report_memory",
    "separation",
    "smallest_cluster",
    "space",
    "space_atlas",
    "trace_data",
    "tuning_rules",
    "wide_sparse",
    "workflow_jobs",
]
FOLDER = Path("results/benchmarks")


def main(names: list[str]) -> None:
    """Run the named benchmarks; print each table and write it."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise SystemExit(f"benchmarks {unknown} should be among {NAMES}.")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or NAMES:
        print(f"{name} ...", flush=True)
        try:
            table = import_module(f"benchmarks.{name}").benchmark()
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        table.to_csv(FOLDER / f"{name}.csv", index=False)
        print(table.round(3).to_string(index=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
