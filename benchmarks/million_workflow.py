"""Sparse counts of many samples through the workflow, from .h5ad to report: what rules take."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import yaml

from benchmarks.million import N_CLUSTERS, SEED, SHARE_OF_CLUSTER, SHARE_STORED, SPARSITY
from benchmarks.workflow_jobs import benchmark as gather_jobs

BLOCK = 20_000
ROOT = Path(__file__).resolve().parents[1]


def write_cells(file: Path, n_samples: int, n_features: int) -> None:
    """Write CSR counts block by block: 200 features mark a cluster each.

    A tenth of the values is stored; of each feature from a fiftieth to 18 in a hundred, since
    choosing variable features compares those of like means.
    """
    rng = np.random.default_rng(SEED)
    labels = rng.integers(N_CLUSTERS, size=n_samples)
    obs = pd.DataFrame({"kind": labels.astype(str)}, index=[f"cell{i}" for i in range(n_samples)])
    var = pd.DataFrame(index=[f"gene{j}" for j in range(n_features)])
    anndata.AnnData(obs=obs, var=var).write_h5ad(file)
    markers = np.arange(min(SPARSITY, n_features))
    shares = SHARE_STORED * rng.uniform(0.2, 1.8, n_features).astype(np.float32)
    starts = [np.zeros(1, np.int64)]
    with h5py.File(file, "a") as opened:
        opened.pop("X", None)
        group = opened.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = (n_samples, n_features)
        for name, dtype in (("data", np.float32), ("indices", np.int32)):
            group.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(2**20,))
        for first in range(0, n_samples, BLOCK):
            kinds = labels[first : first + BLOCK]
            shape = (len(kinds), n_features)
            stored = rng.random(shape, dtype=np.float32) < shares
            own = np.zeros(shape, bool)
            own[:, markers] = kinds[:, None] == markers % N_CLUSTERS
            stored[own] = rng.random(np.count_nonzero(own)) < SHARE_OF_CLUSTER
            values = np.ceil(rng.standard_exponential(np.count_nonzero(stored), dtype=np.float32))
            values += own[stored]
            before = int(starts[-1][-1])
            for name, part in (("data", values), ("indices", np.nonzero(stored)[1])):
                group[name].resize((before + len(part),))
                group[name][before:] = part
            starts.append(before + np.cumsum(np.count_nonzero(stored, axis=1)))
        group["indptr"] = np.concatenate(starts)


def benchmark() -> pd.DataFrame:
    """Run k-means and tuned l0 with two cores on many samples, and on many features."""
    runs = [run(1_000_000, 2_000), run(100_000, 30_000), run(100_000, 30_000, 2_000)]
    return pd.concat(runs, ignore_index=True)


def run(n_samples: int, n_features: int, n_top_features: int | None = None) -> pd.DataFrame:
    """Run the workflow once, in a folder that is removed afterwards.

    The first row is that of all: wall seconds, the largest job, and gigabytes on disk beside those
    of the input.
    """
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        write_cells(folder / "cells.h5ad", n_samples, n_features)
        settings = {
            "matrices": {"cells": {"path": "cells.h5ad", "labels": "kind", "normalise": "counts"}},
            "methods": ["kmeans", "l0"],
        }
        if n_top_features:
            settings["matrices"]["cells"]["n_top_features"] = n_top_features
        (folder / "config.yaml").write_text(yaml.safe_dump(settings))
        command = [sys.executable, "-m", "snakemake", "--directory", folder, "--cores", "2"]
        command += ["--executor", "sparsekm"]
        command += ["--snakefile", ROOT / "workflow" / "Snakefile"]
        command += ["--workflow-profile", ROOT / "profiles" / "default"]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        wall = time.perf_counter() - start
        jobs = gather_jobs(folder / "logs")
        cer, kept = {}, {}
        for method in settings["methods"]:
            scores = pd.read_csv(folder / "results" / "cells" / method / "scores.csv").iloc[0]
            cer[method], kept[method] = scores["cer"], scores["n_nonzero_weights"]
        made = sum(
            file.stat().st_size
            for part in ("data", "results")
            for file in (folder / part).rglob("*")
            if file.is_file()
        )
        given = (folder / "cells.h5ad").stat().st_size
    whole = {
        "rule": "all",
        "jobs": jobs["jobs"].sum(),
        "wall": wall,
        "cpu": jobs["cpu"].sum(),
        "peak_mb": jobs["peak_mb"].max(),
        "input_gb": given / 1e9,
        "made_gb": made / 1e9,
        "cer_kmeans": cer["kmeans"],
        "cer_l0": cer["l0"],
        "kept_l0": kept["l0"],
    }
    table = pd.concat([pd.DataFrame([whole]), jobs], ignore_index=True)
    table.insert(0, "n_samples", n_samples)
    table.insert(1, "n_features", n_features)
    table.insert(2, "n_top_features", n_top_features)
    return table
