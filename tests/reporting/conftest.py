"""Small made-up results: a matrix as files, as the workflow writes them, and a little brain."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from html_page import Page
from written_files import save_fit

from sparsekm.annotation.gene_table import GENE_TABLE, gene_table
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import read_fit
from sparsekm.io.tables import GAP, SCORES
from sparsekm.reporting.report import load_dataset_result, write_report

SCRIPT = "<script>alert(1)</script>"
METHODS = ("kmeans", "l1", "l0")
REGIONS = ("RSP", "CSP", "r1")


def weights_of(method, scores, n_kept):
    if method == "kmeans":
        return np.ones(scores.size)
    weights = np.zeros(scores.size)
    top = np.argsort(-scores, kind="stable")[:n_kept]
    weights[top] = 1 if method == "l0" else scores[top] / np.linalg.norm(scores[top])
    return weights


def write_files(folder, dataset, X, labels, n_kept, cer):
    """Write every file of a data set but its matrix; return the arguments of the loader."""
    files = {"fits": {}, "gaps": {}, "scores": {}}
    Z = X - X.mean(axis=0, dtype=float)
    centers = np.array([Z[labels == k].mean(axis=0) for k in np.unique(labels)])
    scores = (np.bincount(labels)[:, None] * centers**2).sum(axis=0)
    for method in METHODS:
        place, n, rate = folder / method, n_kept[method], cer[method]
        about = {
            "method": method,
            "dataset": dataset,
            "search": "alternate",
            "seed": 2718,
            "parameters": {"n_init": 7, "min_cluster_size": 3},
            "versions": {"sparsekm": "9.8.7", "numpy": "2.0.0"},
            "input_digest": "0" * 64,
            "code_digest": "1" * 64,
        }
        weights = weights_of(method, scores, n)
        objective = float(weights @ scores)
        files["fits"][method], files["scores"][method] = place / "tuned.h5", place / "scores.csv"
        if method != "kmeans":
            about |= {"rule": "auto", "reference": "permutation"}
            files["gaps"][method] = place / "gap.csv"
            curve = {"sparsity": [2.0, n], "n_selected": [2, n], "gap": [0.25, 0.5]}
            objectives = np.array([objective / 2, objective])
            curve |= {"objective": objectives, "log_objective": np.log(objectives)}
            curve |= {"reference_mean": 0.0, "reference_sd": 0.01, "se": [0.02, 0.03]}
            GAP.write(place / "gap.csv", pd.DataFrame(curve), 1)
        save_fit(place / "tuned.h5", Z, labels, weights, about)
        known = {"dataset": dataset, "method": method, "cer": rate, "cer_chance": 0.5}
        known |= {"ari": 1 - 2 * rate, "ami": 1 - 3 * rate}
        SCORES.write_row(place / "scores.csv", dict.fromkeys(SCORES.columns) | known)
    return files


@pytest.fixture(scope="session")
def matrix_files(tmp_path_factory):
    """Twelve samples, six features, one with a hostile name; as files."""
    folder = tmp_path_factory.mktemp("matrix")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 4)
    X = rng.normal(size=(12, 6))
    X[:, :2] += 4 * np.eye(3)[truth][:, :2]
    X = ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1)).astype(np.float32)
    var = pd.DataFrame(
        {"relevant": [True, True, False, False, False, False]},
        index=["g1", "g2", "g3", "g4", "g5", SCRIPT],
    )
    obs = pd.DataFrame({"label": [f"class {k}" for k in truth]}, index=[f"s{i}" for i in range(12)])
    provenance = {
        "dataset": "toy",
        "source": "matrix",
        "simulated": False,
        "normalisation": "zscore",
        "dropped_constant": np.array(["h1", "h2", "h3"]),
    }
    write_normalised(folder / "normalised.h5ad", X, obs, var, provenance)
    labels = truth.astype(np.int32)
    kept = {"kmeans": 6, "l1": 5, "l0": 3}
    files = write_files(
        folder, "toy", X, labels, kept, {"kmeans": 0.3125, "l1": 0.0625, "l0": 0.125}
    )
    fits = {method: read_fit(file) for method, file in files["fits"].items()}
    GENE_TABLE.write(folder / "genes.csv", gene_table(var, fits))
    files["genes"] = folder / "genes.csv"
    return {"normalised": folder / "normalised.h5ad", **files}


@pytest.fixture(scope="session")
def matrix_result(matrix_files):
    return load_dataset_result("toy", **matrix_files)


def write_brain(folder, genes, acronyms):
    """Write a block of 6 x 5 x 4 voxels in three regions; four clusters, two of them in one region.

    Samples and the file have the name of the first gene, and genes are described by regions.
    """
    grid = np.array(list(itertools.product(range(6), range(5), range(4))))
    codes = grid[:, 0] // 2
    X = np.random.default_rng(1).normal(size=(len(grid), len(genes))).astype(np.float32)
    labels = codes + (codes == 2) * (grid[:, 1] > 2)
    regions = np.array(acronyms)[codes]
    obs = pd.DataFrame(
        {"label": regions, "region": regions, "region_id": codes + 126652054},
        index=[f"{genes[0]} voxel{i}" for i in range(len(grid))],
    ).assign(**dict(zip("xyz", grid.T + 3, strict=True)))
    names = np.resize(acronyms, len(genes))
    var = pd.DataFrame({"name": names, "entrez_id": np.arange(len(genes))}, index=genes)
    about = {"acronym": [*acronyms, "absent"], "name": [*acronyms[::-1], "not in this brain"]}
    about |= {"id": np.arange(4), "color": ["A84D10", "ED985C", "EE5DFF", "000000"]}
    provenance = {
        "dataset": "E11.5",
        "source": "phantom",
        "simulated": True,
        "file": f"{genes[0]}.csv",
        "settings": {"tissue": np.array(["brain"])},
        "counts": {"voxels": {"brain": 120, "ventricle": 17, "tract": 0}},
        "n_genes_dropped_missing": 4,
    }
    obsm, uns = {"spatial": (grid + 3) * [0.1, 0.2, 0.3]}, {"regions": pd.DataFrame(about)}
    write_normalised(folder / "normalised.h5ad", X, obs, var, provenance, obsm=obsm, uns=uns)
    kept = {"kmeans": len(genes), "l1": 6, "l0": 4}
    rates = dict.fromkeys(METHODS, 0.05)
    files = write_files(folder, "E11.5", X, labels.astype(np.int32), kept, rates)
    fits = {method: read_fit(file) for method, file in files["fits"].items()}
    GENE_TABLE.write(folder / "genes.csv", gene_table(var, fits, is_atlas=True))
    return {"normalised": folder / "normalised.h5ad", **files, "genes": folder / "genes.csv"}


@pytest.fixture(scope="session")
def load_brain():
    """The function that writes and loads the results of a little brain."""
    return lambda *names: load_dataset_result("E11.5", **write_brain(*names))


@pytest.fixture(scope="session")
def brain_result(tmp_path_factory, load_brain):
    return load_brain(tmp_path_factory.mktemp("brain"), [f"Inv{j}" for j in range(8)], REGIONS)


@pytest.fixture
def page_of(tmp_path):
    """Write the report on results; give its HTML and its parts."""

    def write(*results, **options):
        file = tmp_path / "report.html"
        write_report(results, file, **options)
        return (html := file.read_text(encoding="utf-8")), Page(html)

    return write


@pytest.fixture
def examined(page_of, examine_page, tmp_path):
    """Look at the report on results with a browser."""

    def examine(*results):
        page_of(*results)
        page = examine_page(tmp_path / "report.html", 1200)
        assert page["errors"] == []
        return page

    return examine


@pytest.fixture(scope="session")
def report(tmp_path_factory, brain_result, matrix_result):
    """The report on both, and the folder of its figures."""
    folder = tmp_path_factory.mktemp("report")
    write_report(
        [brain_result, matrix_result],
        folder / "report.html",
        title="A title with <angles> & more",
        configuration={"seed": 2718, "note": SCRIPT},
        figures=folder / "figures",
    )
    return Path(folder)
