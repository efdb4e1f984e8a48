"""Names of genes, regions, samples and files come out of the report as the text they are."""

import json
import re
from xml.etree import ElementTree

import pytest
from html_page import Page

from sparsekm.reporting.report import write_report

pytestmark = pytest.mark.xdist_group("names")

SCRIPT = "<script>alert(1)</script>"
BREAKING_OUT = '"></script><img src=x onerror=alert(1)>'
LONG = "Gene" * 2500
# The dollars would be a formula to matplotlib, and one that it cannot set; SVG has no characters
# such as the one before the smiling face, and matplotlib leaves names with an underscore out.
GENES = [SCRIPT, LONG, "a\nb", "\x01😀", BREAKING_OUT, "../../escaped", "=1+1", "%s{0}{{x}}"]
GENES += ["$\\frac{$", "β'\"&amp;", "_g", "Turned\u202eenog"]
REGIONS = [SCRIPT, "$\\undefined$" + "_class" * 1000, "_<b>bold</b>"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, load_brain):
    folder = tmp_path_factory.mktemp("names") / "inside"
    brain = load_brain(folder / "E11.5", GENES, REGIONS)
    write_report(
        [brain],
        folder / "report.html",
        title=SCRIPT,
        configuration={"matrices": {"a": {"path": f"{SCRIPT}.csv"}}},
        figures=folder / "figures",
        genes_of_interest=[SCRIPT, "$\\frac{$", "a\nb", "\x01😀"],
    )
    return folder


def test_no_name_turns_the_direction_of_the_text(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    assert "Turned\ufffdenog" in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069]|\\\\u202e", html)


def test_no_name_becomes_a_tag_or_an_attribute_and_every_one_stands_there_as_text(folder):
    html = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert attributes.get("src", "data:").startswith("data:")
    assert SCRIPT not in html
    assert "<b>bold" not in html
    assert "onerror=alert(1)>" not in html
    assert not [name for name in (*REGIONS, f"{SCRIPT}.csv") if name not in page.text]
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    # None of them ends the script that holds it.
    listed = {row[0] for block in blocks for row in json.loads(block)["rows"]}
    assert {name.replace("\u202e", "\ufffd") for name in GENES} <= listed


def test_nothing_is_written_beside_the_report_and_figures_hold_no_script(folder):
    assert [path.name for path in folder.parent.iterdir()] == ["inside"]
    written = {path.name for path in (folder / "figures").iterdir()}
    assert written
    assert all(re.fullmatch(r"E11\.5_\w+\.(svg|png|pdf)", name) for name in written), written
    for file in (folder / "figures").glob("*.svg"):
        assert "<script" not in file.read_text(encoding="utf-8")
        drawn = ElementTree.parse(file).getroot()
        # Of a size to look at.
        points = [float(drawn.get(side).removesuffix("pt")) for side in ("width", "height")]
        assert max(points) < 1000, file


def test_the_page_is_no_wider_than_the_window(examine_page, folder):
    found = examine_page(folder / "report.html")
    assert found["errors"] == found["console"] == []
    assert found["width"] <= 1200
    assert found["wideTables"] == []
    assert all(natural > 100 for _, natural, _ in found["images"])
