"""Sparse k-means in the workflow: the same as in Python, whatever the threads."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from sparsekm import SparseKMeans
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit
from sparsekm.io.tables import SEPARATION, STARTS

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


def folder_of(project, dataset="tumours"):
    return project.root / "results" / dataset / "sparse"


def test_the_fit_is_that_of_the_estimator_on_the_values_as_they_came(finished):
    fit = read_fit(folder_of(finished) / "tuned.h5")
    table = pd.read_csv(finished.root / "tumours.csv")
    found = SparseKMeans(**fit.attributes["parameters"]).fit(table.drop(columns="kind").to_numpy())
    # z-scores of the workflow are float32: the same clusters, and numbers to rounding.
    assert adjusted_rand_score(fit.labels, found.labels_) == 1
    assert fit.attributes["screening"] == found.screening_
    assert fit.attributes["has_clusters"] == found.has_clusters_
    np.testing.assert_array_equal(fit.weights != 0, found.get_support())
    np.testing.assert_allclose(fit.scores, found.feature_scores_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dataset", ["E11.5", "tumours"])
def test_what_is_shown_of_a_fit_belongs_to_it(finished, dataset):
    fit = read_fit(folder_of(finished, dataset) / "tuned.h5")
    data = read_normalised(finished.root / "data" / dataset / "normalised.h5ad")
    means = [data.X[fit.labels == k].mean(axis=0) for k in range(int(fit.labels.max()) + 1)]
    np.testing.assert_allclose(fit.centers, means, atol=1e-5)
    assert np.isfinite(fit.reproducibility).all()
    assert fit.selection_frequency.shape == fit.weights.shape
    agreement = fit.attributes["signature_agreement"]
    assert (fit.signature is None) == (agreement < 0.5)
    starts = STARTS.read(folder_of(finished, dataset) / "consensus.csv")
    assert starts["start"].is_unique
    pairs = SEPARATION.read(folder_of(finished, dataset) / "separation.csv")
    assert fit.attributes["has_clusters"] == (pairs["p_adjusted"] <= 0.05).any()


@pytest.mark.release
def test_threads_change_nothing(copied):
    folder = "results/tumours/sparse/"
    names = [folder + name for name in ("consensus.csv", "separation.csv", "tuned.h5")]
    before = [(copied.root / name).read_bytes() for name in names]
    for file in folder_of(copied).rglob("*.*"):
        file.unlink()
    done = copied.snakemake("--cores", "2", "--set-threads", "find_consensus=2", "--", *names)
    assert done.returncode == 0, done.stdout
    assert [(copied.root / name).read_bytes() for name in names] == before
