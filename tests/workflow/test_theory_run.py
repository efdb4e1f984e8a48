"""A picture of a theorem, and baselines, through the real workflow."""

import pandas as pd
import pytest

from sparsekm.io.fit_files import read_fit


@pytest.mark.slow
def test_a_picture_comes_with_its_table_and_caption(fresh):
    run = fresh.snakemake("results/theory/expected_scores.svg", "--cores", "1")
    assert run.returncode == 0, run.stdout
    folder = fresh.root / "results" / "theory"
    assert len(pd.read_csv(folder / "expected_scores.csv")) == 2 * 2 * 8
    assert (folder / "expected_scores.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "expected_scores.txt").read_text(encoding="utf-8").startswith("Theorem 1.")


def test_the_target_theory_plans_three_pictures(fresh):
    pictures = ("expected_scores", "partition_bound", "support_recovery")
    assert fresh.planned("theory") == {f"draw_theorem {picture}" for picture in pictures}


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
