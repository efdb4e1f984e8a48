"""A mistake stops the run with one clear message, a status other than 0, and no half output."""

import copy
import re
import shutil

import numpy as np
import pytest
import yaml
from configuration_reader import configuration_check
from small_project import CONFIGURATION

from sparsekm.pipeline.registry import METHODS

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


def refuse(change):
    """Give what the checks say of the changed configuration, each error in a line."""
    configuration = copy.deepcopy(CONFIGURATION)
    change(configuration)
    # As it is in its file: in the order of the keys.
    configuration = yaml.safe_load(yaml.safe_dump(configuration))
    return "\n".join(["", *configuration_check.check_configuration(configuration)])


def test_every_mistake_against_the_schema_is_told_in_one_line(finished):
    def change(configuration):
        configuration["n_initt"] = 3
        configuration["seed"] = "x"
        configuration["atlas"]["age"] = ["P4"]
        configuration["atlas"]["ages"] = ["E12.5"]
        configuration["atlas"]["quality_control"] = {"max_missing_per_gene": 0}
        configuration["atlas"]["normalisation"] = {"fill": "median"}
        configuration["matrices"]["raw"] = {"path": "a.csv"}
        configuration["matrices"]["P28"] = {"path": "a.csv"}
        configuration["tuning"]["refrences"] = 3
        configuration["tuning"]["references"] = 1
        configuration["atlas"]["allen"] = {"url": "ftp://x", "contact": "two\nlines"}
        configuration["tuning"]["sparsities"]["l1"] = [0.5]

    finished.configure(change)
    done = finished.snakemake("--dry-run")
    finished.configure()
    assert done.returncode != 0
    told = done.stdout
    assert "Traceback" not in told
    for line in (
        "configuration: unknown keys ['n_initt']; known ones are ['seed', 'atlas', 'matrices', ",
        "atlas: unknown keys ['age']; known ones are ['source', 'size', 'seed', 'ages', ",
        "atlas.ages.0='E12.5': 'E12.5' is not one of ['E11.5', 'E13.5', ",
        "atlas.quality_control.max_missing_per_gene=0: 0 is less than or equal to ",
        "atlas.normalisation.fill='median': 'median' is not one of ['none', 'zero', ",
        "tuning: unknown keys ['refrences']; known ones are ['n_sparsities', ",
        "seed='x': 'x' is not of type 'integer'.",
        "matrices: 'raw' should match ^[A-Za-z0-9_.-]{1,100}$ and not be the name of an age or ",
        "matrices: 'P28' should match ^[A-Za-z0-9_.-]{1,100}$ and not be the name of an age or ",
        "tuning.references=1: 1 is less than the minimum of 2.",
        r"atlas.allen.url='ftp://x' should match ^https?://[^ ]+$.",
        r"atlas.allen.contact='two\nlines' should match ^[ -~]*$.",
        "tuning.sparsities.l1=[0.5] should be auto; or array (0.5 is less than the minimum of 1).",
    ):
        assert told.count("\n" + line) == 1, line


def test_settings_that_were_removed_are_refused_with_what_replaces_them():
    def change(configuration):
        configuration["tuning"] |= {"criterion": "stability", "splits": 10, "refrences": 3}
        configuration["tuning"] |= {"resamplings": 50, "evidence_samples": 100}
        configuration["tuning"]["stability_rule"] = "same"
        configuration["simulation"] = {"preview": {"replicates": 2}, "replicates": 20}
        configuration["yardstick"] = {"gap": {}, "seeds": 3}
        configuration["tuning_study"] = {"replicates": 3}
        configuration["theory"] = {"support": {"n_init": 1}}

    told = refuse(change)
    for line in (
        "simulation.preview was removed: `snakemake paper` runs the experiments, ",
        "simulation.replicates is now simulation.repetitions.",
        "yardstick.gap is now yardstick.n_sparsities and yardstick.references.",
        "yardstick.seeds is now yardstick.n_seeds.",
        "theory was removed: the settings of `snakemake theory` are constants ",
        "tuning.criterion was removed: the gap chooses the sparsity of l0 and l1, ",
        "tuning.splits was removed: the method sparse fits five repeats of ten folds",
        "tuning.resamplings was removed: the method sparse fits five repeats of ten folds",
        "tuning.evidence_samples was removed: separation.csv of the method sparse is ",
        "tuning.stability_rule was removed: tuning.rule is ",
        "tuning_study was removed: in a checkout, `python -m benchmarks tuning_rules` ",
        "tuning: unknown keys ['refrences']; known ones are ",
    ):
        assert told.count("\n" + line) == 1, line
    assert told.count("unknown keys") == 1


def test_names_of_things_that_are_not_there_are_told():
    def change(configuration):
        configuration["methods"] = ["kmeans", "l7"]
        configuration["matrices"]["new"] = {}
        configuration["simulation"] = {"methods": ["kmean"], "experiments": ["experiment_3/p26"]}
        configuration["yardstick"] = {"methods": ["kmeans", "magic"]}

    told = refuse(change)
    assert "\nmatrices.new should have either path or draw." in told
    assert f"\nmethods: 'l7' should be one of {sorted(METHODS)}." in told
    assert "\nyardstick.methods: 'magic' should be one of" in told
    assert "\nsimulation.methods: 'kmean' should be one of" in told
    assert "\nsimulation.experiments: 'experiment_3/p26' should be one of" in told


def test_more_clusters_than_the_samples_of_the_tuning_allow_are_told():
    def change(configuration):
        configuration["n_clusters"] = 5
        configuration["matrices"]["cells"]["n_clusters"] = 6
        configuration["min_cluster_size"] = 2
        configuration["tuning"]["max_samples"] = 11

    rule = "tuning.max_samples=11 should be >= {} * min_cluster_size=12."
    told = refuse(change)
    assert "\n" + rule.format("matrices.cells.n_clusters") in told
    assert told.count("tuning.max_samples=11") == 1


def test_matrices_that_cannot_come_from_where_they_are_said_to_are_told():
    def change(configuration):
        configuration["matrices"] |= {
            "own": {"path": "./data/own/normalised.h5ad", "labels": "label"},
            "found": {"path": "results/found/clusters.h5ad", "labels": "label"},
            "other": {"path": "results/cells/clusters.h5ad", "labels": "label"},
            "braced": {"path": "a{b}.csv", "n_clusters": 2},
            "remote": {"path": "https://example.org/a.csv", "n_clusters": 2},
            "drawn": {"draw": {"experiment": "experiment_2", "mo": 1, "mu": 2}, "labels": "y"},
        }

    told = refuse(change)
    for line in (
        "own.path='./data/own/normalised.h5ad' should not be an output of the workflow.",
        "found.path='results/found/clusters.h5ad' should not be an output of the workflow.",
        "braced.path='a{b}.csv' should have no braces, which Snakemake treats as wildcards.",
        "remote.path='https://example.org/a.csv' should be a local file: download it first.",
        "drawn.labels='y' should be left out for a simulated matrix.",
        "drawn.draw: 'mo' should be one of ['mu', 'n_features', ",
    ):
        assert told.count(f"\nmatrices.{line}") == 1, line
    assert "matrices.other" not in told


def test_names_that_only_their_case_tells_apart_are_told():
    def change(configuration):
        for name in ("Cells", "Figures", "p28", "Left", "left"):
            configuration["matrices"][name] = {"path": "cells.h5ad", "n_clusters": 2}
        configuration["matrices"]["Left"] = None

    told = refuse(change)
    for pair in ("'Cells' and 'cells'", "'figures' and 'Figures'", "'P28' and 'p28'"):
        assert told.count(f"\nmatrices: {pair} differ only in case") == 1, pair
    assert "'left'" not in told


def test_a_missing_matrix_is_named(fresh):
    (fresh.root / "tumours.csv").unlink()
    done = fresh.snakemake("--dry-run")
    assert done.returncode != 0
    assert "MissingInputException" in done.stdout
    assert "tumours.csv" in done.stdout


def test_a_configuration_without_data_is_refused():
    told = refuse(lambda configuration: configuration.update(atlas=None, matrices={"a": None}))
    assert "\natlas.ages=[] and matrices={'a': None}: there should be at least one" in told


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
            "they should be known for at least 2, or be left out. (log: logs/normalise_matrix/"
            "tumours.log)"
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

    def change(configuration):
        configuration["matrices"] |= {
            "species": {"path": "species.csv", "labels": "species"},
            "ragged": {"path": "ragged.npz", "labels": "y"},
            "cut": {"path": "cut.h5ad"},
        }

    copied.configure(change)
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
