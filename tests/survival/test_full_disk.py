"""On a full disk a run ends with an error that names the file, and goes on when there is space."""

import os
import shutil
import subprocess

import pytest
from artifact_content import contents
from small_project import PARTS, Project

pytestmark = [pytest.mark.survival, pytest.mark.xdist_group("survival")]


def mount(folder, *arguments):
    return subprocess.run(
        ["mount", *arguments, str(folder)], capture_output=True, text=True, check=False
    )


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 400 kB, and the function that gives it another size; needs root."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = mount(folder, "-t", "tmpfs", "-o", "size=400k", "tmpfs")
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")

    def resize(size):
        done = mount(folder, "-o", f"remount,size={size}")
        assert done.returncode == 0, done.stderr

    yield folder, resize
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def errors(text):
    return [line for line in text.splitlines() if line.startswith("ERROR in ")]


@pytest.mark.parametrize("part", ["results", "data"])
def test_results_on_a_full_disk(part, small_disk, new_run, undisturbed):
    disk, resize = small_disk
    project = new_run()
    if part == "data":
        shutil.copytree(project.root / "data", disk, dirs_exist_ok=True)
        shutil.rmtree(project.root / "data")
    (project.root / part).symlink_to(disk)
    done = project.snakemake("--cores", "2", "--keep-going")
    assert done.returncode != 0
    assert errors(done.stdout)
    for line in errors(done.stdout):
        assert "No space left on device; make space and run again: '" in line
        assert f"'{part}/" in line
    assert "Traceback" not in done.stdout
    assert not list(disk.rglob("*.partial.*"))
    # What counts as done is whole.
    there = contents(project.root)
    assert 0 < len(there) < len(undisturbed)
    # Of the folder of figures nothing counts before its last file is there.
    begun = "results/figures/"
    files = {name: digest for name, digest in there.items() if not name.startswith(begun)}
    assert files.items() <= undisturbed.items()
    resize("64m")
    project.run("--cores", "2")
    assert contents(project.root) == undisturbed


@pytest.mark.parametrize("kilobytes", [300, 1200])
def test_everything_on_a_full_disk(kilobytes, small_disk, new_run, undisturbed):
    disk, resize = small_disk
    resize(f"{kilobytes}k")
    source = new_run()
    shutil.copy(source.root / "config.yaml", disk)
    # The workflow's own files are elsewhere: they would leave no room for Snakemake's.
    snakefile = ("--snakefile", str(source.root / PARTS[0]))
    profile = ("--workflow-profile", str(source.root / "profiles" / "default"))
    project = Project(disk)
    done = project.snakemake("--cores", "2", *snakefile, *profile)
    assert done.returncode != 0
    assert "No space left on device" in done.stdout
    resize("64m")
    if any((disk / ".snakemake" / "locks").glob("*")):
        project.snakemake("--unlock", *snakefile, *profile)
    project.run("--cores", "2", *snakefile, *profile)
    assert contents(disk) == undisturbed
