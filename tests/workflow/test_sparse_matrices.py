"""A sparse matrix stays sparse through the workflow, and gives the clusters of the dense one."""

import shutil

import anndata
import numpy as np
import pandas as pd
import pytest
from artifact_content import contents
from scipy.sparse import csr_matrix, issparse

from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit
from sparsekm.metrics import classification_error_rate

# The run is made once in each process.
pytestmark = [pytest.mark.release, pytest.mark.xdist_group("sparse")]

METHODS = ("l0", "sparse")


@pytest.fixture(scope="module", name="project")
def finished_run(tmp_path_factory, project_root, new_project):
    project = new_project(tmp_path_factory.mktemp("sparse"), project_root)
    rng = np.random.default_rng(5)
    counts = rng.poisson(0.2, size=(90, 30)).astype(np.float32)
    for k in range(3):
        counts[30 * k : 30 * k + 30, 4 * k : 4 * k + 4] += rng.poisson(3, size=(30, 4))
    obs = pd.DataFrame({"kind": np.repeat(["a", "b", "c"], 30)}, [f"s{i}" for i in range(90)])
    var = pd.DataFrame(index=[f"gene{j}" for j in range(30)])
    for name, X in (("dense", counts), ("sparse", csr_matrix(counts))):
        anndata.AnnData(X, obs=obs, var=var).write_h5ad(project.root / f"{name}.h5ad")
    run_both(project)
    return project


def run_both(project, **settings):
    def both(configuration):
        configuration["matrices"] = {
            name: {"path": f"{name}.h5ad", "labels": "kind", "normalise": "counts"}
            for name in ("dense", "sparse")
        }
        configuration["methods"] = list(METHODS)
        configuration.update(atlas=None, **settings)

    project.configure(both)
    run = project.snakemake("--cores", "1")
    assert run.returncode == 0, run.stdout


def test_the_matrix_stays_sparse(project):
    found = {
        name: read_normalised(project.root / "data" / name / "normalised.h5ad")
        for name in ("dense", "sparse")
    }
    assert issparse(found["sparse"].X)
    z = found["sparse"].X.toarray() - found["sparse"].center
    np.testing.assert_allclose(z, found["dense"].X, atol=1e-5)
    exported = anndata.read_h5ad(project.root / "results" / "sparse" / "clusters.h5ad")
    assert issparse(exported.X)


@pytest.mark.parametrize("method", METHODS)
def test_clusters_and_centres_are_those_of_the_dense_matrix(project, method):
    dense, sparse = (
        read_fit(project.root / "results" / name / method / "tuned.h5")
        for name in ("dense", "sparse")
    )
    assert classification_error_rate(dense.labels, sparse.labels) <= 0.001
    np.testing.assert_array_equal(dense.weights, sparse.weights)
    np.testing.assert_allclose(
        np.sort(dense.centers, axis=0), np.sort(sparse.centers, axis=0), atol=1e-4
    )


def test_what_is_read_from_disk_gives_every_file_of_a_run_in_memory(project):
    made = contents(project.root)
    # Sparse data are always read from disk.
    for folder in ("data/dense", "results/dense"):
        shutil.rmtree(project.root / folder)
    (project.root / "results" / "report.html").unlink()
    run_both(project, max_memory_gb=1e-9)
    assert contents(project.root) == made
