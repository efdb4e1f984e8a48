"""The real rules about the theorems, and baselines through the real workflow, on small numbers."""

import pandas as pd
import pytest

from sparsekm.io.fit_file import read_fit

THEORY = {
    "expected_scores": {"cluster_size": 4, "n_features": 3, "mislabelled": [0, 0.5]},
    "partitions": {"mu": [0.6, 3], "n_relevant": [5, 40], "cluster_size": 4, "bound_up_to": 1000},
    "support": {
        "planes": {
            "samples_features": {
                "n_samples": [12, 30],
                "n_features": [20, 40],
                "n_relevant": 5,
                "mu": 1,
            }
        },
        "n_init": 1,
    },
    "conditions": {"cells": 3},
}


def few_repetitions(configuration):
    configuration["theory"] = THEORY
    for section in ("expected_scores", "partitions", "support"):
        configuration["theory"][section]["repetitions"] = 2


@pytest.mark.slow
def test_the_target_theory_makes_every_table_and_figure(fresh):
    fresh.configure(few_repetitions)
    run = fresh.snakemake("theory", "--cores", "1")
    assert run.returncode == 0, run.stdout
    folder = fresh.root / "results" / "theory"
    figures = ("expected_scores", "partition_bound", "support_recovery", "recovery_conditions")
    for figure in figures:
        for kind in ("svg", "pdf", "txt"):
            assert (folder / f"{figure}.{kind}").stat().st_size > 100
    recovery = pd.read_csv(folder / "support_recovery_samples_features.csv")
    assert len(recovery) == 2 * 2 * 4
    assert set(recovery["repetitions"]) == {2}
    assert "vacuous" in (folder / "partition_bound.txt").read_text(encoding="utf-8")


def test_an_unknown_setting_of_the_theory_is_refused(fresh):
    def mistype(configuration):
        configuration["theory"] = {"partitions": {"mus": [1]}}

    fresh.configure(mistype)
    run = fresh.snakemake("theory", "--dry-run", "--cores", "1")
    assert run.returncode != 0
    assert "theory.partitions: unknown keys ['mus']" in run.stdout


@pytest.mark.slow
def test_baselines_run_where_k_means_does(fresh):
    methods = ("pca", "pgmm", "ifpca", "scfs")
    fresh.configure(lambda configuration: configuration.update(methods=list(methods)))
    files = [f"results/tumours/{method}/scores.csv" for method in methods]
    run = fresh.snakemake(*files, "--cores", "1")
    assert run.returncode == 0, run.stdout
    for method, file in zip(methods, files, strict=True):
        assert pd.read_csv(fresh.root / file)["cer"].item() < 0.2
        fit = read_fit(fresh.root / "results" / "tumours" / method / "tuned.h5")
        assert (fit.weights > 0).sum() == fit.sparsity
