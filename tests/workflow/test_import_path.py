"""Nothing is imported from the folder that a run works in, whatever the files there are called."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sparsekm.command import main as command

# Modules of Python and of its libraries, and what it loads by itself or only if it is there.
NAMES = [
    *(name for name in sys.stdlib_module_names if name not in sys.builtin_module_names),
    *("anndata", "h5py", "jinja2", "jsonschema", "matplotlib", "numba", "numpy", "pandas"),
    *("psutil", "scipy", "sklearn", "snakemake", "sparsekm", "workflow_job", "yaml", "yte"),
    *("bottleneck", "numexpr", "sitecustomize", "usercustomize"),
]
DRAWN = {"small": {"draw": {"experiment": "experiment_3", "n_features": 25}}}


def set_traps(folder: Path) -> Path:
    """Put a module of each name in a folder; return the file that exists once one was imported."""
    sprung = folder.parent / "sprung"
    # In the second, Snakemake puts the scripts that it starts.
    for place in (folder, folder / ".snakemake" / "scripts"):
        place.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (place / f"{name}.py").write_text(f"open({str(sprung)!r}, 'a').write('{name} ')\n")
    return sprung


def environment():
    ours = ("PYTHONPATH", "PYTHONSAFEPATH", "SNAKEMAKE_PROFILE")
    return {name: value for name, value in os.environ.items() if name not in ours}


def test_the_command_and_what_it_starts_import_nothing_from_the_folder(
    tmp_path, monkeypatch, capfd
):
    folder = tmp_path / "run"
    folder.mkdir()
    sprung = set_traps(folder)
    # The check of the configuration ends the run, after most of Snakemake was imported.
    (folder / "config.yaml").write_text(yaml.safe_dump({"matrices": DRAWN, "method": ["l0"]}))
    monkeypatch.chdir(folder)
    # A folder by its name, and one by no name.
    monkeypatch.setenv("PYTHONPATH", ".:")
    assert command.main(["run", "config.yaml"]) == 2
    assert not sprung.exists()
    told = capfd.readouterr().err
    assert "unknown keys ['method']" in told


@pytest.mark.release
def test_snakemake_in_a_checkout_and_its_jobs_on_a_cluster_import_nothing_from_it(
    new_project, tmp_path, project_root
):
    (tmp_path / "project").mkdir()
    project = new_project(tmp_path / "project", project_root)
    project.configure(lambda settings: settings.update(matrices=DRAWN, methods=["kmeans"]))
    sprung = set_traps(project.root)
    (tmp_path / "submit").write_text('#!/bin/sh\nsh "$1" >"$1.txt" 2>&1 &\necho 1\n')
    (tmp_path / "submit").chmod(0o755)
    cluster = ["--executor", "cluster-generic", "--jobs", "1"]
    cluster += ["--cluster-generic-submit-cmd", str(tmp_path / "submit")]
    snakemake = Path(sys.executable).parent / "snakemake"
    done = subprocess.run(
        [snakemake, *cluster, "--cores", "1", "data/raw/small/matrix.npz"],
        cwd=project.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert not sprung.exists(), sprung.read_text()
    assert done.returncode == 0, done.stderr
