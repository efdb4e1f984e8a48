import dataclasses
import json
import re

import pandas as pd
import pytest
import yaml
from html_page import Page

from sparsekm.annotation.gene_table import GENE_TABLE
from sparsekm.io.tables import SEPARATION
from sparsekm.pipeline.normalisation import NORMALISATIONS
from sparsekm.reporting.figures import draw_figures
from sparsekm.reporting.methods_text import WORDS, Citations, write_methods
from sparsekm.reporting.report import write_report

# What the tests look at is made once in each process.
pytestmark = pytest.mark.xdist_group("report")

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def html(report):
    return (report / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_every_section_is_present_and_every_link_inside_leads_somewhere(page):
    identifiers = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    sections = {"run", "results", "methods", "references"}
    assert identifiers >= sections | {"dataset-E11.5", "dataset-toy"}
    targets = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    inside = {target.removeprefix("#") for target in targets if target.startswith("#")}
    assert inside <= identifiers
    assert {"dataset-E11.5", "dataset-toy"} <= inside


def test_numbers_of_the_tables_are_those_of_the_files(page):
    heads = ["method", "agreement with the answer", "agreement over seeds", "kept", "CER"]
    compared = [table[1:] for table in page.tables if table[0][:5] == heads][1]
    assert [row[3:] for row in compared] == [
        ["3", "0.1250", "0.5000", "0.7500", "0.6250"],
        ["6", "0.3125", "0.5000", "0.3750", "0.0625"],
        ["5", "0.0625", "0.5000", "0.8750", "0.8125"],
    ]
    assert page.rows(["method", "E11.5simulated", "toy"]) == {
        "k-means": ["0.0500", "0.3125"],
        "ℓ₁-k-means": ["0.0500", "0.0625"],
        "ℓ₀-k-means": ["0.0500", "0.1250"],
    }
    kept = [table for table in page.tables if table[0][:2] == ["method", "E11.5simulated"]][-1]
    assert [row[1:] for row in kept[1:]] == [["8", "6"], ["6", "5"], ["4", "3"]]
    assert page.rows(["", "E11.5"])["number of voxels"] == ["120"]
    assert page.rows(["", "E11.5"])["voxels excluded: ventricle"] == ["17"]
    assert page.rows(["", "toy"])["features dropped: constant"] == ["3"]


def test_a_page_of_many_data_sets_shows_one_and_a_line_of_each_other(
    brain_result, tmp_path, monkeypatch
):
    figures = draw_figures(brain_result)
    monkeypatch.setattr("sparsekm.reporting.report.draw_figures", lambda *about: figures)
    names = ["E11.5", "E13.5", "E15.5", "E18.5", "P4", "P14", "P28"]
    ages = [dataclasses.replace(brain_result, name=name) for name in names]
    write_report(ages, tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert len(page.shown.split()) <= 1200
    rows = page.rows(["data set", "samples", "clusters"])
    assert rows == {name: ["120", "4", "4 of 8", "0.0500", "0.9000"] for name in names}
    lead = "4 clusters of 120 simulated voxels, found by ℓ₀-k-means in 8 genes."
    assert page.shown.count(lead) == 7
    assert page.shown.count("Take along the cluster of all voxels") == 1
    assert page.text.count("Take along the cluster of all voxels") == 7


def test_gene_table_of_the_page_is_that_of_the_file(html, page, matrix_files):
    genes = GENE_TABLE.read(matrix_files["genes"])
    scripts = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    data, samples = map(json.loads, scripts[-2:])
    assert [row[0] for row in data["rows"]] == genes["symbol"].tolist()
    assert data["columns"][data["fields"].index("score_l0")] == "score ℓ₀"
    # What is not shown can still be searched and downloaded.
    assert data["fields"] == genes.columns.tolist()
    assert samples["rows"][4] == ["s4", 1, "class 1"]
    assert len(samples["rows"]) == 12


def test_names_from_data_are_escaped(html, page):
    assert HOSTILE not in html
    assert html.count("<script>") == 1
    assert HOSTILE in page.text
    assert page.tags.count(("script", {"type": "application/json"})) == 3
    assert "A title with <angles> & more" in page.text


def test_page_loads_nothing_from_elsewhere(html, page):
    for tag, attrs in page.tags:
        for name in ("src", "srcset", "data", "action", "poster"):
            assert attrs.get(name, "data:").startswith("data:"), (tag, attrs)
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        if "href" in attrs:
            assert tag == "a"
            assert attrs["href"].startswith(
                ("#", "https://doi.org/10.", "E11.5/", "toy/", "figures/")
            )
    # Parts of a picture of the page refer to others of it.
    assert set(re.findall(r"url\((.)", html)) == {"#"}
    assert "@import" not in html


def test_the_run_is_described_and_simulated_data_are_called_so_and_others_not(page):
    assert "4 clusters of 120 simulated voxels" in page.text
    assert page.text.count("Simulated data. ") == 5
    assert "3 clusters of 12 samples" in page.text
    for words in ("sparsekm 9.8.7", "2718", "seed: 2718", "the largest gap"):
        assert words in page.text
    assert "Smallest cluster allowed: 3." in page.text


def test_references_have_a_doi_and_are_cited_by_number(page):
    text = page.text
    assert "doi:10.1198/jasa.2010.tm09415" in text
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", text)}
    assert cited == set(range(1, text.count("doi:10.") + 1))


def test_figures_are_on_the_page_and_in_the_folder(page, report):
    images = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    # Those of the answer are elements of the page.
    assert len(images) == 6
    assert sum(tag == "svg" for tag, _ in page.tags) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in images)
    assert sorted(file.name for file in (report / "figures").iterdir()) == [
        f"{dataset}_{figure}.{suffix}"
        for dataset, figures in (
            ("E11.5", ("answer", "expression", "gap", "scores", "slices")),
            ("toy", ("answer", "gap", "scores")),
        )
        for figure in figures
        for suffix in ("pdf", "png", "svg")
    ]


def test_no_label_shows_the_marks_of_a_formula(report):
    """Names are not set as formulas, so a label that is written as one would show its source."""
    figures = sorted((report / "figures").glob("*.svg"))
    shown = "\n".join(figure.read_text() for figure in figures)
    assert "score aⱼ: between-cluster" in shown
    # Outlines have their text beside them, as a comment; only numbers along axes are formulas.
    labels = [text for text in re.findall("<!-- (.*) -->", shown) if "mathdefault" not in text]
    assert [text for text in labels if "$" in text] == []


def test_same_results_give_the_same_figures(matrix_result):
    first, second = draw_figures(matrix_result), draw_figures(matrix_result)
    assert [figure.svg for figure in first] == [figure.svg for figure in second]


def test_bare_result_of_one_method_without_labels_or_tuning_is_reported(tmp_path, matrix_result):
    bare = dataclasses.replace(
        matrix_result,
        obs=matrix_result.obs.drop(columns="label"),
        var=matrix_result.var.drop(columns="relevant"),
        provenance={},
        genes=matrix_result.genes.drop(columns=["relevant", "verdict"]),
        methods={
            "kmeans": dataclasses.replace(
                matrix_result.methods["kmeans"], metrics={}, attributes={}
            )
        },
    )
    write_report([bare], tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.rows(["method"])["k-means"] == ["the answer", "–", "6"]
    assert "simulated" not in page.text.lower()


@pytest.mark.parametrize("count", [0, 2])
def test_no_data_set_or_one_twice_is_refused(tmp_path, matrix_result, count):
    with pytest.raises(ValueError, match="each name once"):
        write_report([matrix_result] * count, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_methods_name_the_normalisation_of_each_data_set_and_own_up_to_region_means(
    matrix_result, brain_result
):
    settings = {
        "fill": "region_mean",
        "max_missing_per_gene": 0.3,
        "max_missing_per_voxel": 0.2,
        "scale": "z-score, ddof = 1",
        "transform": "log2",
    }
    filled = dataclasses.replace(
        brain_result, provenance={**brain_result.provenance, "normalisation": settings}
    )
    text = " ".join(write_methods([filled, matrix_result], Citations()))
    assert (
        "Normalisation of E11.5: genes of which 30% or more of the values are missing are dropped; "
        "voxels of which 20% or more of the values are missing are dropped; energies x become "
        "log₂(1 + x); missing values become the mean of their gene in their region; every gene has "
        "mean 0 and standard deviation 1 (ddof = 1), constant genes are dropped."
    ) in text
    assert "Normalisation of toy: every feature has mean 0" in text
    assert "which uses the labels" in text
    assert "which uses the labels" not in " ".join(write_methods([matrix_result], Citations()))


def test_methods_describe_how_counts_were_normalised_and_filtered(matrix_result):
    about = {"normalisation": "counts", "n_features_read": 20_000, "n_features_filtered": 18_000}
    counted = dataclasses.replace(matrix_result, provenance=matrix_result.provenance | about)
    text = " ".join(write_methods([counted], Citations()))
    assert "Normalisation of toy: counts divided by the total of their sample" in text
    assert "Of the 20,000 features of toy, the 2,000 whose log-transformed counts vary most" in text


def test_only_sparse_methods_are_said_to_run_the_papers_algorithm(matrix_result):
    plain = {"kmeans": matrix_result.methods["kmeans"]}
    for methods, is_said in ((plain, False), (matrix_result.methods, True)):
        result = dataclasses.replace(matrix_result, methods=methods)
        assert ("Algorithm 1" in " ".join(write_methods([result], Citations()))) == is_said


def test_every_normalisation_of_the_configuration_is_described(project_root):
    schema = (project_root / "workflow/schemas/config.schema.yaml").read_text(encoding="utf-8")
    atlas = yaml.safe_load(schema)["properties"]["atlas"]["properties"]
    for step, setting in atlas["normalisation"]["properties"].items():
        assert set(WORDS["atlas_steps"][step]) == set(setting["enum"])
    assert set(WORDS["screened"]) == set(atlas["quality_control"]["properties"])
    assert set(WORDS["normalisations"]) == set(NORMALISATIONS)


def test_methods_describe_the_test_for_clusters_and_the_choice_of_their_number(matrix_result):
    separation = pd.DataFrame(columns=list(SEPARATION.columns))
    tested = dataclasses.replace(matrix_result.methods["l0"], name="sparse", separation=separation)
    counts = pd.DataFrame({"n_clusters": [2, 3, 4]})
    told = dataclasses.replace(matrix_result, methods={"sparse": tested}, counts=counts)
    text = " ".join(write_methods([told], Citations()))
    assert "Which clusters of toy stand apart was tested on samples that were left out" in text
    assert "The number of clusters of toy was chosen among 2, 3 and 4: neighbouring" in text
    text = " ".join(write_methods([matrix_result], Citations()))
    assert "stand apart" not in text
    assert "The number of clusters of" not in text
