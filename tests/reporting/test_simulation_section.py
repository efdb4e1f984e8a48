"""The simulations' part of a page, from tables made by hand."""

import dataclasses

import pandas as pd
import pytest

from sparsekm.figures.palette import METHOD_LOOKS
from sparsekm.reporting.simulation_figures import row_look
from sparsekm.reporting.simulation_results import SimulationResult
from sparsekm.reporting.simulation_section import (
    render_simulation_page,
    view_simulation,
    write_mean,
)
from sparsekm.studies.paper.study_summary import summarise
from sparsekm.studies.paper.versus_paper import compare_rows, explain_differences

PAPER = pd.DataFrame(
    {
        "experiment": "experiment_3",
        "setting": "p25",
        "method": ["l0", "l0", "kmeans"],
        "metric": ["cer", "pzw", "cer"],
        "value": [0.3, 10.65, 0.15],
        "bracket": [0.002, float("nan"), 0.001],
    }
)


def repetitions(experiment, setting, row, cer, pzw=10):
    n = len(cer)
    return pd.DataFrame(
        {
            "experiment": experiment,
            "setting": setting,
            "method": row,
            "replicate": range(n),
            "cer": cer,
            "ecr": cer,
            "nw": 7,
            "pzw": pzw,
            "pnw": 5,
            "sparsity": 7.0,
            "objective": 1.0,
        }
    )


def overview(column, values):
    keys = {"experiment": "experiment_1", "setting": "p2000", "method": "l0_global"}
    return pd.DataFrame({**keys, **column, **values})


@pytest.fixture(scope="module")
def result():
    tables = [
        repetitions("experiment_3", "p25", "l0_alternate", [0.10, 0.14], pzw=[16, 18]),
        repetitions("experiment_3", "p25", "l0_carried", [0.2, 0.4], pzw=[9, 12]),
        repetitions("experiment_3", "p25", "kmeans", [0.1, 0.2]),
        repetitions("experiment_3", "p25", "relevant", [0.1, 0.1], pzw=20),
        *(
            repetitions(experiment, setting, row, [0.2, 0.3, 0.1, 0.2, 0.3])
            for experiment, setting in (
                ("experiment_1", "p2000"),
                ("experiment_2", "mu0.7_p1000"),
                ("experiment_2", "mu0.7_p200"),
                ("experiment_4", "rho0.1"),
            )
            for row in ("kmeans", "l0_global")
        ),
    ]
    summary = summarise(tables)
    gap = overview(
        {"replicate": [0] * 3, "sparsity": [5.0, 20.0, 80.0]},
        {"n_selected": [5, 20, 80], "gap": [0.1, 0.3, 0.2], "se": 0.05, "chosen": [0, 1, 0]},
    )
    weights = overview(
        {"feature": [1, 2, 3, 4], "relevant": [1, 1, 0, 0]},
        {"mean_weight": [1.0, 0.5, 0.0, 0.0], "se": 0.0, "share_kept": [1.0, 0.5, 0, 0]},
    )
    compared = explain_differences(compare_rows(summary, PAPER))
    return SimulationResult(
        pd.concat(tables, ignore_index=True), summary, compared, [gap], [weights]
    )


def test_the_page_sets_the_papers_value_below_ours_and_marks_what_is_far(result):
    page = render_simulation_page(view_simulation(result))
    assert "0.120 ± 0.020<br><small><b>paper 0.3 (0.002)</b></small>" in page
    assert "0.150 ± 0.050<br><small>paper 0.15 (0.001)</small>" in page
    assert 'src="http' not in page


def test_the_floor_has_a_cer_and_no_counts(result):
    (third,) = [e for e in view_simulation(result).experiments if e.title == "Experiment 3"]
    (table,) = third.tables
    floor = {name.text: cells for name, *cells in table.rows}[
        "floor: k-means, relevant features only"
    ]
    assert [cell.text for cell in floor] == ["0.100 ± 0.000", "–", "–"]


def test_only_main_rows_stand_in_tables_and_variants_explain(result):
    view = view_simulation(result)
    titles = [row[0].text for e in view.experiments for t in e.tables for row in t.rows]
    assert not any("carried" in title for title in titles)
    # CER: (0.12 - 0.3) / (sqrt(2) 0.02) = -6.4 units; PZW: (17 - 10.65) / sqrt(2) = 4.5.
    assert [row[-2].text for row in view.differences.rows] == ["−6.4", "+4.5"]
    assert all("labels carried up the grid" in row[-1].text for row in view.differences.rows)


def test_differences_are_counted_from_the_table(result):
    text = " ".join(view_simulation(result).closing)
    assert "Of 3 comparisons with the paper's tables, 2 differ by more than 2 units" in text
    assert "In 2 of these" in text
    # Our deviations are 0.028 and 0.071, variances 0.0008 and 0.005: both nearer to the brackets.
    assert "in 2 of 2 rows they are closer to our variance" in text


def test_counts_do_not_hang_on_the_words_of_an_explanation(result):
    reworded = result.versus_paper.assign(explanation="Another run gives that value.")
    closing = view_simulation(dataclasses.replace(result, versus_paper=reworded)).closing
    assert closing == view_simulation(result).closing


def test_a_method_looks_the_same_in_the_simulations_as_in_all_other_figures():
    looks = {row: row_look(row) for row in ("kmeans", "pca", "pgmm", "l1", "l0_global")}
    methods = ("kmeans", "pca", "pgmm", "l1", "l0")
    assert list(looks.values()) == [METHOD_LOOKS[method] for method in methods]
    others = [row_look(row) for row in ("relevant", "l0_alternate", "kmeans_lloyd")]
    for part in ("color", "marker"):
        pairs = {getattr(look, part) for look in [*looks.values(), *others[:2]]}
        assert len(pairs) == len(looks) + 2


def test_a_preview_says_so_and_how_many_repetitions_there_are(result):
    preview = SimulationResult(
        result.repetitions[result.repetitions["replicate"] < 2],
        result.summary,
        result.versus_paper,
        result.gaps,
        result.weights,
        is_preview=True,
    )
    text = " ".join(view_simulation(preview).sentences)
    assert "from 2 repetitions" in text
    assert "This is a preview" in text
    assert "preview" not in " ".join(view_simulation(result).sentences)


def test_figures_are_drawn_for_experiments_1_2_and_4_the_same_each_time(result):
    first, again = view_simulation(result), view_simulation(result)
    names = [figure.name for e in first.experiments for figure in e.figures]
    assert names == ["experiment_1_overview", "experiment_2_cer", "experiment_4_cer"]
    for one, other in zip(first.experiments, again.experiments, strict=True):
        assert [figure.svg for figure in one.figures] == [figure.svg for figure in other.figures]
        assert [figure.pdf for figure in one.figures] == [figure.pdf for figure in other.figures]
        assert all(figure.pdf.startswith(b"%PDF") for figure in one.figures)


@pytest.mark.parametrize(
    ("metric", "mean", "se", "text"),
    [
        ("cer", 0.31249, 0.0161, "0.312 ± 0.016"),
        ("pzw", 1799.96, 0.04, "1,800.0 ± 0.0"),
        ("pnw", 5.0, float("nan"), "5.0"),
    ],
)
def test_means_are_written_with_their_standard_error(metric, mean, se, text):
    assert write_mean(metric, mean, se) == text
