"""Names of genes, regions, samples and files come out of the report as the text they are."""

import itertools
import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from html_page import Page

from sparsekm.annotation.gene_table import GENE_TABLE, gene_table
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.store import read_fit
from sparsekm.reporting.report import load_dataset_result, write_report

# What the tests look at is made once in each process.
pytestmark = pytest.mark.xdist_group("names")

SCRIPT = "<script>alert(1)</script>"
BREAKING_OUT = '"></script><img src=x onerror=alert(1)>'
LONG = "Gene" * 2500
# The dollars would be a formula to matplotlib, and one that it cannot set; SVG has no characters
# such as the one before the smiling face, and matplotlib leaves names with an underscore out.
GENES = [SCRIPT, LONG, "a\nb", "\x01😀", BREAKING_OUT, "../../escaped", "=1+1", "%s{0}{{x}}"]
GENES += ["$\\frac{$", "β'\"&amp;", "_g"]
REGIONS = [SCRIPT, "$\\undefined$" + "_class" * 1000, "_<b>bold</b>"]


KEPT = {"kmeans": len(GENES), "l1": 4, "l0": 2}
ERRORS = dict.fromkeys(KEPT, 0.1)


def write_brain(folder, write_results):
    """Write the files of an age whose names are all hostile; give the loader's arguments."""
    grid = np.array(list(itertools.product(range(4), range(4), range(4))))
    codes = grid[:, 0] * 3 // 4
    p = len(GENES)
    X = np.random.default_rng(1).normal(size=(len(grid), p)).astype(np.float32)
    acronyms = np.array(REGIONS)[codes]
    obs = pd.DataFrame(
        {"label": acronyms, "region": acronyms, "region_id": codes + 1},
        index=[f"{SCRIPT} {number}" for number in range(len(grid))],
    )
    obs[["x", "y", "z"]] = grid
    var = pd.DataFrame({"name": GENES[::-1], "entrez_id": np.arange(p)}, index=GENES)
    regions = pd.DataFrame(
        {"acronym": REGIONS, "name": REGIONS[::-1], "id": [1, 2, 3], "color": ["#AA0000"] * 3}
    )
    provenance = {
        "dataset": "E11.5",
        "source": "phantom",
        "simulated": True,
        "file": f"{SCRIPT}.csv",
        "settings": {"tissue": np.array(["brain"])},
        "counts": {"voxels": {"brain": 64}},
    }
    obsm, uns = {"spatial": grid * [0.1, 0.2, 0.3]}, {"regions": regions}
    write_normalised(folder / "normalised.h5ad", X, obs, var, provenance, obsm=obsm, uns=uns)
    files = write_results(folder, "E11.5", X, codes.astype(np.int32), KEPT, ERRORS)
    fits = {method: read_fit(file) for method, file in files["fits"].items()}
    GENE_TABLE.write(folder / "genes.csv", gene_table(var, fits))
    return {"normalised": folder / "normalised.h5ad", "genes": folder / "genes.csv", **files}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_results):
    folder = tmp_path_factory.mktemp("names") / "inside"
    brain = load_dataset_result("E11.5", **write_brain(folder / "E11.5", write_results))
    write_report(
        [brain],
        folder / "report.html",
        title=SCRIPT,
        configuration={"matrices": {"a": {"path": f"{SCRIPT}.csv"}}},
        figures=folder / "figures",
        genes_of_interest=[SCRIPT, "$\\frac{$", "a\nb", "\x01😀"],
    )
    return folder


@pytest.fixture(scope="module")
def html(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def test_no_name_becomes_a_tag_or_an_attribute(html):
    page = Page(html)
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert attributes.get("src", "data:").startswith("data:")
    assert SCRIPT not in html
    assert "<b>bold" not in html
    assert "onerror=alert(1)>" not in html


def test_every_name_stands_there_as_text(html):
    text = Page(html).text
    for name in (
        *REGIONS,
        SCRIPT,
        "a\nb",
        "<b>bold</b>",
        "$\\frac{$",
        "$\\undefined$",
    ):
        assert name in text, name
    blocks = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    # None of them ends the script that holds it.
    listed = {row[0] for block in blocks for row in json.loads(block)["rows"]}
    assert set(GENES) <= listed
    assert f"{SCRIPT}.csv" in text


def test_nothing_is_written_beside_the_report(folder):
    assert [path.name for path in folder.parent.iterdir()] == ["inside"]
    written = {path.name for path in (folder / "figures").iterdir()}
    assert written
    assert all(re.fullmatch(r"E11\.5_\w+\.(svg|png|pdf)", name) for name in written), written


def test_figures_hold_no_script_and_are_of_a_size_to_look_at(folder):
    for file in (folder / "figures").glob("*.svg"):
        assert "<script" not in file.read_text(encoding="utf-8")
        drawn = ElementTree.parse(file).getroot()
        points = [float(drawn.get(side).removesuffix("pt")) for side in ("width", "height")]
        assert max(points) < 1000, file


def test_the_page_is_no_wider_than_the_window(examine_page, folder):
    found = examine_page(folder / "report.html")
    assert found["errors"] == found["console"] == []
    assert found["width"] <= 1200
    assert found["wideTables"] == []
    assert all(natural > 100 for _, natural, _ in found["images"])
