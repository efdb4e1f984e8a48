"""The content of the user's files decides what runs again, whatever their time stamps say."""

import os

import pytest
from small_project import make_project

pytestmark = pytest.mark.xdist_group("workflow")

CONFIGURATION = """
matrices: {tumours: {path: tumours.csv, labels: kind}, cells: {path: cells.zarr}}
annotation: {gene_sets: {source: gmt, path: sets.gmt}}
yardstick: {folder: labelled, methods: [kmeans]}
"""
# What runs after a change of each of the user's files, or of the part of it that changes.
READERS = {
    "tumours.csv": "normalise_matrix tumours",
    "sets.gmt": "collect_gene_sets",
    "cells.zarr/X/0.0": "normalise_matrix cells",
    "labelled/one.npz": "run_yardstick one kmeans",
}
MADE = (
    "data/tumours/normalised.h5ad",
    "data/cells/normalised.h5ad",
    "data/raw/gene_sets.gmt",
    "results/yardstick/one/kmeans.csv",
)
_LONG_AGO = 10**9


@pytest.fixture(scope="module")
def project(tmp_path_factory, project_root):
    """A project whose files all seem to have been made from the user's files."""
    folder = tmp_path_factory.mktemp("own_files") / "project"
    folder.mkdir()
    project = make_project(folder, project_root)
    (folder / "config.yaml").write_text(CONFIGURATION)
    for file in (*READERS, *MADE):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("some content")
    done = project.snakemake("--touch", "--forceall", "--cores", "1", *MADE)
    assert done.returncode == 0, done.stdout
    return project


def replace(file, text):
    """Move another file here that was written long ago."""
    other = file.with_name("other")
    other.write_text(text)
    os.utime(other, (_LONG_AGO, _LONG_AGO))
    other.replace(file)


def test_other_files_with_older_time_stamps_are_read_again_and_no_others(project):
    files = [*READERS]
    for changed in (files[:2], files[2:]):
        for file in changed:
            replace(project.root / file, "other content")
        assert project.planned(*MADE) == {READERS[file] for file in changed}
        for file in changed:
            replace(project.root / file, "some content")
