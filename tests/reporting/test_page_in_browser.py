"""The page as a browser shows it: headless Chromium opens it, reads it, and uses it."""

import csv
import io

import pytest

# What the tests look at is made once in each process.
pytestmark = pytest.mark.xdist_group("report")


@pytest.fixture(scope="module")
def found(examine_page, report):
    return examine_page(report / "report.html")


def test_every_section_is_rendered_and_every_figure_has_loaded(found):
    assert [name for name, *_ in found["sections"]] == [
        "results", "dataset-E11.5", "dataset-toy", "run", "methods", "references"
    ]  # fmt: skip
    assert all(height > 40 and letters > 20 for _, height, letters in found["sections"])
    assert len(found["images"]) == 4
    assert len(found["pictures"]) == 2
    assert all(shown > 100 for shown in found["pictures"])
    assert all(natural > 100 and shown > 100 for _, natural, shown in found["images"])
    assert found["links"] == []


def test_search_finds_and_a_click_on_a_title_sorts(found):
    for browser, n_rows in zip(found["browsers"], (8, 6, 12), strict=True):
        assert browser["all"] == f"{n_rows} of {n_rows}"
        assert browser["some"] == f"1 of {n_rows}"
        assert browser["none"] == f"0 of {n_rows}"
        assert browser["lowest"] < browser["highest"]


def test_nothing_fails_or_is_wider_than_the_window(found):
    assert found["errors"] == found["console"] == []
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


def test_a_data_set_that_is_folded_away_is_opened_by_a_link(found):
    assert found["unfolded"] == {"dataset-E11.5": True, "dataset-toy": True}
