"""A folder with a table, and `sparsekm run` there without Snakemake."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from sparsekm.command import main as command
from sparsekm.command import run as runs
from sparsekm.pipeline.workflow_files import record_files


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table of two classes, where a run only makes two files as its jobs would."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(12, 5)).round(2), columns=list("uvwxy"))
    frame.insert(0, "kind", ["a"] * 5 + ["b"] * 5 + ["", "NA"])
    frame.to_csv("tumours.csv", index=False)

    def make(place, file, folder, options):
        monkeypatch.chdir(folder)
        for log, output in (
            ("logs/report.log", "results/report.html"),
            ("logs/select_fit/tumours/l0.log", "results/tumours/l0/tuned.h5"),
        ):
            record_files(Path(log), [output])
            for path in map(Path, (log, output)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"made with {yaml.safe_load(file.read_text())}")
        monkeypatch.chdir(tmp_path)
        return 0

    monkeypatch.setattr(runs, "_start_workflow", make)
    return tmp_path


@pytest.fixture
def run(here):
    return lambda *arguments: command.main(["run", *map(str, arguments)])


@pytest.fixture
def run_kinds(run):
    return lambda *arguments: run("tumours.csv", "--labels", "kind", *arguments)
