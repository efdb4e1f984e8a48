"""A small project to run the workflow in: a copy of it, an atlas age, two matrices."""

import re
import shutil
import subprocess
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import yaml
from snakemake_process import printed, run_snakemake

CONFIGURATION = yaml.safe_load(Path(__file__).with_name("small_project.yaml").read_text())
# What others are writing there now.
_UNFINISHED = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
PARTS = ("Snakefile", "workflow", "scripts", "src", "envs", "profiles", "data/paper")


def merged(settings, change):
    """Give settings with those of the change in their place, section by section."""
    if not isinstance(settings, dict) or not isinstance(change, dict):
        return change
    return settings | {key: merged(settings.get(key), value) for key, value in change.items()}


class Project:
    """A folder with a workflow in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def configure(self, change="") -> None:
        """Write config.yaml with the settings of a change, which is YAML, instead of others."""
        configuration = merged(CONFIGURATION, yaml.safe_load(change) or {})
        (self.root / "config.yaml").write_text(yaml.safe_dump(configuration))

    def snakemake(self, *arguments: str) -> subprocess.CompletedProcess:
        # As `make` does.
        is_said = any("profile" in word or word == "--executor" for word in arguments)
        own = () if is_said else ("--executor", "sparsekm")
        return run_snakemake(self.root, *own, *arguments)

    def run(self, *arguments: str) -> str:
        return printed(self.snakemake(*arguments))

    def planned(self, *targets: str) -> set[str]:
        """List the jobs of a dry run as "rule dataset method" or "rule age", but the target."""
        targets = targets or ("results",)
        told = self.run("--dry-run", "--cores", "1", *targets)
        # Jobs of a group are indented.
        jobs = re.findall(r"^ *(?:local)?rule (\w+):$(.*?)(?=^ *\[|\Z)", told, re.M | re.S)
        named = set()
        for rule, body in jobs:
            values = re.search(r"wildcards: (.*)|$", body)[1] or ""
            named.add(" ".join([rule, *re.findall(r"=([^,\n]+)", values)]))
        return named - {*targets}


def save_tumours(file: Path) -> np.ndarray:
    """Write a table of two groups, and return its values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 12))
    X[:12, :4] += 3
    table = pd.DataFrame(X, columns=[f"gene{j}" for j in range(12)])
    table.assign(kind=["a"] * 12 + ["b"] * 12).to_csv(file, index=False)
    return X


def make_project(root: Path, source: Path) -> Project:
    for part in PARTS:
        if (source / part).is_dir():
            # With __pycache__, and so with what Numba compiled: compiling takes a minute.
            shutil.copytree(source / part, root / part, ignore=_UNFINISHED)
        else:
            shutil.copy(source / part, root / part)
    X = save_tumours(root / "tumours.csv")
    obs = pd.DataFrame(index=[f"cell{i}" for i in range(24)])
    var = pd.DataFrame({"relevant": np.arange(12) < 4}, index=[f"gene{j}" for j in range(12)])
    anndata.AnnData(X[::-1].astype(np.float32), obs=obs, var=var).write_h5ad(root / "cells.h5ad")
    project = Project(root)
    project.configure()
    return project
