"""Groups, positions and missing labels of a user's matrix, from its file to the report."""

import anndata
import numpy as np
import pandas as pd
import pytest

from sparsekm.io.store import read_fit
from sparsekm.io.tables import CLUSTERS
from sparsekm.metrics import classification_error_rate


def in_space(matrix):
    def change(configuration):
        configuration["atlas"] = None
        configuration["matrices"] = matrix
        configuration["methods"] = ["l0"]
        configuration["tuning"]["reference"] = "spatial"

    return change


@pytest.mark.release
def test_groups_and_positions_reach_the_references_and_the_report(fresh):
    cells = anndata.read_h5ad(fresh.root / "cells.h5ad")
    cells.obs["donor"] = [f"d{number % 6}" for number in range(24)]
    cells.obsm["spatial"] = np.argwhere(np.ones((4, 6))).astype(float)
    cells.write_h5ad(fresh.root / "cells.h5ad")
    entry = {"path": "cells.h5ad", "n_clusters": 2, "groups": "donor"}
    fresh.configure(in_space({"cells": entry}))
    run = fresh.snakemake("--cores", "1")
    assert run.returncode == 0, run.stdout
    results = fresh.root / "results"
    assert read_fit(results / "cells" / "l0" / "tuned.h5").attributes["reference"] == "spatial"
    report = (results / "report.html").read_text()
    assert "every feature permuted such that its autocorrelation in space remains" in report
    assert "Those of cells consist of whole groups of samples, as given." in report


@pytest.mark.release
def test_samples_without_a_class_are_clustered_and_not_compared_by_sparse_k_means_alone(fresh):
    table = pd.read_csv(fresh.root / "tumours.csv")
    table.loc[[0, 5, 20], "kind"] = ["", "NA", None]
    table.to_csv(fresh.root / "tumours.csv", index=False)

    def change(configuration):
        configuration |= {"atlas": None, "simulation": None, "methods": ["sparse"]}
        del configuration["matrices"]["cells"]

    fresh.configure(change)
    run = fresh.snakemake("--cores", "2")
    assert run.returncode == 0, run.stdout
    results = fresh.root / "results"
    found = CLUSTERS.read(results / "tumours" / "clusters.csv")
    known = found["label"] != ""
    assert np.flatnonzero(~known).tolist() == [0, 5, 20]
    assert found["cluster_sparse"].nunique() == 2
    rate = classification_error_rate(found["label"][known], found["cluster_sparse"][known])
    scores = pd.read_csv(results / "tumours" / "sparse" / "scores.csv")
    assert scores.loc[0, ["n_clusters", "n_samples", "cer"]].tolist() == [2, 24, rate]
    shared = pd.read_csv(results / "tumours" / "contingency.csv")
    assert set(shared["label"]) == {"a", "b"}
    assert shared.groupby("method")["n_shared"].sum().tolist() == [21]
    annotated = anndata.read_h5ad(results / "tumours" / "clusters.h5ad")
    assert annotated.obs["label"].isna().sum() == 3
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "3 samples without a known label" in page
    names = {file.name for file in (results / "tumours").rglob("*.*")}
    assert {"genes.csv", "clusters.csv", "tuned.h5", "consensus.csv", "stability.csv"} <= names
    assert "separation.csv" in names
    assert not names & {"path.h5", "gap.csv"}
