"""The sparsity chosen by stability in the real workflow, and the comparison of tuning rules."""

import shutil
from html import escape

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.evidence_file import EVIDENCE
from sparsekm.io.fit_file import read_fit
from sparsekm.io.path_file import read_path
from sparsekm.tuning.stability import select_stable

# The run is made once in each process.
pytestmark = pytest.mark.xdist_group("stability")

DESIGNS = {
    "easy": {"kind": "independent", "design": "autoregressive", "rho": 0, "mu": 2},
    "none": {"kind": "no_clusters", "design": "blocks", "rho": 0.5, "mu": 0},
    "own": {"kind": "real", "path": "own.npz"},
    "left_out": None,
}


def by_stability(configuration):
    configuration["atlas"] = None
    configuration["matrices"] = {"tumours": configuration["matrices"]["tumours"]}
    configuration["methods"] = ["kmeans", "l0"]
    configuration["tuning"].update(criterion="stability", splits=3, evidence_references=2)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory, project_root, new_project):
    """The project after one whole run."""
    project = new_project(tmp_path_factory.mktemp("stability"), project_root)
    project.configure(by_stability)
    run = project.snakemake("--cores", "1")
    assert run.returncode == 0, run.stdout
    return project


def test_stability_chooses_a_fit_of_the_path_and_the_report_is_made(tuned):
    folder = tuned.root / "results" / "tumours" / "l0"
    curve = pd.read_csv(folder / "stability_curve.csv")
    assert curve["sparsity"].is_monotonic_increasing
    chosen = int(np.flatnonzero(curve["chosen"]).item())
    assert chosen == select_stable(curve, "sparse-end")
    fit, (path, _) = read_fit(folder / "chosen.h5"), read_path(folder / "path.h5")
    assert fit.sparsity == curve["sparsity"][chosen]
    np.testing.assert_array_equal(fit.labels, path.labels[chosen])
    assert fit.attributes["rule"] == "sparse-end"
    assert fit.attributes["n_splits"] == 3
    assert not (folder / "gap.csv").exists()
    row = EVIDENCE.read_row(folder / "evidence.csv")
    assert row["n_references"] == 2
    assert ("No evidence" in row["conclusion"]) == (row["strength"] <= 1)
    assert escape(row["conclusion"]) in (tuned.root / "results" / "report.html").read_text()


def test_the_batches_of_splits_change_nothing(tuned):
    name = "results/tumours/l0/stability_curve.csv"
    curve = tuned.root / name
    splits = curve.parent / "splits"
    in_twos = curve.read_bytes()

    def one_by_one(configuration):
        by_stability(configuration)
        configuration["tuning"]["references_per_job"] = 1

    tuned.configure(one_by_one)
    curve.unlink()
    shutil.rmtree(splits)
    run = tuned.snakemake(name, "--cores", "1")
    assert run.returncode == 0, run.stdout
    assert len(list(splits.glob("*.h5"))) == 3
    assert curve.read_bytes() == in_twos


def test_the_study_compares_the_rules_on_every_design(fresh):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 12)
    X = rng.standard_normal((24, 30)) + 4 * np.outer(y == "a", np.arange(30) < 6)
    np.savez(fresh.root / "own.npz", X=X, y=y)

    def small_study(configuration):
        for design in (DESIGNS["easy"], DESIGNS["none"]):
            design.update(n_features=40, n_relevant=8, cluster_size=10)
        effort = {"n_init": 1, "n_sparsities": 3, "n_references": 2, "n_splits": 2}
        configuration["tuning_study"] = {
            "replicates": 2,
            "effort": effort,
            "counts": {"values": [3, 2], "n_sparsities": 2, "n_references": 2, "n_splits": 2},
            "designs": DESIGNS,
        }

    fresh.configure(small_study)
    run = fresh.snakemake("tuning_study", "--cores", "1")
    assert run.returncode == 0, run.stdout
    folder = fresh.root / "results" / "tuning_study"
    summary = pd.read_csv(folder / "summary.csv").set_index(["data_set", "rule"])
    assert set(summary.index.get_level_values("data_set")) == {"easy", "none", "own"}
    assert (summary["replicates"] == 2).all()
    easy = summary.loc["easy"]
    assert easy.loc["permutation, max", "cer"] == easy.loc["permutation, max", "cer_permutation"]
    assert (easy["cer_best"] <= easy["cer"]).all()
    assert easy.loc["k-means", "share"] == 1
    assert summary.loc["none", "cer"].isna().all()
    assert summary.loc["own"].loc["permutation, max", "cer"] == 0
    assert (folder / "summary.svg").read_text().startswith("<?xml")
    rows = pd.read_csv(folder / "easy.csv")
    # One path and two references against one path and two fits to four fifths of the samples.
    fits = rows.set_index("rule")["fits"].groupby("rule").first()
    assert fits["permutation, max"] == 3
    assert fits["subsample, max"] == 2.6
    counts = pd.read_csv(folder / "counts.csv").set_index(["data_set", "rule"])
    # Data without clusters have no number to find.
    assert set(counts.index) == {
        (name, rule) for name in ("easy", "own") for rule in ("gap", "stability", "excess")
    }
    assert (counts["replicates"] == 2).all()
    assert (counts.loc["easy", "known"] == 3).all()
    assert counts.loc[("own", "stability"), "share_known"] == 1
    assert not (folder / "counts" / "none.csv").exists()
