"""A mistake stops the run with one clear message, a status other than 0, and no half output."""

import os

import pytest

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


def test_every_mistake_against_the_schema_is_told_in_one_line(fresh):
    def change(configuration):
        configuration["n_initt"] = 3
        configuration["seed"] = "x"
        configuration["matrices"]["raw"] = {"path": "a.csv"}
        configuration["tuning"]["refrences"] = 3
        configuration["tuning"]["references"] = 1
        configuration["tuning"]["sparsities"]["l1"] = [0.5]

    fresh.configure(change)
    done = fresh.snakemake("--dry-run")
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    for line in (
        "configuration: unknown keys ['n_initt']; known ones are ['seed', 'matrices', ",
        "tuning: unknown keys ['refrences']; known ones are ['n_sparsities', ",
        "seed='x': 'x' is not of type 'integer'.",
        "matrices: 'raw' should match ^[A-Za-z0-9_.-]+$ and be no reserved name.",
        "tuning.references=1: 1 is less than the minimum of 2.",
        "tuning.sparsities.l1=[0.5] should be auto; or array (0.5 is less than the minimum of 1).",
    ):
        assert done.stdout.count("\n" + line) == 1, line


def test_names_of_things_that_are_not_there_are_told(fresh):
    def change(configuration):
        configuration["methods"] = ["kmeans", "l7"]
        configuration["matrices"]["new"] = {}

    fresh.configure(change)
    done = fresh.snakemake("--dry-run")
    assert done.returncode != 0
    assert "\nmatrices.new should have either a path or draw." in done.stdout
    assert "\nmethods: 'l7' should be one of ['kmeans', 'l0', 'l1']." in done.stdout


def test_a_missing_matrix_is_named(fresh):
    (fresh.root / "tumours.csv").unlink()
    done = fresh.snakemake("--dry-run")
    assert done.returncode != 0
    assert "MissingInputException" in done.stdout
    assert "tumours.csv" in done.stdout


def test_a_matrix_that_cannot_be_used_gives_one_line_and_leaves_nothing(fresh):
    file = fresh.root / "tumours.csv"
    file.write_text(file.read_text().replace(",a\n", ",\n"))
    done = fresh.snakemake("--cores", "1", "data/tumours/normalised.h5ad")
    assert done.returncode != 0
    lines = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
    assert lines == [
        "ERROR in normalise_expression tumours: tumours.csv: 12 labels 'kind' are missing, the "
        "first at sample 1; every sample should have one. "
        "(log: logs/normalise_expression/tumours.log)"
    ]
    assert "Traceback" not in done.stdout
    assert not (fresh.root / "data" / "tumours" / "normalised.h5ad").exists()
    log = (fresh.root / "logs" / "normalise_expression" / "tumours.log").read_text()
    assert "Traceback" in log


def test_a_truncated_artifact_names_itself_and_its_rule(finished):
    folder = finished.root / "results" / "cells" / "kmeans"
    contents = {file: file.read_bytes() for file in (folder / "path.h5", folder / "tuned.h5")}
    times = {file: file.stat().st_mtime_ns for file in contents}
    (folder / "path.h5").write_bytes(contents[folder / "path.h5"][:-100])
    done = finished.snakemake("--cores", "1", "results/cells/kmeans/tuned.h5")
    # What the failure removed is put back as it was, for the tests that follow.
    for file, content in contents.items():
        file.write_bytes(content)
        os.utime(file, ns=(times[file], times[file]))
    assert done.returncode != 0
    assert done.stdout.count("ERROR in take_fit cells kmeans: results/cells/kmeans/path.h5") == 1
    assert "as rule cluster_path writes it" in done.stdout
    assert "Traceback" not in done.stdout
