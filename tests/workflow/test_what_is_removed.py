"""`make clean` removes what the workflow made; other files stay, and git shows them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sparsekm.pipeline.workflow_files import record_files

MADE = [
    "data/raw/gene_sets.gmt",
    "data/raw/phantom/gene_sets.gmt",
    "data/raw/phantom/ontology.json",
    "data/raw/phantom/manifest.csv",
    "data/raw/phantom/E11.5/listing.json",
    "data/raw/phantom/E11.5/manifest.csv",
    "data/raw/phantom/E11.5/truth.csv",
    "data/raw/phantom/E11.5/E11pt5_DevMouse2012_gridAnnotation.zip",
    "data/raw/phantom/E11.5/energy/100054826.zip",
    "data/raw/allen/plan.csv",
    "data/raw/allen/E11.5/manifest.csv",
    "data/raw/drawn/matrix.npz",
    "data/E11.5/expression.h5ad",
    "data/tumours/normalised.h5ad",
    "data/tumours/.123.partial.normalised.h5ad",
]
DOWNLOADS = [
    "data/raw/fetched/mouse.gmt",
    "data/raw/allen/ontology.json",
    "data/raw/allen/received.jsonl",
    "data/raw/allen/E11.5/listing.json",
    "data/raw/allen/E11.5/E11pt5_DevMouse2012_gridAnnotation.zip",
    "data/raw/allen/E11.5/energy/100054826.zip",
]
RESULTS = [
    "results/report.html",
    "results/figures/E11.5_slices.svg",
    "results/tumours/l0/references/12.h5",
    "results/benchmarks/cluster_path/tumours/l0.tsv",
    "results/simulation/experiment_2/mu0.7_p500/gap/l1.csv",
    "results/simulation/repetitions/experiment_1/only/kmeans/3.npz",
    "logs/cluster_path/tumours/l0.log",
    "logs/simulate/experiment_2/mu0.7_p500/l1.log",
]
OWN_DATA = [
    "data/tumours.csv",
    "data/raw/tumours.csv",
    "data/raw/gene_sets/mine.gmt",
    "data/raw/phantom/E11.5/energy/notes.zip",
    "data/tumours/notes.txt",
    "data/tumours/expression.csv",
]
OWN_RESULTS = ["results/notes.txt", "results/figures/mine.png", "results/tumours/clusters.csv"]
OWN = [*OWN_DATA, *OWN_RESULTS, "data/paper/simulations.csv", "results/tumours/l0/my.h5"]


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch):
    """A folder with the Makefile in it, files of the workflow's and files of a user's."""
    shutil.copy(project_root / "Makefile", tmp_path)
    shutil.copy(project_root / ".gitignore", tmp_path)
    shutil.copytree(project_root / "scripts", tmp_path / "scripts")
    shutil.copytree(project_root / "workflow", tmp_path / "workflow")
    # What the script shares with the rest of the package.
    for part in ("__init__.py", "__init__.pyi", "command", "pipeline"):
        source, target = (root / "src" / "sparsekm" / part for root in (project_root, tmp_path))
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for file in (*MADE, *DOWNLOADS, *RESULTS, *OWN, ".snakemake/metadata/one", ".venv/pyvenv.cfg"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("content")
    monkeypatch.chdir(tmp_path)
    recorded = [file for file in (*MADE, *RESULTS) if "partial" not in file]
    undeclared = re.compile("listing|truth|energy|grid|repetitions|^logs|benchmarks")
    record_files(
        Path("logs/cluster_path/tumours/l0.log"),
        [file for file in recorded if not undeclared.search(file)],
    )
    record_files(Path("logs/simulate/experiment_2/mu0.7_p500/l1.log"), [])
    return tmp_path


def files_of(folder):
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {file for file in found if file.startswith(("data/", "results/", "logs/", "."))}


def test_cleaning_removes_what_was_made_and_leaves_downloads_and_a_users_files(folder):
    done = subprocess.run(["make", "clean"], cwd=folder, capture_output=True, text=True, check=True)
    assert files_of(folder) == {*OWN, *DOWNLOADS, ".gitignore"}
    assert not (folder / "logs").exists()
    assert not (folder / "data" / "E11.5").exists()
    kept = ", ".join(sorted({*OWN} - {"data/paper/simulations.csv"}))
    assert f"Kept, not recorded as made by the workflow: {kept}\n" in done.stdout


def test_git_hides_what_was_made_and_shows_a_users_data(folder):
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    done = subprocess.run(
        ["git", "check-ignore", *MADE, *DOWNLOADS, *RESULTS, *OWN_DATA],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert set(done.stdout.split()) == {*MADE, *DOWNLOADS, *RESULTS}
