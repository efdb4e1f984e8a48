"""The content of the user's files decides what runs again, whatever their time stamps say."""

import os
import re

import pytest
from small_project import make_project

pytestmark = pytest.mark.xdist_group("workflow")

CONFIGURATION = """
matrices: {tumours: {path: tumours.csv, labels: kind}, cells: {path: cells.zarr}}
annotation: {gene_sets: {source: gmt, path: sets.gmt}}
yardstick: {folder: labelled, methods: [kmeans]}
"""
# The rules that read each of the user's files, and the part of it to change.
READERS = {
    "tumours.csv": {"normalise_matrix"},
    "cells.zarr/X/0.0": {"normalise_matrix"},
    "sets.gmt": {"collect_gene_sets"},
    "labelled/one.npz": {"run_yardstick"},
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


def rules_to_run(project):
    done = project.snakemake("--dry-run", "--cores", "1", *MADE)
    assert done.returncode == 0, done.stdout
    return set(re.findall(r"^(?:local)?rule (\w+):$", done.stdout, re.M))


@pytest.mark.parametrize("file", READERS)
def test_another_file_with_an_older_time_stamp_is_read_again(project, file):
    replace(project.root / file, "other content")
    try:
        assert rules_to_run(project) == READERS[file]
    finally:
        replace(project.root / file, "some content")
