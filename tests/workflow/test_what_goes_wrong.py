"""A mistake stops the run with one clear message, a status other than 0, and no half output."""

import re
import shutil

import numpy as np
import pytest
import yaml
from configuration_reader import configuration_check
from small_project import CONFIGURATION, merged

from sparsekm.pipeline.registry import METHODS

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")

# What is wrong, and how each line about it begins.
MISTAKES = {
    "against the schema": (
        """
        n_initt: 3
        seed: x
        atlas: {age: [P4], ages: [E12.5], quality_control: {max_missing_per_gene: 0},
            normalisation: {fill: median}, allen: {url: "ftp://x", contact: "two\\nlines"}}
        matrices: {raw: {path: a.csv}, P28: {path: a.csv}}
        tuning: {refrences: 3, references: 1, sparsities: {l1: [0.5]}}
        """,
        [
            "configuration: unknown keys ['n_initt']; known ones are ['seed', 'atlas', 'matrices',",
            "atlas: unknown keys ['age']; known ones are ['source', 'size', 'seed', 'ages', ",
            "atlas.ages.0='E12.5': 'E12.5' is not one of ['E11.5', 'E13.5', ",
            "atlas.quality_control.max_missing_per_gene=0: 0 is less than or equal to ",
            "atlas.normalisation.fill='median': 'median' is not one of ['none', 'zero', ",
            "tuning: unknown keys ['refrences']; known ones are ['n_sparsities', ",
            "seed='x': 'x' is not of type 'integer'.",
            "matrices: 'raw' should match ^[A-Za-z0-9_.-]{1,100}$ and not be the name of an age or",
            "matrices: 'P28' should match ^[A-Za-z0-9_.-]{1,100}$ and not be the name of an age or",
            "tuning.references=1: 1 is less than the minimum of 2.",
            r"atlas.allen.url='ftp://x' should match ^https?://[^ ]+$.",
            r"atlas.allen.contact='two\nlines' should match ^[ -~]*$.",
            "tuning.sparsities.l1=[0.5] should be auto; or array (0.5 is less than the minimum of",
        ],
    ),
    "of an earlier version": (
        """
        tuning: {criterion: stability, splits: 10, refrences: 3, resamplings: 50,
            evidence_samples: 100, stability_rule: same}
        simulation: {preview: {replicates: 2}, replicates: 20}
        yardstick: {gap: {}, seeds: 3}
        tuning_study: {replicates: 3}
        theory: {support: {n_init: 1}}
        """,
        [
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
        ],
    ),
    "names of things that are not there": (
        """
        methods: [kmeans, l7]
        matrices: {new: {}}
        simulation: {methods: [kmean], experiments: [experiment_3/p26]}
        yardstick: {methods: [kmeans, magic]}
        """,
        [
            "matrices.new should have either path or draw.",
            f"methods: 'l7' should be one of {sorted(METHODS)}.",
            "yardstick.methods: 'magic' should be one of",
            "simulation.methods: 'kmean' should be one of",
            "simulation.experiments: 'experiment_3/p26' should be one of",
        ],
    ),
    "more clusters than the samples of the tuning allow": (
        """
        n_clusters: 5
        matrices: {cells: {n_clusters: 6}}
        min_cluster_size: 2
        tuning: {max_samples: 11}
        """,
        ["tuning.max_samples=11 should be >= matrices.cells.n_clusters * min_cluster_size=12."],
    ),
    "matrices that cannot come from where they are said to": (
        """
        matrices:
            own: {path: ./data/own/normalised.h5ad, labels: label}
            found: {path: results/found/clusters.h5ad, labels: label}
            other: {path: results/cells/clusters.h5ad, labels: label}
            braced: {path: "a{b}.csv", n_clusters: 2}
            remote: {path: "https://example.org/a.csv", n_clusters: 2}
            drawn: {draw: {experiment: experiment_2, mo: 1, mu: 2}, labels: y}
        """,
        [
            "matrices.own.path='./data/own/normalised.h5ad' should not be an output of the work",
            "matrices.found.path='results/found/clusters.h5ad' should not be an output of the work",
            "matrices.braced.path='a{b}.csv' should have no braces, which Snakemake treats as wild",
            "matrices.remote.path='https://example.org/a.csv' should be a local file: download it",
            "matrices.drawn.labels='y' should be left out for a simulated matrix.",
            "matrices.drawn.draw: 'mo' should be one of ['mu', 'n_features', ",
        ],
    ),
    "names that only their case tells apart": (
        """
        matrices: {Cells: &a {path: cells.h5ad}, Figures: *a, p28: *a, left: *a, Left: null}
        """,
        [
            "matrices: 'Cells' and 'cells' differ only in case",
            "matrices: 'figures' and 'Figures' differ only in case",
            "matrices: 'P28' and 'p28' differ only in case",
        ],
    ),
    "no data": (
        """
        atlas: null
        matrices: {tumours: null, cells: null}
        """,
        ["atlas.ages=[] and matrices={'cells': None, 'tumours': None}: there should be at least"],
    ),
}


@pytest.mark.parametrize(("change", "lines"), MISTAKES.values(), ids=MISTAKES)
def test_every_mistake_is_told_in_one_line(change, lines):
    # As it is in its file: in the order of the keys.
    changed = merged(CONFIGURATION, yaml.safe_load(change))
    configuration = yaml.safe_load(yaml.safe_dump(changed))
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
