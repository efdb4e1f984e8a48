"""The report of a whole run, with every kind of section that there is, in a browser."""

import pytest
from html_page import Page

# One process for all tests on the finished project, which is made once in each.
pytestmark = pytest.mark.xdist_group("workflow")


@pytest.fixture(scope="module")
def found(examine_page, finished):
    return examine_page(finished.root / "results" / "report.html")


def test_nothing_fails_and_every_section_is_rendered(found):
    assert found["errors"] == []
    assert found["console"] == []
    names = [name for name, *_ in found["sections"]]
    assert {"run", "results", "methods", "references"} < set(names)
    assert {"dataset-E11.5", "dataset-tumours", "dataset-cells"} < set(names)
    assert all(height > 40 and letters > 20 for _, height, letters in found["sections"])
    assert all(natural > 100 and shown > 100 for _, natural, shown in found["images"])
    assert found["links"] == []


def test_at_most_1_200_words_are_not_folded_away(finished):
    html = (finished.root / "results" / "report.html").read_text(encoding="utf-8")
    assert 300 < len(Page(html).shown.split()) <= 1200


def test_genes_can_be_searched_and_every_table_downloaded(found):
    # Of genes in each data set, and of samples in two.
    assert len(found["browsers"]) == 5
    for browser in found["browsers"]:
        n_rows = browser["all"].split()[-1]
        assert browser["all"] == f"{n_rows} of {n_rows}"
        assert browser["none"] == f"0 of {n_rows}"
        assert 1 <= int(browser["some"].split()[0]) < int(n_rows)
        assert browser["lowest"] < browser["highest"]
    assert found["tablesWithoutDownload"] == 0
    assert {"E11.5_genes.csv", "tumours_genes.csv", "cells_genes.csv"} < set(found["downloads"])


def test_nothing_is_wider_than_the_window_and_figures_enlarge(found):
    assert found["width"] <= 1200
    assert found["wideTables"] == []
    assert found["figure"]["zoomed"] > 2 * found["figure"]["fitted"]
    assert found["dialogsLeft"] == 0
