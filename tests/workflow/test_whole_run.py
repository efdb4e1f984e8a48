"""One run of the real workflow: from an atlas age's archives and two matrices to the report."""

import zipfile

import anndata
import numpy as np
import openpyxl
import pytest
from benchmarks.workflow_jobs import benchmark
from html_page import Page
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from small_project import CONFIGURATION

from sparsekm.annotation.clusters import OVERLAP
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import GENE_TABLE
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.store import read_fit, read_path
from sparsekm.io.tables import CANDIDATES, CLUSTERS, GAP, SCORES, SEEDS, SEPARATION
from sparsekm.pipeline.problem import define_problem, refit
from sparsekm.pipeline.workflow_files import read_patterns, recorded_files

pytestmark = pytest.mark.xdist_group("workflow")

METHODS = ("kmeans", "l1", "l0", "sparse")


@pytest.fixture
def results(finished):
    return finished.root / "results"


@pytest.fixture
def normalised(finished):
    """Give the function that names the normalised matrix of a data set."""
    return lambda dataset: finished.root / "data" / dataset / "normalised.h5ad"


def test_progress_counts_the_jobs_and_each_tells_what_it_took(finished):
    assert "of 83 steps (100%) done" in finished.told
    costs = benchmark(finished.root / "logs").set_index("rule")
    # All steps but the last, which only asks for the others.
    assert costs["jobs"].sum() == 82
    assert costs.loc["cluster_path", "jobs"] == 9
    # Of megabytes there are more than the interpreter's own, and fewer than any job asks for.
    assert costs["peak_mb"].between(20, 700).all()
    # A job that only collects takes less than is told.
    assert costs["cpu"].min() >= 0
    assert costs["cpu"].sum() > 1


def test_every_artifact_is_there_and_nothing_is_half_written(finished, results, normalised):
    of_methods = {
        "kmeans l1 l0": "path.h5",
        "l1 l0": "gap.csv references/0.h5",
        "l1 l0 sparse": "stability.csv",
        "sparse": "candidates.csv separation.csv numbers.csv divisions.csv",
        "kmeans l1 l0 sparse": "chosen.h5 tuned.h5 scores.csv seeds.csv",
    }
    files = {
        f"{method}/{name}"
        for methods, names in of_methods.items()
        for method in methods.split()
        for name in names.split()
    }
    files |= {"genes.csv", "enrichment.csv", "contingency.csv", "kept.gct", "kept.cls"}
    files |= {"clusters.csv", "clusters.h5ad", "clusters.xlsx", "ranked.zip"}
    for dataset in ("E11.5", "tumours", "cells"):
        assert normalised(dataset).is_file()
        made = {str(f.relative_to(results / dataset)) for f in (results / dataset).rglob("*.*")}
        assert made == files | ({"choices.csv"} if dataset != "E11.5" else set())
    assert not list(finished.root.glob("**/*partial*"))


def test_whatever_a_run_makes_is_known_to_be_made(finished, project_root, monkeypatch):
    monkeypatch.syspath_prepend(project_root / "scripts")
    monkeypatch.chdir(finished.root)
    from remove_made import list_made

    made, recorded = list_made(), recorded_files(finished.root)
    patterns = read_patterns((project_root / "workflow" / "rules").glob("*.smk"))
    found = [
        path.relative_to(finished.root).as_posix()
        for folder in ("data", "results", "logs")
        for path in (finished.root / folder).rglob("*")
        if path.is_file() and "data/paper/" not in path.as_posix()
    ]
    assert len(found) > 100
    assert [file for file in found if file not in made] == []
    # What the command looks for before it overwrites anything.
    there = [file for file in recorded if (finished.root / file).exists()]
    assert [file for file in there if not patterns.fullmatch(file)] == []


def test_the_report_stands_alone_and_tells_of_every_data_set_and_method(results):
    page = (results / "report.html").read_text(encoding="utf-8")
    for word in ("E11.5", "simulated", "tumours", "cells", "k-means", "5 references"):
        assert word in page
    assert 'src="http' not in page
    # Not folded away.
    assert 300 < len(Page(page).shown.split()) <= 1200


def test_an_age_becomes_a_data_set_whose_classes_are_its_regions(finished, results, normalised):
    raw = anndata.read_h5ad(finished.root / "data" / "E11.5" / "expression.h5ad")
    data = anndata.read_h5ad(normalised("E11.5"))
    assert np.isnan(raw.X).any()
    assert data.n_vars < raw.n_vars
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(data.X.std(axis=0, ddof=1), 1, rtol=1e-4)
    assert data.obs["label"].astype(str).tolist() == data.obs["region"].astype(str).tolist()
    scores = SCORES.read_row(results / "E11.5" / "l0" / "scores.csv")
    regions = data.uns["regions"]
    assert scores["n_clusters"] == len(regions) == data.obs["label"].nunique() >= 15
    assert scores["n_features"] == data.n_vars
    assert 0 < scores["cer"] < 0.5
    assert 0 < scores["ari"] < 1
    assert data.var["relevant"].sum() > 10
    assert data.uns["provenance"]["simulated"]
    assert data.uns["provenance"]["n_genes_dropped_constant"] == 1
    assert len(data.uns["dropped_genes"]) == raw.n_vars - data.n_vars


def test_fits_from_other_seeds_begin_with_the_one_that_is_shown(results):
    for method in METHODS:
        folder = results / "E11.5" / method
        scores, seeds = SCORES.read_row(folder / "scores.csv"), SEEDS.read(folder / "seeds.csv")
        # Of a consensus, which is not the answer on the atlas, there is one.
        assert sorted(seeds["seed"]) == ([0] if method == "sparse" else [0, 1])
        assert seeds["objective"][0] == seeds["objective"].max() or method == "sparse"
        for name in ("objective", "n_nonzero_weights", "cer", "cer_chance", "ari", "ami"):
            assert seeds[name][0] == scores[name]
        assert seeds["n_kept_too"][0] == scores["n_nonzero_weights"] >= seeds["n_kept_too"].iloc[-1]
        # The tiny search ends elsewhere from another seed.
        assert seeds["agreement"][0] == 1
        assert (seeds["agreement"][1:] < 1).all()
    assert [*SEEDS.read(results / "tumours" / "sparse" / "seeds.csv")["seed"]] == [0, 1]
    cells = SEEDS.read(results / "cells" / "l0" / "seeds.csv")
    assert cells["cer"].isna().all()
    assert cells["agreement"].notna().all()


@pytest.mark.parametrize(("dataset", "method"), [("E11.5", "l0"), ("tumours", "sparse")])
def test_the_second_of_them_is_scored_as_scikit_learn_does(results, normalised, dataset, method):
    folder = results / dataset / method
    shown, chosen = (read_fit(folder / f"{name}.h5") for name in ("tuned", "chosen"))
    row = SEEDS.read(folder / "seeds.csv").iloc[1]
    settings = {"seed": CONFIGURATION["seed"], "n_clusters": shown.attributes["n_clusters"]}
    search = {name: CONFIGURATION[name] for name in ("min_cluster_size", "search", "n_init")}
    grid = {} if method == "sparse" else {"sparsities": [shown.sparsity]}
    settings |= {"search": search, "grid": grid, "code_digest": ""}
    problem = define_problem(normalised(dataset), dataset, method, **settings)
    assert chosen.sparsity == shown.sparsity
    fit = refit(problem, chosen, 1) if row["seed"] else chosen
    labels, classes = fit.labels, read_normalised(normalised(dataset), values=False).about.labels
    assert row["agreement"] == pytest.approx(adjusted_rand_score(shown.labels, labels))
    assert row["ari"] == pytest.approx(adjusted_rand_score(classes, labels))
    assert row["ami"] == pytest.approx(adjusted_mutual_info_score(classes, labels))
    assert row["objective"] == fit.objective
    kept = fit.weights != 0
    assert row["n_nonzero_weights"] == kept.sum()
    assert row["n_kept_too"] == (kept & (shown.weights != 0)).sum()


def test_the_planted_clusters_and_features_are_found(results):
    known = SCORES.read_row(results / "tumours" / "l0" / "scores.csv")
    assert known[["cer", "ari", "ami", "ecr"]].tolist() == [0, 1, 1, 0]
    assert np.isnan(known["pzw"])
    # Two classes of 12: by chance 132 of 276 pairs are together in each partition.
    assert known["cer_chance"] == pytest.approx(2 * (132 / 276) * (144 / 276))
    unknown = SCORES.read_row(results / "cells" / "l0" / "scores.csv")
    assert np.isnan(unknown["cer"])
    assert unknown["pnw"] >= 3
    assert unknown["n_clusters"] == 2


def test_the_tuned_fit_is_the_paths_own_at_the_chosen_sparsity(results):
    folder = results / "tumours" / "l0"
    gap, fit = GAP.read(folder / "gap.csv"), read_fit(folder / "tuned.h5")
    path, about = read_path(folder / "path.h5")
    # A quarter of the twelve features are three.
    assert gap["sparsity"].tolist() == [3, 6, 12]
    assert fit.sparsity == gap.loc[gap["gap"].idxmax(), "sparsity"]
    at = path.sparsities.tolist().index(fit.sparsity)
    np.testing.assert_array_equal(fit.labels, path.labels[at])
    assert fit.objective == pytest.approx((fit.weights * fit.scores).sum())
    assert about["parameters"]["n_init"] == 2
    assert fit.attributes["rule"] == "auto"
    assert f"keeps {fit.sparsity:.0f} of 12 features" in fit.conclusion
    assert fit.attributes["n_references"] == 5


def test_the_genes_of_an_age_are_annotated(results, normalised):
    genes = GENE_TABLE.read(results / "E11.5" / "genes.csv")
    assert sorted(genes["symbol"]) == sorted(anndata.read_h5ad(normalised("E11.5")).var_names)
    for method in ("l0", "l1"):
        halves = genes[f"stability_{method}"] * 2
        # Two subsamples.
        assert set(halves) <= {0, 1, 2}
        kept = genes[f"weight_{method}"] != 0
        assert halves[kept].mean() > halves[~kept].mean()
    markers = genes[genes["relevant"].astype(str) == "True"]
    # A marker is highest where it was planted, or where that spills over.
    found = [row.highest_label in row.planted_regions.split(";") for row in markers.itertuples()]
    assert np.mean(found) > 0.8
    assert markers["terms"].str.contains("invented pattern").mean() > 0.5
    terms = ENRICHMENT.read(results / "E11.5" / "enrichment.csv").set_index(["group", "name"])
    pattern = terms.loc[("kept", "invented pattern of regions")]
    assert pattern["n_analysed"] == len(genes)
    assert pattern["p_value"] < terms.loc[("kept", "invented control"), "p_value"]


def test_a_matrix_that_the_gene_sets_say_nothing_of_has_no_terms_but_clusters(results):
    assert len(ENRICHMENT.read(results / "tumours" / "enrichment.csv")) == 0
    overlap = OVERLAP.read(results / "tumours" / "contingency.csv")
    best = overlap[overlap["is_best"] & (overlap["method"] == "l0")]
    assert sorted(best["label"]) == ["a", "b"]
    assert (best["share_of_cluster"] == 1).all()
    assert len(OVERLAP.read(results / "cells" / "contingency.csv")) == 0


@pytest.mark.release
def test_snakemakes_own_report_can_be_made_and_has_the_captions(finished):
    finished.run("--report", "snakemake_report.zip")
    with zipfile.ZipFile(finished.root / "snakemake_report.zip") as archive:
        names = [name for name in archive.namelist() if name.endswith((".html", ".js"))]
        text = "".join(archive.read(name).decode("utf-8", "replace") for name in names)
    assert "Terms tested for over-representation" in text
    assert "no other file" in text
    # Of a table that a run of one age does not have.
    assert "number of ages at which" not in text


def test_table_and_anndata_hold_the_tuned_fits(results, normalised):
    table = CLUSTERS.read(results / "E11.5" / "clusters.csv")
    found = anndata.read_h5ad(results / "E11.5" / "clusters.h5ad")
    np.testing.assert_array_equal(found.X, read_normalised(normalised("E11.5")).X)
    assert table["sample"].tolist() == found.obs_names.tolist()
    for method in METHODS:
        fit = read_fit(results / "E11.5" / method / "tuned.h5")
        for clusters in (table[f"cluster_{method}"], found.obs[f"cluster_{method}"]):
            assert clusters.astype(int).tolist() == fit.labels.tolist()
        np.testing.assert_array_equal(found.var[f"weight_{method}"], fit.weights)
        assert found.uns["sparsekm"][method]["sparsity"] == fit.sparsity


def test_the_workbook_begins_with_what_was_found(results):
    book = openpyxl.load_workbook(results / "tumours" / "clusters.xlsx")
    assert book.sheetnames == ["found", "samples", "features", "settings"]
    fit = read_fit(results / "tumours" / "sparse" / "tuned.h5")
    assert [cell.value for cell in book["found"]["A"]] == ["what was found", fit.conclusion]


def test_without_known_classes_only_the_error_rates_are_missing(results):
    assert set(CLUSTERS.read(results / "cells" / "clusters.csv")["label"]) == {""}
    assert "label" not in anndata.read_h5ad(results / "cells" / "clusters.h5ad").obs
    rates = ["cer", "cer_chance", "ari", "ami", "ecr"]
    for method in METHODS:
        scores = SCORES.read_row(results / "cells" / method / "scores.csv")
        assert scores[rates].isna().all()
        assert scores.drop(rates).notna().all()


def test_what_is_shown_of_a_fit_belongs_to_it(results, normalised):
    folder, data = results / "E11.5" / "sparse", read_normalised(normalised("E11.5"))
    fit = read_fit(folder / "tuned.h5")
    means = [data.X[fit.labels == k].mean(axis=0) for k in range(int(fit.labels.max()) + 1)]
    np.testing.assert_allclose(fit.centers, means, atol=1e-5)
    assert np.isfinite(fit.reproducibility).all()
    assert fit.selection_frequency.shape == fit.weights.shape
    assert (fit.signature is None) == (fit.signature_agreement < 0.5)
    candidates = CANDIDATES.read(folder / "candidates.csv")
    assert candidates["start"].is_unique
    n_features = candidates["n_features"][candidates["chosen"]].item()
    assert n_features == np.count_nonzero(fit.weights)
    pairs = SEPARATION.read(folder / "separation.csv")
    assert fit.has_clusters == (pairs["p_adjusted"] <= 0.05).any()


def test_nothing_fails_in_a_browser_and_every_section_is_rendered(examine_page, results):
    found = examine_page(results / "report.html")
    assert found["errors"] == found["console"] == found["links"] == found["wideTables"] == []
    names = {name for name, *_ in found["sections"]}
    assert names > {"run", "methods"} | {
        f"dataset-{name}" for name in ("E11.5", "tumours", "cells")
    }
    assert all(height > 40 and letters > 20 for _, height, letters in found["sections"])
    assert all(natural > 100 and shown > 100 for _, natural, shown in found["images"])
    assert found["width"] <= 1200
