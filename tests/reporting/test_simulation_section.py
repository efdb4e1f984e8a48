"""The simulations' part of a page, from tables made by hand."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.reporting.simulation_page import (
    SimulationResult,
    render_simulation_page,
    view_simulation,
    write_value,
)
from sparsekm.studies import select_settings
from sparsekm.studies.paper_runs import METRICS
from sparsekm.studies.paper_verdicts import PaperClaim, compare_rows, judge_claims, summarise
from sparsekm.studies.theorems import COLUMNS

pytestmark = pytest.mark.xdist_group("simulation section")

PAPER = pd.DataFrame(
    {
        "table": 2,
        "experiment": "experiment_3",
        "setting": "p25",
        "method": ["l0", "l0", "kmeans"],
        "metric": ["cer", "pzw", "cer"],
        "value": [0.3, 10.65, 0.15],
        "bracket": [0.002, float("nan"), 0.003],
    }
)


EXPERIMENT_3 = tuple(select_settings(["experiment_3/p25"]))
CLAIMS = [
    PaperClaim("a", "Text", "A is better", "order", EXPERIMENT_3, "cer", "l0", "below", "kmeans"),
    PaperClaim("b", "Section 3.2", "Genes", "atlas"),
]


def repetitions(place, row, cer, pzw=10.0, n=10):
    """Let CER and PZW take their values in turn."""
    experiment, setting = place.split("/")
    keys = {"experiment": experiment, "setting": setting, "method": row, "replicate": range(n)}
    values = {**dict.fromkeys(METRICS, 5.0), "cer": np.resize(cer, n), "pzw": np.resize(pzw, n)}
    return pd.DataFrame({**keys, **values, "cer_chance": 0.4})


def overview(column, values):
    keys = {"experiment": "experiment_1", "setting": "p2000", "method": "l0_global"}
    return pd.DataFrame({**keys, **column, **values})


def study(n):
    tables = [
        repetitions("experiment_3/p25", "l0_alternate", [0.10, 0.14], pzw=[16, 18]),
        repetitions("experiment_3/p25", "l0_carried", [0.2, 0.4], pzw=[9, 12]),
        repetitions("experiment_3/p25", "kmeans", [0.1, 0.2]),
        repetitions("experiment_3/p25", "relevant", [0.1, 0.1], pzw=20),
    ]
    for place in ("1/p2000", "2/mu0.7_p1000", "2/mu0.7_p200", "4/rho0.1"):
        for row in ("kmeans", "l0_global"):
            tables.append(repetitions(f"experiment_{place}", row, [0.2, 0.3, 0.1, 0.2, 0.3]))
    ran = pd.concat(tables, ignore_index=True)
    ran = ran[ran["replicate"] < n]
    summary = summarise(ran)
    gap = overview(
        {"replicate": [0] * 3, "sparsity": [5.0, 20.0, 80.0]},
        {"n_selected": [5, 20, 80], "gap": [0.1, 0.3, 0.2], "se": 0.05, "chosen": [0, 1, 0]},
    )
    weights = overview(
        {"feature": [1, 2, 3, 4], "relevant": [1, 1, 0, 0]},
        {"mean_weight": [1.0, 0.5, 0.0, 0.0], "se": 0.0, "share_kept": [1.0, 0.5, 0, 0]},
    )
    compared = compare_rows(summary, PAPER)
    claims = judge_claims(CLAIMS, ran, compared, pd.DataFrame(columns=list(COLUMNS)))
    return SimulationResult(ran, summary, compared, claims, [gap], [weights])


@pytest.fixture(scope="module")
def view():
    """What the page shows; drawing takes seconds."""
    return view_simulation(study(10))


def test_the_page_sets_the_papers_value_below_ours_and_marks_what_is_not_reproduced(view):
    page = render_simulation_page(view)
    assert "0.120 ± 0.007<br><small>sd 0.021</small>" in page
    assert "<small>chance 0.400</small>" in page
    assert "<small><b>paper 0.3 (0.002)</b></small>" in page
    assert "<small>paper 0.15 (0.003)</small>" in page
    assert 'src="http' not in page


def test_the_floor_has_rates_and_no_counts(view):
    (table,) = [e["table"] for e in view["experiments"] if "3" in e["title"]]
    _, _, *cells = next(row for row in table.rows if row[1].text.startswith("floor: k-means"))
    assert [cell[0].text for cell in cells[:3]] == ["0.100", "5.000", "5.000"]
    assert [cell[0].note for cell in cells[:3]] == ["all 10"] * 3
    assert [cell.text for cell in cells[3:]] == ["–", "–"]


def test_only_main_rows_stand_in_tables_and_variants_explain(view):
    titles = [row[1].text for e in view["experiments"] for row in e["table"].rows]
    assert not any("carried" in title for title in titles)
    rows = view["claims"].rows
    # CER 0.12 against 0.3 and PZW 17 against 10.65, the means; the brackets of both CERs are small.
    reasons = {row[0].text: row[-1].text for row in rows[2:]}
    assert len(reasons) == 4
    pzw = reasons["Mean PZW of ℓ₀-k-means, Algorithm 1 made monotone"]
    assert "labels carried up the grid" in pzw
    spread = reasons["Standard deviation of the CER of k-means"]
    assert "If the bracket is a variance, it agrees" in spread


def test_claims_are_counted_and_each_stands_with_its_verdict(view):
    text = " ".join(view["verdicts"])
    assert "Reproduced: 1 of 3 printed means, 0 of 2 standard deviations in brackets" in text
    # The CERs differ by 0 and -0.06 in turn.
    assert "1 of 1 statements of the text" in text
    # The CER of l0 and its bracket are met by no other run or reading.
    assert (
        "3 comparisons differ for a reason that is shown, 1 differ without a known reason" in text
    )
    assert "1 claims need the data of the atlas" in text
    rows = view["claims"].rows[:2]
    assert [[cell.text for cell in row[:4]] for row in rows] == [
        ["A is better", "Text", "3:\u00a0μ\u00a0=\u00a01, p\u00a0=\u00a025", "reproduced"],
        ["Genes", "Section 3.2", "", "cannot be tested here"],
    ]


def test_few_repetitions_flag_nothing():
    few = view_simulation(study(2))
    assert "from 2 repetitions" in " ".join(few["sentences"])
    page = render_simulation_page(few)
    assert "paper 0.3 (0.002)" in page
    assert "<b>paper" not in page
    assert (few["verdicts"], few["claims"]) == ([], None)


def test_figures_are_drawn_for_experiments_1_2_and_4_the_same_each_time(view):
    first, again = (
        [figure for part in shown["experiments"] for figure in part["figures"]]
        for shown in (view, view_simulation(study(10)))
    )
    assert [figure.name for figure in first] == [
        "experiment_1_overview",
        "experiment_2_cer",
        "experiment_4_cer",
    ]
    assert [(one.svg, one.pdf) for one in first] == [(other.svg, other.pdf) for other in again]
    assert all(figure.pdf.startswith(b"%PDF") for figure in first)


@pytest.mark.parametrize(
    ("metric", "mean", "se", "text"),
    [
        ("cer", 0.31249, 0.0161, "0.312 ± 0.016"),
        # No error is rounded to 0, and none is said to be 0.
        ("pzw", 1799.96, 0.04, "1,799.96 ± 0.04"),
        ("cer", 0.0002, 0.00012, "0.0002 ± 0.0001"),
        ("cer", 0.1, 1e-17, "0.100"),
        ("pnw", 5.0, float("nan"), "5.0"),
    ],
)
def test_means_are_written_with_their_standard_error(metric, mean, se, text):
    assert write_value(metric, mean, se) == text
