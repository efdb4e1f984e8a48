"""Whole runs of other data: in space, in groups, of some samples, sparse, from servers."""

import re
import shutil

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import yaml
from artifact_content import contents
from scipy.sparse import csr_matrix, issparse
from stand_in_server import StandInServer

from sparsekm.atlas import open_source
from sparsekm.atlas.retrieval import read_manifest
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit, read_path
from sparsekm.io.tables import CLUSTERS, SCORES, SEEDS
from sparsekm.metrics import classification_error_rate

pytestmark = [pytest.mark.release, pytest.mark.xdist_group("other data")]


def run(project, *, matrices, methods, **others):
    matrices = {"tumours": None, "cells": None} | matrices
    settings = {"atlas": None, "matrices": matrices, "methods": methods} | others
    project.configure(yaml.safe_dump(settings))
    project.run("--cores", "2")
    return project.root / "results"


def test_groups_and_positions_reach_the_references_and_the_report(fresh):
    cells = anndata.read_h5ad(fresh.root / "cells.h5ad")
    cells.obs["donor"] = [f"d{number % 6}" for number in range(24)]
    cells.obsm["spatial"] = np.argwhere(np.ones((4, 6))).astype(float)
    cells.write_h5ad(fresh.root / "cells.h5ad")
    entry = {"path": "cells.h5ad", "n_clusters": 2, "groups": "donor"}
    results = run(fresh, matrices={"cells": entry}, methods=["l0"], tuning={"reference": "spatial"})
    assert read_fit(results / "cells" / "l0" / "tuned.h5").attributes["reference"] == "spatial"
    report = (results / "report.html").read_text()
    assert "every feature permuted so that its autocorrelation in space remains" in report
    assert "The halves of cells consist of whole groups of samples." in report


TUMOURS = {"tumours": {"path": "tumours.csv", "labels": "kind"}}


def test_samples_without_a_class_are_clustered_and_not_compared_by_sparse_k_means_alone(fresh):
    table = pd.read_csv(fresh.root / "tumours.csv")
    table.loc[[0, 5, 20], "kind"] = ["", "NA", None]
    table.to_csv(fresh.root / "tumours.csv", index=False)
    folder = run(fresh, matrices=TUMOURS, methods=["sparse"]) / "tumours"
    found = CLUSTERS.read(folder / "clusters.csv")
    known = found["label"] != ""
    assert np.flatnonzero(~known).tolist() == [0, 5, 20]
    assert found["cluster_sparse"].nunique() == 2
    rate = classification_error_rate(found["label"][known], found["cluster_sparse"][known])
    scores = SCORES.read_row(folder / "sparse" / "scores.csv")
    assert scores[["n_clusters", "n_samples", "cer"]].tolist() == [2, 24, rate]
    shared = pd.read_csv(folder / "contingency.csv")
    assert set(shared["label"]) == {"a", "b"}
    assert shared.groupby("method")["n_shared"].sum().tolist() == [21]
    assert anndata.read_h5ad(folder / "clusters.h5ad").obs["label"].isna().sum() == 3
    page = (folder.parent / "report.html").read_text(encoding="utf-8")
    assert "; 3 samples have none." in " ".join(page.split())
    names = {file.name for file in folder.rglob("*.*")}
    assert {"genes.csv", "tuned.h5", "candidates.csv", "separation.csv", "stability.csv"} <= names
    assert not names & {"path.h5", "gap.csv"}


N_SAMPLES, N_TUNED = 24, 18


def test_some_samples_are_tuned_on_and_all_are_fitted(fresh):
    settings = {"methods": ["kmeans", "l0", "sparse"], "tuning": {"max_samples": N_TUNED}}
    folder = run(fresh, matrices=TUMOURS, **settings) / "tumours"
    path, about = read_path(folder / "l0" / "path.h5")
    assert path.labels.shape[1] == about["n_tuned"] == N_TUNED
    gap = pd.read_csv(folder / "l0" / "gap.csv")
    assert read_fit(folder / "l0" / "tuned.h5").sparsity in gap["sparsity"].to_numpy()
    for method in ("l0", "sparse"):
        fit = read_fit(folder / method / "tuned.h5")
        assert fit.attributes["n_tuned"] == N_TUNED
        assert sorted(np.bincount(fit.labels)) == [12, 12]
    report = (folder.parent / "report.html").read_text(encoding="utf-8")
    assert "Sparsities were tuned on 18 of the 24 samples of tumours" in report
    # Methods without a sparsity use all samples.
    assert read_path(folder / "kmeans" / "path.h5")[0].labels.shape[1] == N_SAMPLES
    for method, is_sample in (("kmeans", False), ("l0", True)):
        with h5py.File(folder / method / "path.h5") as opened:
            assert ("samples" in opened) == is_sample
            assert not is_sample or len(opened["samples"]) == N_TUNED
    # The final model is fitted once, and reproducibility known of the samples drawn.
    for method in ("kmeans", "l0", "sparse"):
        assert SEEDS.read(folder / method / "seeds.csv")["seed"].tolist() == [0]
    table = pd.read_csv(folder / "clusters.csv")
    assert table["cluster_sparse"].notna().all()
    assert table["reproducibility_sparse"].notna().sum() == N_TUNED


COUNTS = {
    name: {"path": f"{name}.h5ad", "labels": "kind", "normalise": "counts"}
    for name in ("dense", "sparse")
}
METHODS = ["l0", "sparse"]


@pytest.fixture(scope="module", name="project")
def project_of_counts(new_project):
    """A project after a run of the same counts as an array and as a sparse matrix."""
    project = new_project()
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.2, size=(90, 30)).astype(np.float32)
    for k in range(3):
        counts[30 * k : 30 * k + 30, 4 * k : 4 * k + 4] += rng.poisson(3, size=(30, 4))
    obs = pd.DataFrame({"kind": np.repeat(["a", "b", "c"], 30)}, [f"s{i}" for i in range(90)])
    var = pd.DataFrame(index=[f"gene{j}" for j in range(30)])
    for name, X in (("dense", counts), ("sparse", csr_matrix(counts))):
        anndata.AnnData(X, obs=obs, var=var).write_h5ad(project.root / f"{name}.h5ad")
    run(project, matrices=COUNTS, methods=METHODS)
    return project


def test_a_sparse_matrix_stays_sparse_and_gives_the_clusters_of_the_dense_one(project):
    data = project.root / "data"
    dense, sparse = (read_normalised(data / name / "normalised.h5ad") for name in COUNTS)
    assert issparse(sparse.X)
    np.testing.assert_allclose(sparse.X.toarray() - sparse.center, dense.X, atol=1e-5)
    results = project.root / "results"
    assert issparse(anndata.read_h5ad(results / "sparse" / "clusters.h5ad").X)
    for method in METHODS:
        dense, sparse = (read_fit(results / name / method / "tuned.h5") for name in COUNTS)
        assert classification_error_rate(dense.labels, sparse.labels) <= 0.001
        np.testing.assert_array_equal(dense.weights, sparse.weights)
        centers = (np.sort(fit.centers, axis=0) for fit in (dense, sparse))
        np.testing.assert_allclose(*centers, atol=1e-4)


def test_what_is_read_from_disk_gives_every_file_of_a_run_in_memory(project):
    made = contents(project.root)
    # Sparse data are always read from disk.
    for folder in ("data/dense", "results/dense"):
        shutil.rmtree(project.root / folder)
    (project.root / "results" / "report.html").unlink()
    run(project, matrices=COUNTS, methods=METHODS, max_memory_gb=1e-9)
    assert contents(project.root) == made


AGES = ("E11.5", "P14")


@pytest.fixture(scope="module")
def server():
    with StandInServer(open_source("phantom", size="tiny", seed=3), AGES) as server:
        yield server


@pytest.fixture(scope="module")
def from_server(server, new_project):
    """A project after a plan and a run whose atlas came over HTTP."""
    allen = f'{{url: "{server.url}", download_url: "{server.url}"}}'
    project = new_project(
        f"""
        atlas: {{source: allen, allen: {allen}, ages: [E11.5, P14], genes: common}}
        matrices: null
        methods: [kmeans]
        """
    )
    project.plan = project.run("--cores", "1", "plan_retrieval")
    project.asked_in_plan = server.asked()
    # Two ages can be downloaded at the same time, and no profile limits them.
    project.run("--cores", "2", "--workflow-profile", "none", "results/report.html")
    return project


def test_planning_tells_the_download_and_files_are_asked_for_one_at_a_time(from_server, server):
    line = re.search(r"E11.5 +(\d+) +0 +\1 +[1-9]\d*\n", from_server.plan)
    assert int(line[1]) > 40
    assert from_server.asked_in_plan
    assert not [path for path in from_server.asked_in_plan if "grid_data" in path]
    # Without a profile, too.
    assert {request.others for request in server.requests} == {0}


def test_data_from_the_servers_are_of_common_genes_and_stand_beside_the_paper(from_server):
    names = [from_server.root / "data" / age / "normalised.h5ad" for age in AGES]
    first, second = map(anndata.read_h5ad, names)
    assert set(first.var["gene_id"]) == set(second.var["gene_id"])
    for data in (first, second):
        assert "relevant" not in data.var
        assert (data.var["aliases"].str.count(";") == 1).all()
        assert data.uns["provenance"]["source"] == "allen"
        assert not data.uns["provenance"]["simulated"]
    page = (from_server.root / "results" / "report.html").read_text(encoding="utf-8")
    assert "Allen Developing Mouse Brain Atlas" in page
    # The voxels at E11.5 in the paper's Table 4.
    row = r">E11\.5</t[hd]>\s*<t[hd][^>]*>the paper’s</t[hd]>(?:(?!</tr>).)*>7,122<"
    assert re.search(row, page.partition("Compared with the paper")[2], re.DOTALL)


def test_nothing_is_asked_for_again_and_the_contact_reruns_nothing(from_server, server):
    folder = from_server.root / "data" / "raw" / "allen"
    manifest = folder / AGES[0] / "manifest.csv"
    before_deletion = read_manifest(manifest)
    manifests = [read_manifest(folder / age / "manifest.csv") for age in AGES]
    n_energies = sum((table["role"] == "energy").sum() for table in manifests)
    assert len(server.asked("/grid_data/")) == n_energies
    configuration = from_server.root / "config.yaml"
    before = configuration.read_text()
    configuration.write_text(before.replace("download_url:", "contact: me\n    download_url:"))
    assert configuration.read_text() != before
    # The report alone shows the configuration; files that it does not read were not asked for.
    rules = ("export_clusters", "match_clusters")
    not_run = {f"{rule} {age}" for rule in rules for age in AGES}
    assert from_server.planned() - not_run == {"report"}
    n_asked = len(server.requests)
    manifest.unlink()
    (folder / "manifest.csv").unlink()
    for file in (manifest, folder / "manifest.csv"):
        from_server.run("--cores", "1", str(file.relative_to(from_server.root)))
    assert len(server.requests) == n_asked
    assert read_manifest(manifest).equals(before_deletion)
