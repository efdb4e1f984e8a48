"""Sparse k-means in the workflow: the same as in Python, whatever batches, cores and kills."""

import re

import numpy as np
import pytest
from sparsekm.io.resampling_file import Resamplings

from sparsekm import SparseKMeans
from sparsekm.io.fit_files import read_fit
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.tables import CONSENSUS
from sparsekm.tuning import sparse_kmeans
from sparsekm.tuning.sample_blocks import BLOCKS_PER_CLUSTER, space_blocks

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


def folder_of(project, dataset="tumours"):
    return project.root / "results" / dataset / "sparse"


@pytest.mark.parametrize("dataset", ["E11.5", "tumours"])
def test_the_fit_is_that_of_the_estimator_with_the_data_sets_seed(finished, dataset, monkeypatch):
    fit = read_fit(folder_of(finished, dataset) / "tuned.h5")
    data = read_normalised(finished.root / "data" / dataset / "normalised.h5ad")
    parameters, blocks = fit.attributes["parameters"], None
    if data.positions is not None:
        blocks = space_blocks(data.positions, BLOCKS_PER_CLUSTER * parameters["n_clusters"])
    assert (blocks is None) == (dataset == "tumours")
    monkeypatch.setattr(sparse_kmeans, "N_RESAMPLINGS", 4)
    assert fit.attributes["n_resamplings"] == 4
    found = SparseKMeans(**parameters, n_jobs=2).fit(data.X, groups=blocks)
    np.testing.assert_array_equal(fit.labels, found.labels_)
    np.testing.assert_array_equal(fit.weights, found.feature_weights_)
    np.testing.assert_array_equal(fit.scores, found.feature_scores_)
    # The estimator has them in the precision of the data.
    np.testing.assert_allclose(fit.centers, found.cluster_centers_, atol=1e-6)
    np.testing.assert_array_equal(fit.confidence, found.sample_confidence_)
    np.testing.assert_array_equal(fit.selection_frequency, found.selection_frequency_)
    assert fit.sparsity == found.sparsity_
    assert fit.attributes["conclusion"] == found.conclusion_
    assert fit.attributes["has_clusters"] == found.has_clusters_
    table = CONSENSUS.read(folder_of(finished, dataset) / "consensus.csv")
    assert table["chosen"].tolist() == found.search_results_["chosen"].tolist()
    np.testing.assert_array_equal(table["agreement"], found.search_results_["agreement"])


def test_the_report_shows_the_conclusion_and_the_agreement(finished):
    page = (finished.root / "results" / "report.html").read_text(encoding="utf-8")
    for dataset in ("E11.5", "tumours", "cells"):
        assert read_fit(folder_of(finished, dataset) / "tuned.h5").attributes["conclusion"] in page
        assert (finished.root / "results" / "figures" / f"{dataset}_consensus.svg").is_file()
    assert "Sparse k-means fits 4 paths" in page


def one_by_one(configuration):
    configuration["tuning"]["references_per_job"] = 1


def test_batches_and_threads_change_nothing(copied):
    names = [f"results/tumours/sparse/{name}" for name in ("consensus.csv", "tuned.h5")]
    before = [(copied.root / name).read_bytes() for name in names]
    for file in folder_of(copied).rglob("*.*"):
        file.unlink()
    copied.configure(one_by_one)
    threads = ("resample_path=2", "find_consensus=2")
    done = copied.snakemake("--cores", "2", "--set-threads", *threads, "--", *names)
    assert done.returncode == 0, done.stdout
    assert len(list((folder_of(copied) / "resamplings").glob("*.h5"))) == 4
    assert [(copied.root / name).read_bytes() for name in names] == before


def test_more_resamplings_compute_the_new_ones_alone(copied):
    batches = folder_of(copied) / "resamplings"
    before = {file.name: file.stat().st_mtime_ns for file in batches.glob("*.h5")}
    copied.configure(lambda configuration: configuration["tuning"].update(resamplings=5))
    # As if it had been killed: one batch is lost.
    (batches / "1.h5").unlink()
    done = copied.snakemake("--cores", "1", "--", "results/tumours/sparse/chosen.h5")
    assert done.returncode == 0, done.stdout
    made = re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", done.stdout)
    assert sorted(made) == ["find_consensus", "resample_path", "resample_path"]
    assert (batches / "0.h5").stat().st_mtime_ns == before["0.h5"]
    found = Resamplings.read(batches.glob("*.h5"))
    assert found.indices.tolist() == [0, 1, 2, 3, 4]
    assert read_fit(folder_of(copied) / "chosen.h5").attributes["n_resamplings"] == 5
