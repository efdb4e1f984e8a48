"""The yardstick, a picture of a theorem and the baselines through the real workflow."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.io.store import read_fit


@pytest.fixture(scope="module")
def project(tmp_path_factory, project_root, new_project):
    return new_project(tmp_path_factory.mktemp("studies"), project_root)


@pytest.fixture(scope="module")
def with_sets(project):
    folder = project.root / "labelled"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, n_samples in (("one", 24), ("large", 60)):
        X = rng.normal(size=(n_samples, 10))
        X[: n_samples // 2, :3] += 8
        np.savez(folder / f"{name}.npz", X=X, y=np.repeat(["a", "b"], n_samples // 2))

    project.configure(
        """
        yardstick: {folder: labelled, methods: [kmeans, l0], n_seeds: 2, max_samples: 40,
            n_sparsities: 3, references: 2}
        """
    )
    yield project
    project.configure()


def test_the_yardstick_without_a_folder_says_in_one_line_that_it_needs_one(project):
    project.configure()
    run = project.snakemake("yardstick", "--dry-run", "--cores", "1")
    assert run.returncode != 0
    said = [line for line in run.stdout.splitlines() if "yardstick.folder=null" in line]
    assert len(said) == 1
    assert "should be a folder of labelled sets (.npz with X and y)" in said[0]


def test_a_set_whose_name_no_path_should_have_is_named(with_sets):
    file = with_sets.root / "labelled" / "one.npz"
    odd = file.rename(file.with_name("a b.npz"))
    run = with_sets.snakemake("yardstick", "--dry-run", "--cores", "1")
    odd.rename(file)
    assert run.returncode != 0
    assert "the names ['a b'] should consist of letters" in run.stdout


@pytest.mark.release
def test_the_yardstick_makes_its_tables(with_sets):
    run = with_sets.snakemake("yardstick", "--cores", "1")
    assert run.returncode == 0, run.stdout
    folder = with_sets.root / "results" / "yardstick"
    table = pd.read_csv(folder / "yardstick.csv")
    assert len(table) == 2 * 2 * 2
    assert set(table["seed"]) == {1, 2}
    assert (table["error"] == 0).all()
    large = table[table["data_set"] == "large"]
    # So many of the 60 samples were drawn.
    assert set(large["n_samples"]) == {40}
    summary = pd.read_csv(folder / "summary.csv").set_index(["data_set", "method"])
    assert (summary["seeds"] == 2).all()
    assert summary.loc[("one", "kmeans"), "n_kept"] == 10
    assert summary.loc[("one", "l0"), "n_kept"] < 10
    overview = pd.read_csv(folder / "overview.csv").set_index("method")
    assert overview.loc["l0", ["better", "same", "worse"]].tolist() == [0, 2, 0]


@pytest.mark.release
def test_a_picture_comes_with_its_table_and_caption(fresh):
    run = fresh.snakemake("results/theory/expected_scores.svg", "--cores", "1")
    assert run.returncode == 0, run.stdout
    folder = fresh.root / "results" / "theory"
    assert len(pd.read_csv(folder / "expected_scores.csv")) == 2 * 2 * 8
    assert (folder / "expected_scores.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "expected_scores.txt").read_text(encoding="utf-8").startswith("Theorem 1.")


def test_the_target_theory_plans_three_pictures(project):
    pictures = ("expected_scores", "partition_bound", "support_recovery")
    assert project.planned("theory") == {f"draw_theorem {picture}" for picture in pictures}


@pytest.mark.release
def test_baselines_run_where_k_means_does(fresh):
    methods = ("pca", "pgmm", "ifpca", "scfs")
    fresh.configure(f"methods: [{', '.join(methods)}]")
    files = [f"results/tumours/{method}/scores.csv" for method in methods]
    run = fresh.snakemake(*files, "--cores", "1")
    assert run.returncode == 0, run.stdout
    for method, file in zip(methods, files, strict=True):
        assert pd.read_csv(fresh.root / file)["cer"].item() < 0.2
        fit = read_fit(fresh.root / "results" / "tumours" / method / "tuned.h5")
        assert (fit.weights > 0).sum() == fit.sparsity
