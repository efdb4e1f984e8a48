"""What the page says of genes: the table and its links, chosen genes, terms, anatomy, ages."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_sets import build_gene_sets
from sparsekm.annotation.gene_table import tabulate_ages, tabulate_changes
from sparsekm.pipeline.workflow_files import FIGURES, match_any
from sparsekm.reporting.brain_figures import expression_figure
from sparsekm.reporting.each_cluster import view_each_cluster
from sparsekm.reporting.gene_tables import (
    MOST_TERMS,
    age_figure,
    choose_genes,
    top_kept,
    view_ages,
    view_enrichment,
    view_genes,
)
from sparsekm.reporting.report import write_report

pytestmark = pytest.mark.xdist_group("gene sections")

AGES = ("E11.5", "P4")


@pytest.fixture(scope="module")
def brain(brain_result):
    """The brain with everything that the annotation adds."""
    genes = brain_result.genes.assign(
        name="gene of note",
        stability_l0=np.linspace(1, 0.3, 8),
        highest_cluster=3,
        effect_cluster=1.25,
        highest_label="RSP",
        effect_label=[np.nan, *[0.5] * 7],
        terms=["; ".join(f"invented term {i}" for i in range(12)), *["one"] * 7],
    )
    counts = (8, 4, 5, 4, 2.5, 1.6)
    rows = [
        ["kept", f"T:{i}", f"term {i}", *counts, 0.001 * i, 0.003 * i, 0.01 * i, "Inv1;Inv2"]
        for i in range(1, 20)
    ]
    rows += [["dropped", "T:1", "term 1", 8, 4, 5, 1, 2.5, 0.4, 0.9, 0.9, 0.8, "Inv5"]]
    rows += [["only l1", "T:1", "term 1", 8, 0, 5, 0, 0.0, 1.0, 1.0, 1.0, np.nan, ""]]
    enrichment = pd.DataFrame(rows, columns=list(ENRICHMENT.columns))
    return dataclasses.replace(brain_result, genes=genes, enrichment=enrichment)


@pytest.fixture(scope="module")
def ages(brain):
    later = brain.genes.assign(verdict=brain.genes["verdict"].to_numpy()[::-1])
    kept = tabulate_ages({"E11.5": brain.genes, "P4": later.iloc[:-1]})
    return view_ages(kept, AGES, tabulate_changes(kept, AGES), simulated=True)


def as_real(result, source="allen", **changes):
    provenance = {"source": source, "simulated": False}
    return dataclasses.replace(result, provenance=provenance, **changes)


def test_genes_of_interest_are_those_asked_for_or_the_papers_of_the_real_atlas(brain):
    genes = brain.genes.assign(symbol=[f"{s}*" for s in brain.genes["symbol"]])
    for result in (brain, dataclasses.replace(brain, genes=genes)):
        rows = choose_genes(result, ["Inv5", "Neurog1", "Inv2", "Inv5"])
        assert [s.rstrip("*") for s in result.genes["symbol"].iloc[rows]] == ["Inv5", "Inv2"]
    assert choose_genes(brain, []) == choose_genes(as_real(brain, source="matrix")) == []
    symbols = brain.genes["symbol"].replace({"Inv1": "Neurog1", "Inv6": "Scn4b"})
    real = as_real(brain, genes=brain.genes.assign(symbol=symbols))
    assert symbols.iloc[choose_genes(real)].tolist() == ["Scn4b", "Neurog1"]
    # Of the phantom a housekeeping gene and a marker of this age.
    kinds = {"Inv0": "marker", "Inv3": "marker", "Inv4": "housekeeping", "Inv6": "housekeeping"}
    genes = brain.genes.assign(
        planted_kind=brain.genes["symbol"].map(kinds).fillna("noise"),
        relevant=brain.genes["symbol"] == "Inv3",
    )
    phantom = dataclasses.replace(brain, genes=genes)
    assert genes["symbol"].iloc[choose_genes(phantom)].tolist() == ["Inv4", "Inv3"]


def test_top_kept_genes_are_the_highest_ranks_that_are_kept(brain):
    rows = top_kept(brain, 3)
    assert brain.genes["rank_l0"].iloc[rows].tolist() == [1, 2, 3]
    assert len(top_kept(brain, 8)) == brain.methods["l0"].n_kept
    assert rows[0] not in top_kept(brain, 3, without=rows[:1])


def test_chosen_genes_come_first_and_then_the_highest_ranks_with_whole_texts(brain):
    data = view_genes(brain, [6, 2])["data"]
    expected = brain.genes["symbol"].iloc[[6, 2, 0, 1, 3, 4, 5, 7]]
    assert [row[0] for row in data["rows"]] == expected.tolist()
    assert data["rows"][2][data["fields"].index("terms")].endswith("invented term 11")


def test_terms_found_are_shown_to_a_number_and_those_not_found_are_told(brain):
    view = view_enrichment(brain)
    text = " ".join(view["sentences"])
    assert "19 terms were tested in each group against the 8 genes analysed" in text
    assert "Among the 4 genes kept, 16 terms are over-represented (q ≤ 0.05), of which 12" in text
    # One term of five of the eight genes: p is 1 / 14 at least.
    assert "The 4 genes dropped are too few to tell: no term could reach q ≤ 0.05." in text
    many = brain.enrichment.assign(n_analysed=80)
    text = " ".join(view_enrichment(dataclasses.replace(brain, enrichment=many))["sentences"])
    assert "Among the 4 genes dropped, no term is over-represented (smallest q = 0.9)" in text
    text = " ".join(view["sentences"])
    assert "No genes are kept by ℓ₁ alone." in text
    assert "reach the same count: 5 of 16 have 0.05 or less." in text
    table = brain.enrichment.assign(q_value=0.9)
    none = view_enrichment(dataclasses.replace(brain, enrichment=table))
    assert "of these" not in " ".join(none["sentences"])
    assert "Terms with q ≤ 0.05" in view["terms"].caption
    assert len(view["terms"].rows) == MOST_TERMS
    assert view["terms"].rows[0][3].text == "4 of 5"
    assert view_enrichment(dataclasses.replace(brain, enrichment=None)) is None


def test_clusters_are_counted_in_regions_of_their_colours(brain):
    table = view_each_cluster(brain)
    named = {row[0].text: (row[0].color, [cell.text for cell in row[1:]]) for row in table.rows}
    assert named.pop("voxels") == ("", ["40", "40", "24", "16"])
    assert named == {
        "region RSP": ("#a84d10", ["40", "", "", ""]),
        "region CSP": ("#ed985c", ["", "40", "", ""]),
        "region r1": ("#ee5dff", ["", "", "24", "16"]),
    }
    assert [cell.shade for cell in table.rows[-1][1:]] == [0, 0, 100, 100]


def test_changes_between_ages_are_counted_and_named(ages, brain):
    ((name, *cells),) = ages["changes"].rows
    assert name.text == "E11.5 to P4"
    assert sum(int(number.text) for number in cells[::2]) > 0
    for number, names in zip(cells[::2], cells[1::2], strict=True):
        assert len([gene for gene in names.text.split(", ") if gene]) == int(number.text)


@pytest.mark.parametrize("n_genes", [0, 200])
def test_ages_are_drawn_for_any_number_of_genes(n_genes):
    genes = pd.DataFrame({"symbol": [f"g{i}" for i in range(n_genes)], "verdict": "only l1"})
    assert age_figure(tabulate_ages(dict.fromkeys(AGES, genes)), AGES).get_size_inches()[1] < 12


def test_expression_is_drawn_for_each_gene_in_three_planes_with_one_scale_bar(brain):
    figure = expression_figure(brain, [0, 3])
    labels = [text.get_text() for axes in figure.axes for text in axes.texts]
    planes = ["sagittal", "coronal", "horizontal", "1 mm"]
    assert [text.partition("\n")[0] for text in labels] == planes
    assert sum(len(axes.images) for axes in figure.axes) == 2 * 3
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == brain.genes["symbol"].iloc[[0, 3]].tolist()
    shown = figure.axes[0].images[0].get_array()
    values = brain.read_features([brain.var.index.get_loc(titles[0])])[:, 0]
    # What is drawn are this gene's own values.
    assert np.isin(shown.compressed(), values.astype(np.float64)).all()


def test_every_section_stands_on_the_page_and_its_figures_in_the_folder(tmp_path, brain, ages):
    page, figures = tmp_path / "report.html", tmp_path / "figures"
    sets = build_gene_sets("symbol", {"T:1": ["Inv1"]}, {})
    asked = {"genes_of_interest": ["Inv2", "Scn4b"], "gene_sets": sets}
    write_report([brain], page, figures=figures, ages=lambda: ages, **asked)
    html = page.read_text(encoding="utf-8")
    said = ("Over-represented terms", "Each cluster in numbers", "contain 1 terms and 1 genes.")
    for words in (*said, 'id="ages"', 'href="#ages"', "Benjamini"):
        assert words in html
    names = {file.name for file in figures.iterdir()}
    assert {"genes_kept_by_age.svg", "genes_kept_by_age.pdf", "E11.5_expression.pdf"} <= names
    known = match_any([FIGURES])
    assert [name for name in names if not known.fullmatch(f"results/figures/{name}")] == []
    data = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', html)[0])
    assert len(data["rows"]) == 8
