"""Studies, pictures, baselines and tuning: the workflow gives what direct calls give."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit, read_path
from sparsekm.io.tables import GAP
from sparsekm.studies import METHOD_ROWS, get_setting
from sparsekm.studies.paper_runs import METRICS, run_repetition
from sparsekm.tuning import gap_search

pytestmark = pytest.mark.xdist_group("studies")


@pytest.fixture(scope="module")
def project(new_project):
    return new_project()


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
    run = project.snakemake("yardstick", "--dry-run", "--cores", "1")
    assert run.returncode != 0
    said = [line for line in run.stdout.splitlines() if "yardstick.folder=null" in line]
    assert len(said) == 1
    assert "should be a folder of labelled sets (.npz with X and y)" in said[0]


def test_a_set_may_have_any_name(with_sets):
    file = with_sets.root / "labelled" / "one.npz"
    odd = file.rename(file.with_name("a b, c.npz"))
    told = with_sets.run("yardstick", "--dry-run", "--cores", "1")
    odd.rename(file)
    assert "results/yardstick/a b, c/l0.csv" in told


@pytest.mark.release
def test_the_yardstick_makes_its_tables(with_sets):
    with_sets.run("yardstick", "--cores", "1")
    folder = with_sets.root / "results" / "yardstick"
    table = pd.read_csv(folder / "yardstick.csv")
    assert len(table) == 2 * 2 * 2
    assert set(table["seed"]) == {1, 2}
    assert (table["error"] == 0).all()
    # So many of the 60 samples were drawn.
    assert set(table["n_samples"][table["data_set"] == "large"]) == {40}
    summary = pd.read_csv(folder / "summary.csv").set_index(["data_set", "method"])
    assert (summary["seeds"] == 2).all()
    assert summary.loc[("one", "kmeans"), "n_kept"] == 10
    assert summary.loc[("one", "l0"), "n_kept"] < 10
    overview = pd.read_csv(folder / "overview.csv").set_index("method")
    assert overview.loc["l0", ["better", "same", "worse"]].tolist() == [0, 2, 0]


@pytest.mark.release
def test_a_picture_comes_with_its_table_and_caption(project):
    project.run("results/theory/expected_scores.svg", "--cores", "1")
    folder = project.root / "results" / "theory"
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
    fresh.run(*files, "--cores", "1")
    for method, file in zip(methods, files, strict=True):
        assert pd.read_csv(fresh.root / file)["cer"].item() < 0.2
        fit = read_fit(fresh.root / "results" / "tumours" / method / "tuned.h5")
        assert (fit.weights > 0).sum() == fit.sparsity


EFFORT = {"n_init": 1, "n_sparsities": 3, "references": 2, "n_refined": 2}
ROWS = ["relevant", "kmeans", "l0_alternate"]
CELL = "experiment_3/p25"
SIMULATION = f"""
atlas: null
matrices: {{cells: null}}
methods: [kmeans]
simulation: {{experiments: [{CELL}], methods: [{", ".join(ROWS)}], variants: [l0_carried, pca_two],
    repetitions: 3, other_repetitions: 2, repeated_variants: [pca_two],
    {", ".join(f"{name}: {value}" for name, value in EFFORT.items())}}}
"""


@pytest.fixture(scope="module")
def simulated(new_project):
    project = new_project(SIMULATION)
    project.run("--cores", "2", "paper")
    return project


@cache
def expected(row, replicate):
    effort = {**EFFORT, "n_references": EFFORT["references"]}
    setting = get_setting("experiment_3", "p25")
    return run_repetition(setting, METHOD_ROWS[row], effort, root=1, replicate=replicate)


@pytest.mark.release
@pytest.mark.parametrize("row", [*ROWS, "l0_carried", "pca_two"])
def test_the_table_of_a_job_is_what_direct_calls_give(simulated, row):
    file = simulated.root / "results" / "simulation" / CELL / f"{row}.csv"
    table = pd.read_csv(file, float_precision="round_trip")
    # This variant judges nothing and is not said to be repeated as often.
    n = 2 if row == "l0_carried" else 3
    assert table["replicate"].tolist() == list(range(n))
    for replicate in range(n):
        found = expected(row, replicate).metrics
        line = table.loc[replicate, list(METRICS)].astype(float)
        exact = pd.Series(found, METRICS, name=replicate)
        pd.testing.assert_series_equal(line, exact, check_exact=True)


@pytest.mark.release
def test_nothing_is_left_to_do_and_more_repetitions_rerun_only_the_rows_that_have_more(simulated):
    assert simulated.planned("paper") == set()
    # A run of a table does not simulate the paper.
    planned = simulated.planned()
    assert {"normalise_matrix tumours", "report"} <= planned
    assert [job for job in planned if "simulat" in job or "theor" in job] == []
    simulated.configure(SIMULATION.replace(" repetitions: 3", " repetitions: 4"))
    planned = simulated.planned("paper")
    rerun = {f"simulate experiment_3 p25 {row}" for row in (*ROWS, "pca_two")}
    assert planned == rerun | {"summarise_simulation", "report_simulation"}


METHODS = {"l0": L0KMeans, "l1": L1KMeans}
GRIDS = {"l0": [2, 7, 12], "l1": [1.2, 2, 3]}
TUNING = f"""
atlas: null
matrices: {{cells: null}}
methods: [l0, l1]
tuning: {{rule: max, sparsities: {{l0: {GRIDS["l0"]}, l1: {GRIDS["l1"]}}}}}
"""


@pytest.fixture(scope="module")
def tuned(project):
    project.configure(TUNING)
    targets = [f"results/tumours/{method}/chosen.h5" for method in METHODS]
    project.run("--cores", "1", "--", *targets)
    yield project.root
    project.configure()


@pytest.mark.release
@pytest.mark.parametrize("method", METHODS)
def test_the_workflow_tunes_as_gap_search_does(tuned, method, monkeypatch):
    folder = tuned / "results" / "tumours" / method
    gap, fit = GAP.read(folder / "gap.csv"), read_fit(folder / "chosen.h5")
    about = read_path(folder / "path.h5")[1]["parameters"]
    data = read_normalised(tuned / "data" / "tumours" / "normalised.h5ad")
    given = {"n_references": 5, "random_state": about["random_state"]}
    # With the seed that the workflow derives from the name of the data set.
    seeded = SimpleNamespace(generate_state=lambda n: [about["random_state"]])
    monkeypatch.setattr(gap_search, "seed_sequence", lambda seed: seeded)
    search = GapSearch(METHODS[method](**about), sparsities=GRIDS[method], **given)
    search.fit(data.X)
    pd.testing.assert_frame_equal(gap.drop(columns="chosen"), search.results_, check_exact=True)
    assert int(gap["chosen"].argmax()) == search.best_index_
    assert fit.sparsity == search.best_sparsity_
    np.testing.assert_array_equal(fit.labels, search.labels_)
    np.testing.assert_array_equal(fit.weights, search.feature_weights_)
