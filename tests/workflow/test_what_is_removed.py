"""`make clean` removes what the workflow made; other files stay, and git shows them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sparsekm.pipeline.workflow_files import record_files

# All of a folder in one line.
MADE = """
data/raw: gene_sets.gmt drawn/matrix.npz
data/raw/phantom: gene_sets.gmt ontology.json manifest.csv
data/raw/phantom/E11.5: listing.json manifest.csv truth.csv energy/100054826.zip
data/raw/phantom/E11.5: E11pt5_DevMouse2012_gridAnnotation.zip
data/raw/allen: plan.csv E11.5/manifest.csv
data: E11.5/expression.h5ad tumours/normalised.h5ad tumours/.123.partial.normalised.h5ad
results: report.html figures/E11.5_slices.svg tumours/l0/references/12.h5
results: benchmarks/cluster_path/tumours/l0.tsv
results/simulation: experiment_2/mu0.7_p500/gap/l1.csv
results/simulation: repetitions/experiment_1/only/kmeans/3.npz
logs: cluster_path/tumours/l0.log simulate/experiment_2/mu0.7_p500/l1.log
"""
DOWNLOADS = """
data/raw/fetched: mouse.gmt
data/raw/allen: ontology.json received.jsonl E11.5/listing.json E11.5/energy/100054826.zip
data/raw/allen: E11.5/E11pt5_DevMouse2012_gridAnnotation.zip
"""
OWN_DATA = """
data: tumours.csv tumours/notes.txt tumours/expression.csv
data/raw: tumours.csv gene_sets/mine.gmt phantom/E11.5/energy/notes.zip
"""
OWN_RESULTS = """
data/paper: simulations.csv
results: notes.txt figures/mine.png tumours/clusters.csv tumours/l0/my.h5
"""


def paths(text):
    lines = (line.split(": ") for line in text.splitlines() if line)
    return [f"{folder}/{name}" for folder, names in lines for name in names.split()]


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch):
    """A folder with the Makefile in it, files of the workflow's and files of a user's."""
    # Of the package only what the script shares with it.
    package = [f"src/sparsekm/{part}" for part in ("__init__.py", "__init__.pyi", "pipeline")]
    for part in ("Makefile", ".gitignore", "scripts", "workflow", "src/sparsekm/command", *package):
        source, target = project_root / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for file in paths(MADE + DOWNLOADS + OWN_DATA + OWN_RESULTS + ".snakemake: one\n.venv: x.cfg"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("content")
    monkeypatch.chdir(tmp_path)
    undeclared = "partial|listing|truth|energy|grid|repetitions|^logs|benchmarks"
    recorded = [file for file in paths(MADE) if not re.search(undeclared, file)]
    record_files(Path("logs/cluster_path/tumours/l0.log"), recorded)
    record_files(Path("logs/simulate/experiment_2/mu0.7_p500/l1.log"), [])
    return tmp_path


def test_cleaning_removes_what_was_made_and_leaves_downloads_and_a_users_files(folder):
    done = subprocess.run(["make", "clean"], cwd=folder, capture_output=True, text=True, check=True)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    left = {file for file in found if file.startswith(("data/", "results/", "logs/", "."))}
    assert left == {*paths(OWN_DATA + OWN_RESULTS + DOWNLOADS), ".gitignore"}
    assert not (folder / "logs").exists()
    assert not (folder / "data" / "E11.5").exists()
    own = {*paths(OWN_DATA + OWN_RESULTS)} - {"data/paper/simulations.csv"}
    kept = f"Kept, not recorded as made by the workflow: {', '.join(sorted(own))}\n"
    assert kept in done.stdout


def test_git_hides_what_was_made_and_shows_a_users_data(folder):
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    command = ["git", "check-ignore", *paths(MADE + DOWNLOADS + OWN_DATA)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {*paths(MADE + DOWNLOADS)}
