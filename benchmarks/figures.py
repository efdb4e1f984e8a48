"""The figures that should not rot: ``make figures`` adds a row for this commit to figures.csv.

A ratio compares CPU seconds of one thread with those of a peer in the same run, so it means the
same on another machine. ``--compare`` measures nothing: it names each ratio that got a fifth worse
from the last row but one to the last.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans

from benchmarks.measure import measure, one_thread
from benchmarks.workflow_jobs import CLOSING_LINE
from benchmarks.workflow_jobs import benchmark as jobs_of
from sparsekm import L0KMeans, SparseKMeans

FILE = Path(__file__).with_name("figures.csv")
PAGE = Path("docs/performance.md")
TIMES = Path("results/benchmarks/tests.times")
WORSE = 1.2
BEGIN, END = "<!-- from benchmarks/figures.csv -->\n", "<!-- end -->"
IMPORTS = "import pandas, h5py, scipy.stats, sklearn.cluster, matplotlib.pyplot"
SHAPES = ((60, 1000), (600, 200), (2000, 2000))
# For each ratio: its two columns and how the page names it.
RATIOS = {
    "run": (
        "run_cpu",
        "imports_cpu",
        "`sparsekm run` on 150 × 500 with classes, compared with importing packages",
    ),
    "dry_run": (
        "dry_run_cpu",
        "imports_cpu",
        "dry run of config.yaml, compared with importing packages",
    ),
    **{
        f"fit_{n}x{p}": (
            f"fit_{n}x{p}_cpu",
            f"kmeans_{n}x{p}_cpu",
            f"`SparseKMeans` on {n:,} × {p:,}, compared with `KMeans(n_init=10)`",
        )
        for n, p in SHAPES
    },
    "wide": (
        "wide_cpu",
        "kmeans_wide_cpu",
        "`L0KMeans` on 300 × 1,048,576 with 24,000 values, compared with `KMeans(n_init=10)`",
    ),
}
OTHERS = {
    "run_wall": "seconds of `sparsekm run` on 150 × 500, two cores",
    "job_mb": "MB of the largest job of this run",
    "wide_mb": "MB that `L0KMeans` adds on 300 × 1,048,576",
    "lines": "lines of source",
    "files": "files of source",
    "tests_cpu": "CPU seconds of the last `make test`",
    "results_cpu": "CPU seconds of the jobs of the last `make results`",
}


def _clusters(n: int, p: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, : p // 10] += rng.choice([-1.5, 0, 1.5], size=(3, p // 10))[np.arange(n) % 3]
    return X


def _spend(command: list[str], **options) -> float:
    """Run a command and return its CPU seconds, with those of all processes that it leaves."""
    # The process that jobs are forked from ends after Snakemake: it becomes a child of this one.
    subreaper = 36
    ctypes.CDLL(None).prctl(subreaper, 1, 0, 0, 0)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process, status, end = subprocess.Popen(command, **options), 0, math.inf
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            ended, code = os.waitpid(-1, 0 if end == math.inf else os.WNOHANG)
            if ended == process.pid:
                process.returncode = status = os.waitstatus_to_exitcode(code)
                end = time.monotonic() + 10
            elif not ended:
                time.sleep(0.05)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status:
        raise SystemExit(status)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run_a_table() -> dict[str, float]:
    """Run the command on a table in a folder of its own."""
    names = [f"g{j}" for j in range(500)]
    table = pd.DataFrame(_clusters(150, 500), columns=names).assign(kind=np.arange(150) % 3)
    table["kind"] = "type " + table["kind"].astype(str)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryDirectory() as folder:
        table.to_csv(Path(folder) / "t.csv", index_label="sample")
        command = [sys.executable, "-m", "sparsekm.command.main", "run", "t.csv"]
        command += ["--labels", "kind", "--cores", "2"]
        spent: list[float] = []
        wall = measure(lambda: spent.append(_spend(command, cwd=folder, **quiet))).wall
        jobs = jobs_of(Path(folder) / "sparsekm-t" / "logs")
    return {"run_cpu": spent[0], "run_wall": wall, "job_mb": jobs["peak_mb"].max()}


def _fit(estimator, X) -> Callable:
    return lambda: estimator.fit(X)


def measure_row() -> dict[str, object]:
    """Measure everything once."""
    python = [sys.executable, "-c", IMPORTS]
    dry = [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "rules", "--cores", "1"]
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    row: dict[str, object] = {"date": date.today().isoformat(), "commit": commit}
    # The first of each fills the caches of files and of compiled functions.
    _spend(python)
    row["imports_cpu"] = _spend(python)
    row |= _run_a_table()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    row["dry_run_cpu"] = _spend(dry, **silent)
    with one_thread():
        SparseKMeans(2, random_state=0).fit(_clusters(40, 20))
        for n, p in SHAPES:
            X = _clusters(n, p)
            row[f"fit_{n}x{p}_cpu"] = measure(_fit(SparseKMeans(3, random_state=0), X)).cpu
            peer = _fit(KMeans(3, n_init=10, random_state=0), X)
            # A single fit takes a hundredth of a second, too little to measure.
            row[f"kmeans_{n}x{p}_cpu"] = np.mean([measure(peer).cpu for _ in range(20)])
        wide = sparse.random(300, 2**20, 24_000 / 300 / 2**20, "csr", random_state=0)
        # Functions for stored values are compiled when they are first needed.
        L0KMeans(3, sparsity=100, random_state=0).fit(wide)
        found = measure(_fit(L0KMeans(3, sparsity=100, random_state=0), wide))
        row |= {"wide_cpu": found.cpu, "wide_mb": found.memory}
        row["kmeans_wide_cpu"] = measure(_fit(KMeans(3, n_init=10, random_state=0), wide)).cpu
    sources = [*Path("src").rglob("*.py")]
    row["lines"] = sum(len(file.read_text("utf-8").splitlines()) for file in sources)
    row["files"] = len(sources)
    # As `make test` noted them: minutes and seconds of user and system, of the shell and the tests.
    noted = re.findall(r"(\d+)m([\d.]+)s", TIMES.read_text() if TIMES.exists() else "")
    row["tests_cpu"] = sum(60 * float(m) + float(s) for m, s in noted) or None
    logs = [log.read_text(errors="replace") for log in Path("logs").rglob("*.log")]
    spent = [float(found[2]) for text in logs if (found := CLOSING_LINE.search(text.strip()))]
    row["results_cpu"] = sum(spent) or None
    return {name: round(v, 3) if isinstance(v, float) else v for name, v in row.items()}


def table_of(rows: pd.DataFrame) -> str:
    """Write the last row as the first table of docs/performance.md."""
    row = rows.iloc[-1]
    lines = [
        f"`make figures`, {row['date']}:",
        "",
        "| what was measured | CPU s | CPU s of the comparison | ratio |",
    ]
    lines.append("|---|---|---|---|")
    for ours, peer, name in RATIOS.values():
        ratio = row[ours] / row[peer]
        lines.append(f"| {name} | {row[ours]:.2f} | {row[peer]:.2f} | {ratio:.1f} |")
    lines += ["", "| measure | value |", "|---|---|"]
    for column, name in OTHERS.items():
        value = "not measured" if pd.isna(row[column]) else f"{row[column]:,.0f}"
        lines.append(f"| {name} | {value} |")
    return "\n".join(lines) + "\n"


def worse(rows: pd.DataFrame) -> list[str]:
    """List the ratios that got a fifth worse from the last row but one to the last."""
    if len(rows) < 2:
        return []
    ratios = {name: rows[ours] / rows[peer] for name, (ours, peer, _) in RATIOS.items()}
    return [
        f"NOTE: the ratio {name} went from {values.iloc[-2]:.2f} to {values.iloc[-1]:.2f}."
        for name, values in ratios.items()
        if values.iloc[-1] > WORSE * values.iloc[-2]
    ]


def write_page(rows: pd.DataFrame) -> None:
    """Put the table between its two marks on the page."""
    pattern = f"{re.escape(BEGIN)}.*?{re.escape(END)}"
    text = PAGE.read_text("utf-8")
    table = f"{BEGIN}{table_of(rows)}{END}"
    PAGE.write_text(re.sub(pattern, lambda _: table, text, flags=re.S), "utf-8")


def main(arguments: list[str]) -> None:
    """Measure and write, or compare."""
    match arguments:
        case ["--compare"]:
            rows = pd.read_csv(FILE)
        case _:
            rows = pd.read_csv(FILE) if FILE.exists() else pd.DataFrame()
            rows = pd.concat([rows, pd.DataFrame([measure_row()])], ignore_index=True)
            rows.to_csv(FILE, index=False)
            write_page(rows)
            print(table_of(rows))
    for line in worse(rows):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
