"""A matrix in which some samples have no known class, from its table to the report."""

import anndata
import numpy as np
import pandas as pd

from sparsekm.io.cluster_table import CLUSTERS
from sparsekm.metrics.partition_metrics import classification_error_rate


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
    assert not names & {"path.h5", "gap.csv", "evidence.csv"}
