"""What is published: nothing but the project's files, and enough to run alone."""

import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile

import pytest
import yaml
from snakemake_process import run_command

from sparsekm.command.run import find_workflow

# Beside the package's sources.
SHIPPED = ("workflow/", "scripts/", "envs/", "profiles/", "data/paper/", "config.yaml")
ABOUT = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "README.md"}
ABOUT |= {"pyproject.toml", "setup.py"}
# Written by the build.
BUILT = {"PKG-INFO", "setup.cfg"}
STRAY = ("scripts/__pycache__/old.cpython-311.pyc", "data/mine.csv", "results/report.html", "a.log")
# The first build changes sys.argv.
BUILD = """
import sys
import setuptools.build_meta as backend

target = sys.argv[1]
backend.build_sdist(target)
backend.build_wheel(target)
"""
EXAMPLES = """
import doctest
import importlib
import sparsekm

assert sparsekm.__version__ == {version!r} and {place!r} in sparsekm.__file__
for home in sorted({{getattr(sparsekm, name).__module__ for name in sparsekm.__all__[1:]}}):
    found = doctest.testmod(importlib.import_module(home))
    print(home, found)
    assert not found.failed
"""


@pytest.fixture(scope="module")
def tracked(project_root):
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=project_root, capture_output=True, text=True, check=False)
    files = [file for file in listed.stdout.splitlines() if (project_root / file).is_file()]
    if not files:
        pytest.skip("not a checkout: nothing tells which files belong to the project")
    return files


@pytest.fixture(scope="module")
def built(tmp_path_factory, project_root, tracked):
    """Build wheel and source archive from a copy of the project with strange files in it."""
    copy, built = (tmp_path_factory.mktemp(name) for name in ("copy", "built"))
    bodies = {file: (project_root / file).read_bytes() for file in tracked}
    for file, body in (bodies | dict.fromkeys(STRAY, b"stray")).items():
        (copy / file).parent.mkdir(parents=True, exist_ok=True)
        (copy / file).write_bytes(body)
    subprocess.run([sys.executable, "-c", BUILD, built], cwd=copy, check=True, capture_output=True)
    return built


@pytest.mark.release
def test_archive_and_wheel_hold_the_projects_files_and_no_others(built, tracked):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    expected = {file for file in tracked if file.startswith(("src/", *SHIPPED))} | ABOUT | BUILT
    assert {name for name in names if not name.startswith("src/sparsekm.egg-info/")} == expected
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {file.removeprefix("src/") for file in tracked if file.startswith("src/")}
    expected |= {f"sparsekm/_workflow/{file}" for file in tracked if file.startswith(SHIPPED)}
    assert names == expected


@pytest.fixture(scope="module")
def alone(built, kernels, project_root, tmp_path_factory):
    """Install the wheel where there is nothing else but what it depends on."""
    place = tmp_path_factory.mktemp("alone") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", next(built.glob("*.whl"))], check=True)
    (site,) = place.glob("lib/python*/site-packages")
    # The checkout itself is not among these: its own .pth is not followed from another one.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    # Kernels that were compiled from the same sources, else a minute's work. Numba takes them where
    # the sources have the same time stamps.
    sources = project_root / "src"
    for kept in sources.rglob("*.nb[ic]"):
        (site / kept.relative_to(sources)).parent.mkdir(exist_ok=True)
        shutil.copy(kept, site / kept.relative_to(sources))
    for source in sources.rglob("*.py"):
        shutil.copystat(source, site / source.relative_to(sources))
    return python


def run_alone(command, folder):
    done = run_command(command, folder)
    assert done.returncode == 0, done.stdout


@pytest.mark.release
def test_the_wheel_alone_runs_the_examples_of_all_public_names(alone, project_root, tmp_path):
    project = tomllib.loads((project_root / "pyproject.toml").read_text())["project"]
    examples = EXAMPLES.format(version=project["version"], place=str(alone.parents[1]))
    run_alone([alone, "-I", "-c", examples], tmp_path)


@pytest.mark.release
def test_the_wheel_alone_plans_a_run_of_the_workflow(alone, tmp_path):
    (site,) = alone.parents[1].glob("lib/python*/site-packages")
    place = find_workflow(site / "sparsekm")
    assert place == site / "sparsekm" / "_workflow"
    (tmp_path / "config.yaml").write_text(
        "matrices: {t: {draw: {experiment: experiment_3, n_features: 25}}}\n"
    )
    snakefile = ("--snakefile", place / "workflow" / "Snakefile")
    options = ("--dry-run", "--logger", "sparsekm", "--cores", "1")
    run_alone([alone, "-m", "snakemake", *snakefile, *options], tmp_path)


def test_one_version_stands_in_all_places(project_root):
    version = tomllib.loads((project_root / "pyproject.toml").read_text())["project"]["version"]
    assert yaml.safe_load((project_root / "CITATION.cff").read_text())["version"] == version
    assert f"\n## {version}" in (project_root / "CHANGELOG.md").read_text()
