"""A data set with more than `tuning.max_samples`: some samples are tuned on, and all are fitted."""

import h5py
import numpy as np
import pandas as pd
import pytest

from sparsekm.io.store import read_fit, read_path
from sparsekm.io.tables import SEEDS

# The run is made once in each process.
pytestmark = [pytest.mark.release, pytest.mark.xdist_group("sample")]

N_SAMPLES, N_TUNED = 24, 18


@pytest.fixture(scope="module", name="folder")
def results_of_a_run(tmp_path_factory, project_root, new_project):
    def on_a_sample(configuration):
        configuration["atlas"] = None
        configuration["matrices"] = {"tumours": configuration["matrices"]["tumours"]}
        configuration["methods"] = ["kmeans", "l0", "sparse"]
        configuration["tuning"]["max_samples"] = N_TUNED

    project = new_project(tmp_path_factory.mktemp("sample"), project_root)
    project.configure(on_a_sample)
    run = project.snakemake("--cores", "1")
    assert run.returncode == 0, run.stdout
    return project.root / "results"


def test_paths_are_of_the_sample_and_fits_of_all(folder):
    path, about = read_path(folder / "tumours" / "l0" / "path.h5")
    assert path.labels.shape[1] == about["n_tuned"] == N_TUNED
    with h5py.File(folder / "tumours" / "l0" / "path.h5") as opened:
        assert len(opened["samples"]) == N_TUNED
    gap = pd.read_csv(folder / "tumours" / "l0" / "gap.csv")
    for method in ("l0", "sparse"):
        fit = read_fit(folder / "tumours" / method / "tuned.h5")
        assert len(fit.labels) == N_SAMPLES
        assert fit.attributes["n_tuned"] == N_TUNED
        assert sorted(np.bincount(fit.labels)) == [12, 12]
    assert read_fit(folder / "tumours" / "l0" / "tuned.h5").sparsity in gap["sparsity"].to_numpy()


def test_methods_without_a_sparsity_use_all_samples(folder):
    file = folder / "tumours" / "kmeans" / "path.h5"
    assert read_path(file)[0].labels.shape[1] == N_SAMPLES
    with h5py.File(file) as opened:
        assert "samples" not in opened


def test_the_final_model_is_fitted_once(folder):
    for method in ("kmeans", "l0", "sparse"):
        assert SEEDS.read(folder / "tumours" / method / "seeds.csv")["seed"].tolist() == [0]


def test_reproducibility_is_known_for_the_samples_drawn(folder):
    table = pd.read_csv(folder / "tumours" / "clusters.csv")
    assert table["cluster_sparse"].notna().all()
    assert table["reproducibility_sparse"].notna().sum() == N_TUNED


def test_the_report_says_on_how_many_samples_the_sparsity_was_tuned(folder):
    report = (folder / "report.html").read_text(encoding="utf-8")
    assert "Sparsities were tuned on 18 of the 24 samples of tumours" in report
