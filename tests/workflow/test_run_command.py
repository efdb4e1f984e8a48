"""`sparsekm run`, from a table to a report; it imports nothing from the folder it works in."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import yaml
from snakemake_process import DRAWN, printed, run_command, write_submit

from sparsekm.command import main as command
from sparsekm.command.refusals import CommandError
from sparsekm.command.run import find_workflow


@pytest.fixture
def table(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(seed).normal(size=(30, 8))
    X[:15] += 4
    names = {"index": [f"s{i}" for i in range(30)], "columns": [f"gene{j}" for j in range(8)]}
    pd.DataFrame(X, **names).T.to_csv("tumours.csv", sep=";", decimal=",")
    return tmp_path / "tumours.csv"


@pytest.mark.slow
@pytest.mark.usefixtures("kernels")
def test_a_table_becomes_a_report_in_one_folder_and_nowhere_else(table, project_root, capfd):
    assert command.main(["run", "tumours.csv", "--methods", "kmeans", "--cores", "2"]) == 0
    told = capfd.readouterr()
    assert {file.name for file in table.parent.iterdir()} == {"tumours.csv", "sparsekm-tumours"}
    folder = table.parent / "sparsekm-tumours"
    settings = yaml.safe_load((folder / "config.yaml").read_text())
    assert settings["matrices"]["tumours"]["n_clusters"] == "auto"
    # Two planted clusters, found and said with what speaks for them.
    counts = pd.read_csv(folder / "results" / "tumours" / "cluster_counts.csv")
    assert counts["n_clusters"][counts["chosen"]].tolist() == [2]
    report = (folder / "results" / "report.html").read_text()
    assert "K = 2, estimated" in report
    assert "rows are read as features and columns as samples" in report
    lines = told.out.splitlines()
    assert "Report: sparsekm-tumours/results/report.html" in lines
    assert "Logs:   sparsekm-tumours/logs" in lines
    assert "  k-means                   2              8" in lines
    assert "choose cluster count: done" in told.err
    assert "Building DAG" not in told.err

    # The same again has nothing to do, and in quiet it says nothing.
    assert command.main(["run", "sparsekm-tumours/config.yaml", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")

    # `make run` is the same command, in the environment that `make env` made.
    if not (project_root / ".venv" / ".installed").exists():
        pytest.skip("`make env` was not run in this checkout")
    words = [f"TABLE={folder / 'config.yaml'}", "ARGS=--quiet"]
    make = ["make", "--no-print-directory", "-C", str(project_root), "run", *words]
    assert printed(run_command(make, table.parent)) == ""


@pytest.mark.release
@pytest.mark.usefixtures("kernels")
def test_a_run_that_is_terminated_leaves_no_process_and_no_lock(table):
    folder = table.parent / "sparsekm-tumours"
    command = [sys.executable, "-m", "sparsekm.command.main", "run", "tumours.csv"]
    with subprocess.Popen([*command, "--methods", "kmeans"], stderr=subprocess.PIPE) as running:
        # A job is at work.
        while running.poll() is None and not any(folder.glob("logs/*/*.log")):
            time.sleep(0.05)
        started = psutil.Process(running.pid).children(recursive=True)
        running.terminate()
        _, told = running.communicate()
    assert running.returncode == 143
    assert b"sparsekm: stopped by SIGTERM" in told
    assert started
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert not any(folder.glob(".snakemake/locks/*"))


def set_traps(folder: Path) -> Path:
    """Put modules of many names in a folder; return the file that exists once one was imported."""
    # Modules of Python and of its libraries, and what it loads by itself or only if it is there.
    names = {*sys.stdlib_module_names} - {*sys.builtin_module_names}
    names |= {"anndata", "h5py", "jinja2", "jsonschema", "matplotlib", "numba", "numpy", "pandas"}
    names |= {"psutil", "scipy", "sklearn", "snakemake", "sparsekm", "workflow_job", "yaml", "yte"}
    names |= {"bottleneck", "numexpr", "sitecustomize", "usercustomize"}
    sprung = folder.parent / "sprung"
    # In the second, Snakemake puts the scripts that it starts.
    for place in (folder, folder / ".snakemake" / "scripts"):
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            (place / f"{name}.py").write_text(f"open({str(sprung)!r}, 'a').write('{name} ')\n")
    return sprung


def test_nothing_is_imported_from_the_folder_and_a_failure_is_told(tmp_path, monkeypatch, capfd):
    with pytest.raises(CommandError, match="no workflow found in .* Install sparsekm from a wheel"):
        find_workflow(tmp_path / "src" / "sparsekm")
    sprung = set_traps(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    # The check of the configuration ends the run, after most of Snakemake was imported.
    Path("config.yaml").write_text(yaml.safe_dump(DRAWN | {"method": ["l0"]}))
    # A folder by its name, and one by no name.
    monkeypatch.setenv("PYTHONPATH", ".:")
    assert command.main(["run", "config.yaml"]) == 2
    assert not sprung.exists()
    told = capfd.readouterr().err
    assert "unknown keys ['method']" in told
    assert "Correct config.yaml, then: sparsekm run config.yaml" in told


@pytest.mark.release
def test_snakemake_and_jobs_on_a_cluster_import_nothing_from_it(new_project, tmp_path, monkeypatch):
    project = new_project(yaml.safe_dump(DRAWN))
    sprung = set_traps(project.root)
    write_submit(tmp_path / "submit")
    cluster = ["--executor", "cluster-generic", "--jobs", "1"]
    cluster += ["--cluster-generic-submit-cmd", str(tmp_path / "submit")]
    snakemake = Path(sys.executable).parent / "snakemake"
    # As users start it.
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = [snakemake, *cluster, "--cores", "1", "data/raw/small/matrix.npz"]
    done = run_command(command, project.root)
    assert not sprung.exists(), sprung.read_text()
    printed(done)
