"""What docs/reruns.md says of results that are kept: by other settings, and in another place."""

import shutil

import pytest

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


@pytest.fixture
def clone(tmp_path, project_root, new_project):
    """A fresh clone: every file has a new time stamp."""
    (tmp_path / "clone").mkdir()
    project = new_project(tmp_path / "clone", project_root)
    for file in project.root.rglob("*"):
        file.touch()
    return project


def copy_backwards(source, target):
    """Copy a folder with new time stamps, what was made last first."""
    files = sorted((file for file in source.rglob("*") if file.is_file()), key=made)
    for file in reversed(files):
        new = target / file.relative_to(source)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, new)


def made(file):
    return file.stat().st_mtime_ns


def test_restored_with_metadata_nothing_reruns_whatever_the_time_stamps(finished, clone):
    for folder in (".snakemake/metadata", "results", "data"):
        copy_backwards(finished.root / folder, clone.root / folder)
    assert clone.planned() == set()
    # What the results were made with is known too.
    clone.configure("tuning: {rule: one-se}")
    assert {job.split()[0] for job in clone.planned()} >= {"tune_sparsity", "report"}


@pytest.mark.survival
def test_restored_without_metadata_nothing_reruns_after_a_word(finished, clone):
    for folder in ("results", "data"):
        copy_backwards(finished.root / folder, clone.root / folder)
    assert clone.planned() != set()
    done = clone.snakemake("--touch", "--forceall", "--cores", "1")
    assert done.returncode == 0, done.stdout
    assert clone.planned() == set()
    clone.configure("tuning: {rule: one-se}")
    assert {job.split()[0] for job in clone.planned()} >= {"tune_sparsity", "report"}
