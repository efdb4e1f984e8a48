"""What the rules after the tuning take of memory, and what they ask for, in megabytes.

The scripts run as Snakemake would run them, on made matrices: a small one, a long one, and one
that is long and wide. Labels are the simulated ones and nothing is fitted: k-means keeps all
features, l0 a hundredth of them.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from benchmarks.workflow_jobs import CLOSING_LINE

SHAPES = [(2_000, 500), (1_000_000, 100), (25_000, 20_000)]
METHODS = {"kmeans": 1.0, "l0": 0.01}
N_CLUSTERS, N_SPARSITIES, SEED = 10, 10, 1
RULE_FILES = sorted(Path("workflow/rules").glob("*.smk"))
RULES = ["annotate_genes", "match_clusters", "report"]
ASKED = re.compile(r"needs\(\s*memory=\((\d+)(?: \+ (\d+) \* N_DRAWING)?, ([\d.]+)")


class Named(dict):
    """What Snakemake hands a script: values by attribute."""

    __getattr__ = dict.__getitem__


class Files(Named):
    """Files by attribute, or one after the other."""

    def __iter__(self):
        """Give the files, not their names."""
        return iter(self.values())


def write_inputs(folder: Path, n_samples: int, n_features: int) -> None:
    """Write what the workflow would have written about a made matrix."""
    from sparsekm.cluster.sparsity_path import ChosenFit, SparsityPath
    from sparsekm.io.normalised_file import write_normalised
    from sparsekm.io.store import REQUIRED, write_fit, write_path
    from sparsekm.io.tables import SCORES

    rng = np.random.default_rng(SEED)
    labels = rng.integers(N_CLUSTERS, size=n_samples, dtype=np.int32)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X[:, : n_features // 100] += labels[:, None] / 3
    obs = pd.DataFrame({"label": labels.astype(str)}, index=[f"s{i}" for i in range(n_samples)])
    var = pd.DataFrame(index=[f"g{j}" for j in range(n_features)])
    write_normalised(folder / "normalised.h5ad", X, obs, var, {"dataset": "made", "source": "made"})
    scores = np.sort(rng.chisquare(N_CLUSTERS - 1, n_features))[::-1]
    about = dict.fromkeys(REQUIRED, "made") | {"n_clusters": N_CLUSTERS, "seed": SEED}
    about |= {"parameters": {"n_init": 1, "min_cluster_size": 1}, "versions": {"sparsekm": "made"}}
    for method, share in METHODS.items():
        weights = (np.arange(n_features) < share * n_features).astype(float)
        repeated = {
            name: np.tile(values, (N_SPARSITIES, 1))
            for name, values in (("labels", labels), ("weights", weights), ("scores", scores))
        }
        ones = np.ones(N_SPARSITIES)
        path = SparsityPath(
            sparsities=ones,
            objectives=ones,
            first_objectives=ones,
            n_iter=ones.astype(int),
            search="alternate",
            **repeated,
        )
        about["method"] = method
        write_path(folder / method / "path.h5", path, about)
        centers = np.zeros((N_CLUSTERS, n_features))
        fit = ChosenFit.of(path.fit_at(0), centers=centers, attributes=about)
        write_fit(folder / method / "tuned.h5", fit)
        SCORES.write_row(folder / method / "scores.csv", dict.fromkeys(SCORES.columns, 0))


def describe_job(rule: str, folder: Path) -> Named:
    """Give the object that Snakemake would give the script of a rule."""
    files = {
        kind: {method: folder / method / name for method in METHODS}
        for kind, name in (("fits", "tuned.h5"), ("paths", "path.h5"), ("scores", "scores.csv"))
    }
    files["normalised"] = folder / "normalised.h5ad"
    tables = {name: folder / f"{name}.csv" for name in ("genes", "contingency")}
    params = {"methods": list(METHODS), "selecting": [], "terms": {}, "title": "made"}
    params |= {"genes_of_interest": "auto", "configuration": {}, "figures": "figures"}
    params["datasets"] = {"made": files | {"genes": tables["genes"]}}
    inputs = {"normalised": files["normalised"], "fits": list(files["fits"].values())}
    inputs |= {"stability": [], "gene_sets": [], "paper": []}
    outputs = {name: tables[name] for name in tables} | {
        "report": folder / "report.html",
    }
    return Named(
        rule=rule,
        threads=1,
        wildcards={"dataset": "made"},
        log=[f"logs/{rule}.log"],
        resources=SimpleNamespace(mem_mb=4000, runtime=60),
        params=Named(params),
        input=Files(inputs),
        output=Files(outputs),
    )


def run_script(rule: str, folder: Path) -> tuple[float, float]:
    """Run a rule's script; return seconds and the peak of resident megabytes, from its log."""
    scripts = Path("scripts").resolve()
    sys.path.insert(0, str(scripts))
    os.chdir(folder)
    runpy.run_path(str(scripts / f"{rule}.py"), {"snakemake": describe_job(rule, folder)})
    wall, _, peak = CLOSING_LINE.search(Path(f"logs/{rule}.log").read_text().strip()).groups()
    return float(wall), float(peak)


def asked_megabytes(rule: str, folder: Path) -> float:
    """Compute what a rule asks for on its first attempt, from its own line."""
    text = next(text for file in RULE_FILES if f"rule {rule}:" in (text := file.read_text()))
    found = ASKED.search(text, text.index(f"rule {rule}:")).groups()
    # One process draws one data set.
    base, drawing, per_megabyte = (float(part or 0) for part in found)
    names = ["normalised.h5ad", "*/tuned.h5", *(["*/path.h5", "*.csv"] if rule == "report" else [])]
    found = [file.stat().st_size for name in names for file in folder.glob(name)]
    return base + drawing + per_megabyte * sum(found) / 2**20


def benchmark(shapes: list[tuple[int, int]] = SHAPES) -> pd.DataFrame:
    """Measure each script in a process of its own."""
    rows = []
    for n_samples, n_features in shapes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for call, rule in ((write_inputs, ""), *((run_script, rule) for rule in RULES)):
                arguments = (folder, n_samples, n_features) if not rule else (rule, folder)
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                    measured = pool.submit(call, *arguments).result()
                if rule:
                    asked = asked_megabytes(rule, folder)
                    rows.append((n_samples, n_features, rule, *measured, asked))
                    print(rows[-1], flush=True)
    columns = ["n_samples", "n_features", "rule", "wall", "peak_mb", "asked_mb"]
    return pd.DataFrame(rows, columns=columns)
