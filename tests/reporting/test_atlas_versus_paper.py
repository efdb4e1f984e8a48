"""Our numbers for the real atlas beside the paper's, and never those of the phantom."""

from dataclasses import replace

import pandas as pd
import pytest

from sparsekm.reporting.comparison_tables import compare_with_paper, read_paper_tables
from sparsekm.reporting.report import write_report


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """Printed numbers made by hand; the brain has 8 genes, 120 voxels, 3 regions."""
    statistics = [("n_genes", 10), ("n_voxels", 120), ("n_regions", 2)]
    scores = [("kmeans", "cer", 0.25), ("l0", "cer", 0.125), ("l0", "nw", 5), ("pca", "nw", 7)]
    files = [tmp_path_factory.mktemp("paper") / name for name in ("statistics.csv", "scores.csv")]
    for file, rows in zip(files, (statistics, scores), strict=True):
        names = ["statistic", "value"] if len(rows[0]) == 2 else ["method", "metric", "value"]
        pd.DataFrame(rows, columns=names).assign(age="E11.5").to_csv(file, index=False)
    return read_paper_tables(*files)


@pytest.fixture(scope="module")
def measured(brain_result):
    """The little brain as if it came from the servers."""
    real = {**brain_result.provenance, "source": "allen", "simulated": False}
    return replace(brain_result, provenance=real)


def test_sizes_and_scores_stand_beside_the_printed_ones(measured, paper):
    table = compare_with_paper([measured], paper)
    heads = [head.text for head in table.heads]
    ours, theirs = (
        dict(zip(heads, [cell.text for cell in row], strict=True)) for row in table.rows
    )
    assert list(ours.values())[:5] == ["E11.5", "ours", "8", "120", "3"]
    assert list(theirs.values())[:5] == ["E11.5", "the paper’s", "10", "120", "2"]
    assert ours["CER of k-means"] == "0.0500"
    assert theirs["CER of k-means"] == "0.2500"
    assert theirs["CER of ℓ₁-k-means"] == "–"
    assert (ours["NW of ℓ₀-k-means"], theirs["NW of ℓ₀-k-means"]) == ("4", "5")
    # A method that only the paper ran has a column too.
    assert (ours["NW of PCA-k-means"], theirs["NW of PCA-k-means"]) == ("–", "7")


def test_only_the_real_atlas_is_compared(brain_result, matrix_result, measured, paper, tmp_path):
    assert compare_with_paper([brain_result, matrix_result], paper) is None
    # Not even one that says it came from the servers, when it is simulated.
    lying = replace(brain_result, provenance={**brain_result.provenance, "source": "allen"})
    assert compare_with_paper([lying], paper) is None
    for result, n_sections in ((brain_result, 0), (measured, 1)):
        write_report([result], tmp_path / "report.html", paper=paper)
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert page.count("Compared with the paper") == n_sections
        assert page.count("the paper’s</td>") == n_sections


def test_the_typed_tables_cover_all_ages(project_root):
    folder = project_root / "data" / "paper"
    table = read_paper_tables(folder / "atlas_statistics.csv", folder / "atlas_scores.csv")
    wide = table.pivot(index="of", columns="age", values="value")
    assert set(wide) == {"E11.5", "E13.5", "E15.5", "E18.5", "P4", "P14", "P28"}
    assert not wide.isna().any(axis=None)
    # Of the spinal cord the paper has no voxel at P14.
    assert wide.loc["regions"].to_dict() == {age: 20 - (age == "P14") for age in wide}
    assert [sum(name.startswith(metric) for name in wide.index) for metric in ("CER", "NW")] == [
        3,
        3,
    ]
