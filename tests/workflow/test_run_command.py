"""`sparsekm run`, from a table to a report."""

import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest
import yaml

from sparsekm.command import main as command
from sparsekm.command.refusals import CommandError
from sparsekm.command.run import find_workflow


@pytest.fixture
def table(tmp_path, monkeypatch, seed):
    """Genes in lines, without classes."""
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
    assert "lines are read as features and columns as samples" in report
    lines = told.out.splitlines()
    assert "Report: sparsekm-tumours/results/report.html" in lines
    assert "Logs:   sparsekm-tumours/logs" in lines
    assert "  k-means                   2              8" in lines
    assert "compare cluster counts: done" in told.err
    assert "Building DAG" not in told.err

    # The same again has nothing to do, and in quiet it says nothing.
    assert command.main(["run", "sparsekm-tumours/config.yaml", "--quiet"]) == 0
    assert capfd.readouterr() == ("", "")

    # `make run` is the same command, in the environment that `make env` made.
    if not (project_root / ".venv" / ".installed").exists():
        pytest.skip("`make env` was not run in this checkout")
    words = [f"TABLE={folder / 'config.yaml'}", "ARGS=--quiet"]
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", project_root, "run", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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


def test_what_fails_later_says_where_its_messages_are(table, capfd):
    (table.parent / "config.yaml").write_text("matrices: {t: {path: tumours.csv}}\nmethod: [l0]\n")
    assert command.main(["run", "config.yaml", "--quiet"]) == 2
    told = capfd.readouterr().err
    assert "unknown keys ['method']" in told
    assert "Correct config.yaml, then: sparsekm run config.yaml" in told


def test_a_package_without_a_workflow_says_so(tmp_path):
    with pytest.raises(CommandError, match="no workflow found in .* install sparsekm from a wheel"):
        find_workflow(tmp_path / "src" / "sparsekm")
