import dataclasses
import json
import re

import pytest
from html_page import Page

from sparsekm.annotation.gene_table import GENE_TABLE
from sparsekm.reporting.figures import draw_figures
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.methods_text import write_methods
from sparsekm.reporting.report import write_report
from sparsekm.reporting.run_facts import run_table

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
    sections = {"summary", "run", "data", "results", "methods", "references"}
    assert identifiers >= sections | {"dataset-E11.5", "dataset-toy"}
    targets = {attrs["href"] for tag, attrs in page.tags if tag == "a"}
    inside = {target.removeprefix("#") for target in targets if target.startswith("#")}
    assert inside <= identifiers
    assert {"dataset-E11.5", "dataset-toy"} <= inside


def test_numbers_of_the_tables_are_those_of_the_files(page):
    assert page.rows(["method", "E11.5simulated", "toy"]) == {
        "k-means": ["0.0500", "0.3125"],
        "ℓ₁-k-means": ["0.0500", "0.0625"],
        "ℓ₀-k-means": ["0.0500", "0.1250"],
    }
    ari, nw = (page.tables[[t[0][0] for t in page.tables].index("method") + at] for at in (1, 2))
    assert ari[1:] == [
        ["k-means", "0.9000", "0.3750"],
        ["ℓ₁-k-means", "0.9000", "0.8750"],
        ["ℓ₀-k-means", "0.9000", "0.7500"],
    ]
    assert nw[1:] == [
        ["k-means", "8", "6"],
        ["ℓ₁-k-means", "6", "5"],
        ["ℓ₀-k-means", "4", "3"],
    ]
    assert page.rows(["", "E11.5"])["number of voxels"] == ["120"]
    assert page.rows(["", "E11.5"])["voxels excluded: ventricle"] == ["17"]
    assert page.rows(["", "toy"])["features dropped: constant"] == ["3"]


def test_numbers_of_one_fit_say_that_they_have_no_error(html):
    captions = re.findall(r"<caption>(.*?)</caption>", html, flags=re.DOTALL)
    for start in ("CER: classification", "ARI: adjusted", "NW: number of", "highest-ranked"):
        (caption, *_) = [caption for caption in captions if start in caption]
        assert "standard error" in caption, start


def test_gene_table_of_the_page_is_that_of_the_file(html, page, matrix_files):
    genes = GENE_TABLE.read(matrix_files["genes"])
    shown = [t for t in page.tables if t[0][0] == "symbol"][-1]
    assert [row[0] for row in shown[1:]] == genes["symbol"].tolist()
    column = shown[0].index("score ℓ₀")
    assert [row[column] for row in shown[1:]] == [f"{value:.3g}" for value in genes["score_l0"]]
    scripts = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    data = json.loads(scripts[-1])
    assert [row[0] for row in data["rows"]] == genes["symbol"].tolist()
    assert [data["columns"][at] for at in data["shown"]] == shown[0]
    # What is not shown can still be searched and downloaded.
    assert data["fields"] == genes.columns.tolist()


def test_names_from_data_are_escaped(html, page):
    assert HOSTILE not in html
    assert html.count("<script>") == 1
    assert HOSTILE in page.text
    assert page.tags.count(("script", {"type": "application/json"})) == 2
    assert "A title with <angles> & more" in page.text


def test_page_loads_nothing_from_elsewhere(html, page):
    for tag, attrs in page.tags:
        for name in ("src", "srcset", "data", "action", "poster"):
            assert attrs.get(name, "data:").startswith("data:"), (tag, attrs)
        assert tag not in {"link", "iframe", "object", "embed", "base"}
        if "href" in attrs:
            assert tag == "a"
            assert attrs["href"].startswith(("#", "https://doi.org/10."))
    assert "url(" not in html
    assert "@import" not in html


def test_simulated_data_are_called_so_and_others_not(page):
    parts = page.text.split("Data: ")
    assert parts[1].startswith("simulated phantom")
    assert "Simulated data." in parts[1]
    assert "Simulated data." not in parts[2]
    assert parts[2].startswith("matrix given by the user")
    assert "The results for E11.5 come from simulated data." in page.text


def test_run_is_described_by_versions_seed_and_configuration(page):
    assert "sparsekm 9.8.7" in page.text
    assert "2718" in page.text
    assert "seed: 2718" in page.text
    assert "the largest gap" in page.text
    assert "Smallest cluster allowed: 3." in page.text


def test_what_decided_the_number_kept_is_said_as_the_fit_says_it(html, page):
    assert "Dropped features <b>correlate</b> in this test." in page.text
    assert "<b>correlate" not in html


def test_data_without_evidence_of_clusters_are_named(html, page):
    assert "No evidence of <i>clusters</i> in this test." in page.text
    assert "<i>clusters" not in html
    assert "No evidence of clusters was found in toy: every method returns" in page.text


def test_references_have_a_doi_and_are_cited_by_number(page):
    text = page.text
    assert "doi:10.1198/jasa.2010.tm09415" in text
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", text)}
    assert cited == set(range(1, text.count("doi:10.") + 1))


def test_figures_are_on_the_page_and_in_the_folder(page, report):
    images = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert len(images) == 9
    assert all(source.startswith("data:image/svg+xml;base64,") for source in images)
    assert sorted(file.name for file in (report / "figures").iterdir()) == [
        f"{dataset}_{figure}.{suffix}"
        for dataset, figures in (
            ("E11.5", ("expression", "gap", "markers", "scores", "slices")),
            ("toy", ("components", "gap", "markers", "scores")),
        )
        for figure in figures
        for suffix in ("pdf", "svg")
    ]


def test_no_label_shows_the_marks_of_a_formula(report):
    """Names are not set as formulas, so a label that is written as one would show its source."""
    figures = sorted((report / "figures").glob("*.svg"))
    shown = "\n".join(figure.read_text() for figure in figures)
    assert "score aⱼ: between-cluster" in shown
    # Outlines have their text beside them, as a comment; only numbers along axes are formulas.
    labels = [text for text in re.findall("<!-- (.*) -->", shown) if "mathdefault" not in text]
    assert [text for text in labels if "$" in text] == []


@pytest.mark.slow
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
    assert page.rows(["method"])["k-means"] == ["–"]
    assert "simulated" not in page.text.lower()


@pytest.mark.parametrize("count", [0, 2])
def test_no_data_set_or_one_twice_is_refused(tmp_path, matrix_result, count):
    with pytest.raises(ValueError, match="each name once"):
        write_report([matrix_result] * count, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_methods_name_the_normalisation_of_each_data_set_and_own_up_to_region_means(
    matrix_result, brain_result
):
    settings = {"fill": "region_mean", "transform": "none"}
    filled = dataclasses.replace(
        brain_result, provenance={**brain_result.provenance, "normalisation": settings}
    )
    text = " ".join(write_methods([filled, matrix_result], Citations()))
    assert "Normalisation of E11.5: fill: region mean; transform: none." in text
    assert "Normalisation of toy: every feature has mean 0" in text
    assert "which uses the labels" in text
    assert "which uses the labels" not in " ".join(write_methods([matrix_result], Citations()))


def test_methods_describe_how_counts_were_normalised_and_filtered(matrix_result):
    provenance = {
        **matrix_result.provenance,
        "normalisation": "counts",
        "n_features_read": 20_000,
        "n_features_filtered": 18_000,
    }
    citations = Citations()
    counted = dataclasses.replace(matrix_result, provenance=provenance)
    text = " ".join(write_methods([counted], citations))
    assert "Normalisation of toy: counts divided by the total of their sample" in text
    assert "Of the 20,000 features of toy, the 2,000 whose raw counts vary most" in text
    assert any("Stuart" in reference.text for reference in citations.cited)


def test_only_sparse_methods_are_said_to_run_the_papers_algorithm(matrix_result):
    plain = {"kmeans": matrix_result.methods["kmeans"]}
    for methods, is_said in ((plain, False), (matrix_result.methods, True)):
        result = dataclasses.replace(matrix_result, methods=methods)
        assert ("Algorithm 1" in " ".join(write_methods([result], Citations()))) == is_said
        assert ("search" in dict(run_table([result]))) == is_said


def test_methods_describe_a_choice_by_stability(matrix_result):
    l0 = matrix_result.methods["l0"]
    attributes = {**l0.attributes, "rule": "sparse-end", "n_splits": 7, "reference": "none"}
    chosen = dataclasses.replace(l0, gap=None, attributes=attributes)
    result = dataclasses.replace(matrix_result, methods={"l0": chosen})
    text = " ".join(write_methods([result], Citations()))
    assert "at each sparsity 7 random subsets of four fifths of the samples" in text
    assert "The choice is the sparsest of those next to the most stable partition" in text
    assert "gap statistic" not in text
