"""Sparse k-means on the page: its conclusion, how its fits agree, and what its methods cite."""

from dataclasses import replace

import pandas as pd
import pytest

from sparsekm.io.tables import CONSENSUS
from sparsekm.reporting.consensus_figure import consensus_figure
from sparsekm.reporting.figures import draw_figures
from sparsekm.reporting.literature import Citations
from sparsekm.reporting.methods_text import write_methods
from sparsekm.reporting.report import view_dataset
from sparsekm.reporting.results import load_dataset_result
from sparsekm.reporting.summary import summarise_dataset, summarise_run

CONCLUSION = "No evidence of clusters: <b>none</b>."
TABLE = pd.DataFrame(
    {
        "sparsity": [2.0, 3.0, 6.0],
        "n_selected": [2, 3, 6],
        "objective": [5.0, 6.0, 7.0],
        "agreement": [0.9, 0.95, 0.5],
        "agreement_se": [0.1, 0.1, 0.1],
        "admissible": [True, True, False],
        "chosen": [False, True, False],
    }
)


@pytest.fixture
def result(matrix_result):
    l0 = matrix_result.methods["l0"]
    about = {"conclusion": CONCLUSION, "n_resamplings": 17, "has_clusters": False}
    sparse = replace(
        l0, name="sparse", gap=None, path=None, consensus=TABLE, attributes=l0.attributes | about
    )
    return replace(matrix_result, methods={**matrix_result.methods, "sparse": sparse})


def test_the_consensus_of_a_method_is_read_from_its_file(matrix_files, tmp_path):
    CONSENSUS.write(tmp_path / "consensus.csv", TABLE)
    found = load_dataset_result(
        "toy", **matrix_files, consensus={"l0": tmp_path / "consensus.csv"}
    ).methods
    pd.testing.assert_frame_equal(found["l0"].consensus, TABLE)
    assert found["l1"].consensus is None


def test_the_figure_shows_agreement_which_are_admissible_and_the_choice(result):
    axes = consensus_figure(result).axes[0]
    (line,) = (line for line in axes.lines if len(line.get_xdata()) == 3)
    assert line.get_ydata().tolist() == [0.9, 0.95, 0.5]
    (filled,) = (line for line in axes.lines if "as well" in str(line.get_label()))
    assert filled.get_xdata().tolist() == [2, 3]
    labels = axes.get_legend_handles_labels()[1]
    assert "chosen: 3 features kept" in labels
    assert [figure.name for figure in draw_figures(result)] == [
        *("components", "gap", "consensus", "scores", "markers")
    ]


def test_without_a_method_that_resamples_there_is_no_such_figure(matrix_result):
    assert consensus_figure(matrix_result) is None


def test_the_data_sets_section_tells_the_conclusion(result):
    sentences = summarise_dataset(result)
    (own,) = (text for text in sentences if text.startswith("Sparse k-means keeps 3 of 6"))
    assert own.endswith(f". {CONCLUSION}")
    assert own in view_dataset(result, []).sentences


def test_the_summary_speaks_of_it_beside_the_other_methods(result):
    text = " ".join(summarise_run([result]))
    assert "Sparse k-means keeps 3 of 6 features (50%)." in text
    assert text.count("Compared with the known labels") == 1
    assert (
        "; that of Sparse k-means is 0.1250 (k-means: 0.3125), and the adjusted Rand index, which "
        "corrects for chance, is 0.7500 (0.3750)."
    ) in text
    text = " ".join(summarise_run([result, result]))
    assert (
        "that of Sparse k-means is lower than that of k-means in 2 of 2 data sets, and its "
        "adjusted Rand index, which corrects for chance, is higher in 2."
    ) in text


def test_where_no_evidence_was_asked_for_its_own_answer_stands(result):
    said = "No evidence of clusters was found in toy"
    methods = result.methods
    found = replace(methods["sparse"], attributes={"has_clusters": True})
    assert said in " ".join(summarise_run([replace(result, evidence=None)]))
    found = replace(result, evidence=None, methods={**methods, "sparse": found})
    assert said not in " ".join(summarise_run([found]))
    # What was asked of the path of l0 goes first.
    clear = {**result.evidence, "strength": 2.0}
    assert said not in " ".join(summarise_run([replace(result, evidence=clear)]))


def test_its_method_is_told_with_what_it_cites(result, matrix_result):
    citations = Citations()
    text = " ".join(write_methods([result], citations))
    assert "Sparse k-means fits 17 paths of ℓ₀-k-means" in text
    cited = [reference.doi for reference in citations.cited]
    for doi in (
        "10.1214/15-AOS1423",
        "10.1109/TPAMI.2005.113",
        "10.1111/j.2517-6161.1995.tb02031.x",
    ):
        assert doi in cited
    assert "Sparse k-means" not in " ".join(write_methods([matrix_result], Citations()))
