"""Trace where X goes: ``python -m benchmarks.trace_data`` follows one fit and one run of a table.

Printed are the files whose functions are given or return as many values as X has, in the order in
which X first reaches them; climbs, calls from one of them back into one that waits for it; and the
classes of ours that hold X. Folds of samples and screened features are smaller than X.
"""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

SHAPE = (60, 331)
ROOT = Path(__file__).parents[1]
PATHS = [str(ROOT), str(ROOT / "src")]
SOURCE = f"{PATHS[1]}{os.sep}sparsekm{os.sep}"
WATCH = f"import sys; sys.path[:0] = {PATHS}; from benchmarks.trace_data import watch; watch()"
DRAW = f"import numpy as np; X = np.random.default_rng(0).normal(size={SHAPE}); X[:20, :9] += 3; "
WRITE = "import pandas as pd; pd.DataFrame(X).add_prefix('g').to_csv('table.csv', index=False)"
FIT = "import sparsekm; sparsekm.SparseKMeans(2, random_state=0, n_jobs=1).fit(X)"
RUN = [str(Path(sys.executable).with_name("sparsekm")), "run", "table.csv", "--cores", "1"]


def is_whole(value: object) -> bool:
    """Tell whether a value is an array, a sparse matrix or a table of X's size."""
    return isinstance(s := getattr(value, "shape", 0), tuple) and s in (SHAPE, SHAPE[::-1])


def holds_whole(value: object) -> bool:
    """Tell whether a value is an object of ours that is such, or has such an attribute."""
    is_ours = type(value).__module__.startswith("sparsekm") and not isinstance(value, type)
    return is_ours and any(map(is_whole, [value, *getattr(value, "__dict__", {}).values()]))


def watch() -> None:
    """Log each file, climb and class, in this process and in those that it forks."""
    seen: set[str] = set()

    def note(line: str) -> None:
        if line not in seen:
            seen.add(line)
            with Path(os.environ["TRACE_LOG"]).open("a") as log:
                log.write(f"{line}\n")

    def look(frame, event: str, result: object) -> None:
        file = frame.f_code.co_filename
        if event not in ("call", "return") or not file.startswith(SOURCE):
            return
        values = [result] if event == "return" else list(frame.f_locals.values())
        holders = [type(value) for value in values if holds_whole(value)]
        if holders or any(map(is_whole, values)):
            note(f"file {file.removeprefix(SOURCE)}")
            for cls in holders:
                note(f"class {cls.__module__}.{cls.__qualname__}")
            above = []
            while event == "call" and (frame := frame.f_back):
                above.append(frame.f_code.co_filename)
            caller = next((name for name in above if name.startswith(SOURCE)), file)
            if file in above and caller != file and f"file {caller.removeprefix(SOURCE)}" in seen:
                note(f"climb {caller.removeprefix(SOURCE)} -> {file.removeprefix(SOURCE)}")

    threading.setprofile(look)
    sys.setprofile(look)


def trace(command: list[str]) -> list[tuple[str, str]]:
    """Run a command in a folder with the table; list what is logged, each as kind and name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", DRAW + WRITE], cwd=folder, check=True)
        place = Path(folder, "first")
        place.mkdir()
        (place / "sitecustomize.py").write_text(WATCH)
        tracing = {"PYTHONPATH": str(place), "TRACE_LOG": str(place / "log")}
        subprocess.run(command, cwd=folder, env=os.environ | tracing, check=True)
        lines = dict.fromkeys((place / "log").read_text().splitlines())
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def benchmark():
    """Give a table with a row for each file, climb and class of a fit and of a run."""
    # Not for the processes that are watched, which import this module.
    import pandas as pd

    commands = {"fit": [sys.executable, "-c", DRAW + FIT], "run": RUN}
    rows = [(title, *found) for title, command in commands.items() for found in trace(command)]
    return pd.DataFrame(rows, columns=["traced", "kind", "name"])


if __name__ == "__main__":
    for (title, kind), table in benchmark().groupby(["traced", "kind"], sort=False):
        print(f"{title}, {kind}: {len(table)}", *table["name"], sep="\n  ")
