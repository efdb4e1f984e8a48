"""A mistake stops the run with one clear message, a status other than 0, and no half output."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from configuration_reader import configuration_check
from small_project import CONFIGURATION, merged

pytestmark = pytest.mark.xdist_group("workflow")

# What is wrong, and how each line about it begins.
MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_every_mistake_is_told_in_one_line(mistake):
    settings, lines = MISTAKES[mistake]["settings"], MISTAKES[mistake]["told"].splitlines()
    # As it is in its file: in the order of the keys.
    configuration = yaml.safe_load(yaml.safe_dump(merged(CONFIGURATION, settings)))
    told = configuration_check.check_configuration(configuration)
    for begin in lines:
        assert sum(line.startswith(begin) for line in told) == 1, (begin, told)
    assert len(told) == len(lines)
    assert not any("\n" in line for line in told)


def test_a_missing_matrix_is_named(fresh):
    (fresh.root / "tumours.csv").unlink()
    done = fresh.snakemake("--dry-run")
    assert done.returncode != 0
    assert re.search("MissingInputException.*tumours.csv", done.stdout, re.DOTALL)


def test_all_tables_in_doubt_are_named_at_once_with_the_settings_to_paste(fresh):
    entries = {}
    for name in ("one", "two"):
        table = np.random.default_rng(0).normal(size=(9, 3)).round(2)
        lines = [
            f"patient{at},{40 + at % 3},{','.join(map(str, row))}" for at, row in enumerate(table)
        ]
        (fresh.root / f"{name}.csv").write_text("\n".join(["patient,age,u,v,w", *lines]))
        entries[name] = {"path": f"{name}.csv", "n_clusters": 2}
    fresh.configure(yaml.safe_dump({"matrices": {"tumours": None, "cells": None, **entries}}))
    done = fresh.snakemake("--cores", "1", "data/one/normalised.h5ad")
    assert done.returncode != 0
    told = done.stdout + (done.stderr or "")
    lines = told[told.index("\nmatrices:") :].partition("\nERROR")[0]
    expected = {"transpose": False, "ignore": ["age"]}
    assert yaml.safe_load(lines)["matrices"] == {"one": expected, "two": expected}


def damage(root):
    """Spoil one file of each kind; give the target that each spoils and the line that tells it."""

    def cut(file, n_bytes=100):
        file.write_bytes(file.read_bytes()[:-n_bytes])

    grid = next((root / "data" / "raw" / "phantom" / "E11.5" / "energy").glob("*.zip"))
    cut(grid)
    cut(root / "results" / "cells" / "kmeans" / "path.h5")
    table = (root / "tumours.csv").read_text()
    (root / "tumours.csv").write_text(re.sub(",[ab]\n", ",\n", table))
    (root / "species.csv").write_text(table)
    X = np.random.default_rng(0).normal(size=(24, 3))
    np.savez(root / "ragged.npz", X=X, y=np.repeat([0, 1], 12)[1:])
    shutil.copy(root / "cells.h5ad", root / "cut.h5ad")
    cut(root / "cut.h5ad")
    return {
        "data/E11.5/expression.h5ad": (
            f"E11.5: assemble expression: data/raw/phantom/E11.5/energy/{grid.name}: should be a "
            "complete zip archive (File is not a zip file). Delete "
            "data/raw/phantom/E11.5/manifest.csv and run again: damaged files are fetched again."
        ),
        "results/cells/kmeans/chosen.h5": (
            "cells, kmeans: select fit: results/cells/kmeans/path.h5: truncated or damaged ("
        ),
        "data/tumours/normalised.h5ad": (
            "tumours: normalise matrix: tumours.csv: labels 'kind' are known for 0 of 24 samples; "
            "they should be known for at least 2. Otherwise leave out the setting `labels`. "
            "(log: logs/normalise_matrix/tumours.log)"
        ),
        "data/species/normalised.h5ad": (
            "species: normalise matrix: species.csv: labels='species' should be one of its columns"
        ),
        "data/ragged/normalised.h5ad": (
            "ragged: normalise matrix: ragged.npz: y has shape=(23,); it should be (24,), one "
            "value for each sample."
        ),
        "data/cut/normalised.h5ad": (
            "cut: normalise matrix: cut.h5ad: not a complete .h5ad file ("
        ),
    }


def test_each_damaged_input_gives_one_line_and_leaves_nothing(copied):
    root = copied.root

    copied.configure(
        """
        matrices: {species: {path: species.csv, labels: species},
            ragged: {path: ragged.npz, labels: y}, cut: {path: cut.h5ad}}
        """
    )
    expected = damage(root)
    done = copied.snakemake(
        "--cores", "2", "--keep-going", "--forcerun", "assemble_expression", "--", *expected
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stdout
    errors = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
    for target, line in expected.items():
        assert sum(error.startswith(f"ERROR in {line}") for error in errors) == 1, (line, errors)
        assert not (root / target).exists(), target
    assert len(errors) == len(expected)
    assert not list(root.glob("**/*partial*"))
    assert "written by rule cluster_path" in done.stdout
    assert "Traceback" in (root / "logs" / "normalise_matrix" / "tumours.log").read_text()
