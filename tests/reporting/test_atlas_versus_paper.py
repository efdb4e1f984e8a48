"""Our numbers for the real atlas beside the paper's, and never those of the phantom."""

from dataclasses import replace

import pandas as pd
import pytest

from sparsekm.reporting.comparison_tables import (
    PaperTables,
    compare_with_paper,
    read_paper_tables,
)
from sparsekm.reporting.report import write_report


@pytest.fixture(scope="module")
def paper():
    """Printed numbers made by hand; the brain has 8 genes, 120 voxels, 3 regions."""
    statistics = [("n_genes", 10), ("n_voxels", 120), ("n_regions", 2)]
    scores = [("kmeans", "cer", 0.25), ("l0", "cer", 0.125), ("l0", "nw", 5), ("pca", "nw", 7)]
    return PaperTables(
        pd.DataFrame(statistics, columns=["statistic", "value"]).assign(age="E11.5"),
        pd.DataFrame(scores, columns=["method", "metric", "value"]).assign(age="E11.5"),
    )


@pytest.fixture(scope="module")
def measured(brain_result):
    """The little brain as if it came from the servers."""
    return replace(
        brain_result,
        provenance={
            **brain_result.provenance,
            "source": "allen",
            "simulated": False,
            "counts": {
                "voxels": {"brain": 120, "ventricle": 5679, "tract": 0},
                "section_data_sets": {"failed": 31, "no_grid": 2, "rejected": 0},
            },
            "n_genes_dropped_constant": 1,
        },
    )


def rows_of(table):
    return {name.text: [cell.text for cell in cells] for name, *cells in table.rows}


def test_sizes_and_scores_stand_beside_the_printed_ones(measured, paper):
    sizes, cer, nw = compare_with_paper([measured], paper)["tables"]
    assert rows_of(sizes) == {
        "genes: ours": ["8"],
        "genes: the paper's": ["10"],
        "voxels: ours": ["120"],
        "voxels: the paper's": ["120"],
        "regions: ours": ["3"],
        "regions: the paper's": ["2"],
    }
    found = rows_of(cer)
    assert found["k-means: ours"] == ["0.0500"]
    assert found["k-means: the paper's"] == ["0.2500"]
    assert found["ℓ₁-k-means: the paper's"] == ["–"]
    found = rows_of(nw)
    assert found["ℓ₀-k-means: ours"] == ["4"]
    assert found["ℓ₀-k-means: the paper's"] == ["5"]
    # A method that only the paper ran has a row too.
    assert [cells for name, cells in found.items() if name.endswith("the paper's")][-1] == ["7"]
    assert not sizes.simulated


def test_differences_are_explained_by_what_was_left_out(measured, paper):
    _, text = compare_with_paper([measured], paper)["paragraphs"]
    assert text.startswith(
        "E11.5: 8 genes, -2 compared with 10 in the paper; 120 voxels, as in the paper"
    )
    assert "3 regions, +1 compared with 2 in the paper." in text
    assert "The kept voxels are those of brain." in text
    for count in (
        "5,679 voxels excluded: ventricle",
        "31 section data sets excluded: failed",
        "2 section data sets excluded: no grid",
        "1 genes dropped: constant",
    ):
        assert count in text
    assert "tract" not in text
    assert "level" not in text


def test_another_procedure_than_the_papers_is_named(measured, paper):
    text = compare_with_paper([measured], paper)["paragraphs"][0]
    assert text == (
        "This run does not follow the paper's procedure: rule for the sparsity auto (the paper: "
        "max) and smallest cluster 3 (the paper: 1). config/paper-procedure.yaml does."
    )
    alike = {
        name: replace(fit, attributes={**fit.attributes, "rule": "max", "parameters": {}})
        for name, fit in measured.methods.items()
    }
    text = compare_with_paper([replace(measured, methods=alike)], paper)["paragraphs"][0]
    assert text == "Search, choice of the sparsity and smallest cluster are the paper's."


def test_regions_of_another_level_are_said_to_be_so(measured, paper):
    settings = {**measured.provenance["settings"], "level": 5}
    other = replace(measured, provenance={**measured.provenance, "settings": settings})
    _, text = compare_with_paper([other], paper)["paragraphs"]
    assert "Regions are those of level 5 (level 3 in the paper)." in text


def test_the_phantom_and_matrices_are_never_compared(brain_result, matrix_result, paper, tmp_path):
    assert compare_with_paper([brain_result, matrix_result], paper) is None
    # Not even one that says it came from the servers, when it is simulated.
    lying = replace(brain_result, provenance={**brain_result.provenance, "source": "allen"})
    assert compare_with_paper([lying], paper) is None
    write_report([brain_result], tmp_path / "report.html", paper=paper)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Compared with the paper" not in page
    assert "the paper's: " not in page


def test_the_report_on_the_real_atlas_has_the_section(measured, paper, tmp_path):
    write_report([measured], tmp_path / "report.html", paper=paper)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Compared with the paper" in page
    assert page.count("genes: the paper") == 1


def test_the_typed_tables_cover_all_ages(project_root):
    folder = project_root / "data" / "paper"
    tables = read_paper_tables(folder / "atlas_statistics.csv", folder / "atlas_scores.csv")
    ages = ["E11.5", "E13.5", "E15.5", "E18.5", "P4", "P14", "P28"]
    wide = tables.statistics.pivot(index="statistic", columns="age", values="value")
    assert sorted(wide.columns) == sorted(ages)
    assert not wide.isna().any(axis=None)
    # Of the spinal cord the paper has no voxel at P14.
    assert wide.loc["n_regions"].to_dict() == {age: 20 - (age == "P14") for age in ages}
    assert set(tables.scores["metric"]) == {"cer", "nw"}
    assert len(tables.scores) == 2 * 3 * 7


def test_tables_of_another_form_are_refused(tmp_path, project_root):
    (tmp_path / "scores.csv").write_text("age,method,value\n")
    statistics = project_root / "data" / "paper" / "atlas_statistics.csv"
    with pytest.raises(ValueError, match=r"scores.csv: columns should include metric"):
        read_paper_tables(statistics, tmp_path / "scores.csv")
