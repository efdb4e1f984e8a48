"""`make clean` removes what the workflow made; other files stay, and git shows them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from sparsekm.pipeline.workflow_files import record_files

FILES = yaml.safe_load(Path(__file__).with_name("files.yaml").read_text())
MADE, DOWNLOADS, OWN_DATA, OWN_RESULTS = (files.split() for files in FILES.values())


@pytest.fixture
def folder(project_root, tmp_path, monkeypatch):
    """A folder with the Makefile in it, files of the workflow's and files of a user's."""
    # Of the package only what the script shares with it.
    package = [f"src/sparsekm/{part}" for part in ("__init__.py", "__init__.pyi", "pipeline")]
    for part in ("Makefile", ".gitignore", "scripts", "workflow", "src/sparsekm/command", *package):
        source, target = project_root / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for file in (*MADE, *DOWNLOADS, *OWN_DATA, *OWN_RESULTS, ".snakemake/one", ".venv/x.cfg"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("content")
    monkeypatch.chdir(tmp_path)
    undeclared = "partial|listing|truth|energy|grid|repetitions|^logs|benchmarks"
    recorded = [file for file in MADE if not re.search(undeclared, file)]
    record_files(Path("logs/cluster_path/tumours/l0.log"), recorded)
    record_files(Path("logs/simulate/experiment_2/mu0.7_p500/l1.log"), [])
    return tmp_path


def test_cleaning_removes_what_was_made_and_leaves_downloads_and_a_users_files(folder):
    done = subprocess.run(["make", "clean"], cwd=folder, capture_output=True, text=True, check=True)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    left = {file for file in found if file.startswith(("data/", "results/", "logs/", "."))}
    assert left == {*OWN_DATA, *OWN_RESULTS, *DOWNLOADS, ".gitignore"}
    assert not (folder / "logs").exists()
    assert not (folder / "data" / "E11.5").exists()
    own = {*OWN_DATA, *OWN_RESULTS} - {"data/paper/simulations.csv"}
    kept = (
        f"Kept, because there is no record that the workflow made them: {', '.join(sorted(own))}\n"
    )
    assert kept in done.stdout


def test_git_hides_what_was_made_and_shows_a_users_data(folder):
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    command = ["git", "check-ignore", *MADE, *DOWNLOADS, *OWN_DATA]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {*MADE, *DOWNLOADS}
