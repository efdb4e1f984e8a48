"""The page of two data sets: its sections, numbers, names and figures, also in a browser."""

import csv
import dataclasses
import io
import json
import re

import numpy as np
import pytest
from html_page import Page
from sound_files import ATTRIBUTES
from written_files import save_fit, save_matrix

from sparsekm.annotation.gene_table import GENE_TABLE
from sparsekm.reporting.figures import draw_figures
from sparsekm.reporting.report import load_dataset_result, write_report

pytestmark = pytest.mark.xdist_group("report")


@pytest.fixture(scope="module")
def html(report):
    return (report / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_every_section_is_present_and_every_link_inside_leads_somewhere(page):
    identifiers = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    sections = {"run", "results", "methods"}
    assert identifiers >= sections | {"dataset-E11.5", "dataset-toy"}
    targets = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    inside = {target.removeprefix("#") for target in targets if target.startswith("#")}
    assert inside <= identifiers
    assert {"dataset-E11.5", "dataset-toy"} <= inside


def test_numbers_of_the_tables_are_those_of_the_files(page):
    heads = ["method", "agreement with the result", "agreement over seeds", "kept", "CER"]
    compared = [table[1:] for table in page.tables if table[0][:5] == heads][1]
    assert [row[3:] for row in compared] == [
        ["3", "0.1250", "0.5000", "0.7500", "0.6250"],
        ["6", "0.3125", "0.5000", "0.3750", "0.0625"],
        ["5", "0.0625", "0.5000", "0.8750", "0.8125"],
    ]
    every = next(table for table in page.tables if table[0][:2] == ["data set", "method"])
    assert [row[:2] + row[4:6] for row in every[1:]] == [
        ["E11.5simulated", "ℓ₀-k-means", "4", "0.0500"],
        ["E11.5simulated", "k-means", "8", "0.0500"],
        ["E11.5simulated", "ℓ₁-k-means", "6", "0.0500"],
        ["toy", "ℓ₀-k-means", "3", "0.1250"],
        ["toy", "k-means", "6", "0.3125"],
        ["toy", "ℓ₁-k-means", "5", "0.0625"],
    ]
    assert page.rows(["", "E11.5"])["number of voxels"] == ["120"]
    assert page.rows(["", "E11.5"])["voxels excluded: ventricle"] == ["17"]
    assert page.rows(["", "toy"])["features dropped: constant"] == ["3"]


def test_a_page_of_many_data_sets_shows_one_and_names_others(brain_result, page_of, monkeypatch):
    figures = draw_figures(brain_result)
    monkeypatch.setattr("sparsekm.reporting.report.draw_figures", lambda *about: figures)
    names = ["E11.5", "E13.5", "E15.5", "E18.5", "P4", "P14", "P28"]
    _, page = page_of(*(dataclasses.replace(brain_result, name=name) for name in names))
    assert len(page.shown.split()) <= 1200
    rows = page.rows(["data set", "samples", "clusters"])
    assert rows == {name: ["120", "4", "4 of 8", "0.0500", "0.9000"] for name in names}
    lead = "4 clusters of 120 simulated voxels, found by ℓ₀-k-means in 8 genes."
    assert page.shown.count(lead) == 7
    assert page.shown.count("Download the cluster of each of the voxels") == 1
    assert page.text.count("Download the cluster of each of the voxels") == 7


def test_gene_table_of_the_page_is_that_of_the_file(html, page, matrix_files):
    genes = GENE_TABLE.read(matrix_files["genes"])
    scripts = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    data, samples = map(json.loads, scripts[-2:])
    assert [row[0] for row in data["rows"]] == genes["symbol"].tolist()
    assert data["columns"][data["fields"].index("score_l0")] == "score"
    # What is not shown can still be searched and downloaded.
    assert data["fields"] == genes.columns.tolist()
    assert samples["rows"][4] == ["s4", 1, "class 1"]
    assert len(samples["rows"]) == 12


def test_page_loads_nothing_from_elsewhere(html, page):
    for tag, attrs in page.tags:
        for name in ("src", "srcset", "data", "action", "poster"):
            assert attrs.get(name, "data:").startswith("data:"), (tag, attrs)
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        if "href" in attrs:
            assert tag == "a"
            known = ("#", "https://doi.org/10.", "E11.5/", "toy/", "figures/")
            assert attrs["href"].startswith(known)
    # Parts of a picture of the page refer to others of it.
    assert set(re.findall(r"url\((.)", html)) == {"#"}
    assert "@import" not in html


def test_the_run_is_described_and_simulated_data_are_called_so_and_others_not(page):
    assert "4 clusters of 120 simulated voxels" in page.text
    assert page.text.count("Simulated data. ") == 4
    assert "3 clusters of 12 samples" in page.text
    for words in ("sparsekm 9.8.7", "2718", "seed: 2718", "the largest gap"):
        assert words in page.text
    assert "Smallest cluster allowed: 3." in page.text
    # References have a DOI and are cited by number.
    assert "doi:10.1198/jasa.2010.tm09415" in page.text
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", page.text)}
    assert cited == set(range(1, page.text.count("doi:10.") + 1))


def test_figures_are_on_the_page_and_in_the_folder(page, report):
    images = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    # That of samples is an element of the page.
    assert len(images) == 6
    assert sum(tag == "svg" for tag, _ in page.tags) == 1
    assert all(source.startswith("data:image/svg+xml;base64,") for source in images)
    drawn = {
        "E11.5": ("answer", "expression", "gap", "slices"),
        "toy": ("answer", "gap", "samples"),
    }
    names = {f"{name}_{figure}" for name, figures in drawn.items() for figure in figures}
    files = [*(report / "figures").iterdir()]
    assert {file.stem for file in files} == names
    assert {file.suffix for file in files} == {".pdf", ".png", ".svg"}
    assert len(files) == 3 * len(names)
    # No label shows the marks of a formula.
    shown = "\n".join(file.read_text() for file in (report / "figures").glob("*.svg"))
    assert "gap: log objective" in shown
    # Outlines have their text beside them, as a comment; only numbers along axes are formulas.
    labels = [text for text in re.findall("<!-- (.*) -->", shown) if "mathdefault" not in text]
    assert [text for text in labels if "$" in text] == []


def test_bare_result_of_one_method_without_labels_or_tuning_is_reported(page_of, matrix_result):
    kmeans = matrix_result.methods["kmeans"]
    bare = dataclasses.replace(
        matrix_result,
        obs=matrix_result.obs.drop(columns="label"),
        var=matrix_result.var.drop(columns="relevant"),
        provenance={},
        genes=matrix_result.genes.drop(columns=["relevant", "verdict"]),
        methods={"kmeans": dataclasses.replace(kmeans, rates={}, attributes={})},
    )
    _, page = page_of(bare)
    assert page.rows(["method"])["k-means"] == ["the result", "–", "6"]
    assert "simulated" not in page.text.lower()


@pytest.fixture(scope="module")
def found(examine_page, report):
    return examine_page(report / "report.html")


def test_every_section_is_rendered_and_every_figure_has_loaded(found):
    names = ["results", "dataset-E11.5", "dataset-toy", "run", "methods", "reading"]
    assert [name for name, *_ in found["sections"]] == names
    assert all(height > 40 and letters > 20 for _, height, letters in found["sections"])
    assert (len(found["images"]), len(found["pictures"])) == (6, 1)
    assert all(shown > 100 for shown in found["pictures"])
    assert all(natural > 100 and shown > 100 for _, natural, shown in found["images"])


def test_search_finds_and_a_click_on_a_title_sorts(found):
    for browser, n_rows in zip(found["browsers"], (8, 6, 12), strict=True):
        assert browser["all"] == f"{n_rows} of {n_rows}"
        assert browser["some"] == f"1 of {n_rows}"
        assert browser["none"] == f"0 of {n_rows}"
        assert browser["lowest"] < browser["highest"]


def test_nothing_fails_or_is_wider_than_the_window_and_links_unfold_what_they_lead_to(found):
    assert found["errors"] == found["console"] == found["links"] == []
    assert found["unfolded"] == {"dataset-E11.5": True, "dataset-toy": True}
    assert found["width"] <= 1200
    assert found["navigation"] <= 0
    assert found["wideTables"] == []


def test_captions_fit_a_narrow_window_though_their_tables_are_scrolled(examine_page, report):
    found = examine_page(report / "report.html", 500)
    assert found["width"] <= 500
    assert found["wideCaptions"] == []


def test_the_table_of_genes_can_be_downloaded_whole(found, matrix_files):
    assert set(found["downloads"]) == {"E11.5_genes.csv", "toy_genes.csv", "toy_clusters.csv"}
    given = found["downloads"]["toy_genes.csv"].removeprefix("\ufeff")
    rows = list(csv.reader(io.StringIO(given, newline="")))
    own = list(csv.reader(io.StringIO(matrix_files["genes"].read_text(encoding="utf-8"))))
    assert rows[0] == own[0]
    assert [row[0] for row in rows] == [row[0] for row in own]


def test_500_samples_of_20_000_features_make_a_page_of_at_most_3_mb(tmp_path):
    rng = np.random.default_rng(0)
    n_samples, n_features, n_kept = 500, 20_000, 900
    labels = rng.integers(4, size=n_samples)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    X[:, :n_kept] += 2 * labels[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    classes = np.array(["basal", "luminal A", "luminal B", "her2"])[labels]
    file = save_matrix(
        tmp_path / "normalised.h5ad",
        X,
        {"label": classes},
        about={"source": "matrix", "normalisation": "zscore"},
    )
    kept = np.arange(n_features) < n_kept
    sparse = {"reproducibility": rng.random(n_samples), "selection_frequency": kept.astype(float)}
    sparse["partitions"] = np.array([labels] * 50).astype(np.int16)
    fits = {}
    for method in ("kmeans", "l1", "l0", "sparse"):
        weights = kept.astype(float) if method != "kmeans" else np.ones(n_features)
        more = sparse if method == "sparse" else {}
        about = {**ATTRIBUTES, "method": method}
        fits[method] = save_fit(tmp_path / f"{method}.h5", X, labels, weights, about, **more)
    result = load_dataset_result("mine", file, fits=fits)
    assert len(result.genes) == n_features
    write_report([result], tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 3e6
