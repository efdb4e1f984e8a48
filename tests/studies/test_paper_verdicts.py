"""Comparisons with the paper and verdicts on its claims, worked by hand."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.studies import get_setting
from sparsekm.studies.paper_runs import METRICS
from sparsekm.studies.paper_verdicts import (
    EXPLAINED,
    OPEN,
    REPRODUCED,
    UNEXPLAINED,
    PaperClaim,
    compare_rows,
    judge_claims,
    read_paper_claims,
    read_paper_values,
    summarise,
)
from sparsekm.studies.theorems import COLUMNS

P25 = get_setting("experiment_3", "p25")
CHECKS = pd.DataFrame([{"check": "ball", "holds": False, "ours": 2.0}], columns=list(COLUMNS))
# The standard error of ten values that are 1 below and 1 above their mean in turn.
SE = np.sqrt(10 / 9) / np.sqrt(10)


def repetitions(row, n=10, **metrics):
    """Let every metric take two values in turn; ten repetitions are the fewest judged."""
    keys = {"experiment": P25.experiment, "setting": P25.name, "method": row}
    values = {**dict.fromkeys(METRICS, 0.0), **metrics}
    return pd.DataFrame(
        {**keys, "replicate": range(n), **{k: np.resize(v, n) for k, v in values.items()}}
    )


def printed(*cells):
    """Make a table of the paper's from (method, metric, value, bracket)."""
    columns = ["table", "experiment", "setting", "method", "metric", "value", "bracket"]
    return pd.DataFrame([[2, P25.experiment, P25.name, *cell] for cell in cells], columns=columns)


def judge(claims, tables, *cells):
    ran = pd.concat(tables, ignore_index=True)
    return judge_claims(claims, ran, compare_rows(summarise(ran), printed(*cells)), CHECKS)


def order(left="l0", right="kmeans"):
    return PaperClaim("c", "w", "s", "order", (P25,), "cer", left, "below", right)


def level(relation, bound):
    return PaperClaim("c", "w", "s", "level", (P25,), "pnw", "l0", relation, bound=bound)


def test_means_and_standard_errors_are_those_of_ten_numbers():
    table = repetitions("l0_alternate", cer=[0.1, 0.3], pzw=[16, 18], sparsity=np.nan)
    summary = summarise(table).set_index("metric")
    assert summary.loc["cer", ["n", "mean"]].tolist() == [10, pytest.approx(0.2)]
    assert summary.loc["cer", "se"] == pytest.approx(0.1 * SE)
    assert summary.loc["pzw", "se"] == pytest.approx(SE)
    assert "sparsity" not in summary.index


def test_a_difference_is_measured_in_our_error_and_that_of_twenty_more():
    tables = [
        repetitions("relevant", pzw=[20, 20]),
        repetitions("l0_alternate", pzw=[16, 18]),
        repetitions("kmeans", pzw=[0, 0]),
    ]
    paper = printed(("l0", "pzw", 10.0, np.nan), ("kmeans", "pzw", 0.0, np.nan))
    # The floor row and what k-means cannot drop are not compared.
    (line,) = compare_rows(summarise(pd.concat(tables)), paper).itertuples()
    assert (line.row, line.difference) == ("l0_alternate", 7.0)
    # Ours has the variance s^2 / 10, theirs s^2 / 20.
    assert line.units == pytest.approx(7 / np.sqrt(1.5) / SE)
    (line,) = compare_rows(summarise(pd.concat(tables)), paper.assign(value=0.0)).itertuples()
    assert line.units == pytest.approx(17 / SE)


def test_an_order_is_judged_by_pairs_over_the_same_data():
    # Differences are -0.1 and -0.3 in turn although the values overlap.
    tables = [repetitions("kmeans", cer=[0.2, 0.6]), repetitions("l0_printed", cer=[0.1, 0.3])]
    (line,) = judge([order()], tables).itertuples()
    assert (line.verdict, line.reason) == (REPRODUCED, "")
    assert (line.ours, line.se) == (pytest.approx(-0.2), pytest.approx(0.1 / 3))
    assert line.units == pytest.approx(-6)


@pytest.mark.parametrize(
    ("difference", "verdict"), [(-0.07, REPRODUCED), (0.06, OPEN), (0.07, UNEXPLAINED)]
)
def test_an_order_is_open_within_two_errors_to_either_side(difference, verdict):
    # The differences vary by 0.1 to either side, so that their mean has an error of 0.033.
    own = np.array([0.2, 0.4]) + difference + [0.1, -0.1]
    tables = [repetitions("kmeans", cer=[0.2, 0.4]), repetitions("l0_printed", cer=own)]
    assert judge([order()], tables)["verdict"].item() == verdict


def test_a_contrary_order_has_a_reason_where_it_vanishes_with_a_like_search():
    tables = [
        repetitions("l1", cer=[0.1, 0.2]),
        repetitions("l0_printed", cer=[0.2, 0.31]),
        repetitions("l1_lloyd", cer=[0.22, 0.3]),
    ]
    (line,) = judge([order("l0", "l1")], tables).itertuples()
    assert line.verdict == EXPLAINED
    assert line.reason == (
        "Met by ℓ₀-k-means, Algorithm 1 as printed less ℓ₁, one start of Lloyd's k-means "
        "(-0.005 ± 0.005)."
    )
    assert judge([order("l0", "l1")], tables[:2])["verdict"].item() == UNEXPLAINED


@pytest.mark.parametrize(
    ("relation", "bound", "verdict"),
    [
        ("at least", 4.0, REPRODUCED),
        ("at least", 4.6, OPEN),
        ("at least", 4.7, UNEXPLAINED),
        ("about", 5.0, REPRODUCED),
    ],
)
def test_a_level_is_reproduced_where_our_mean_keeps_it_or_open_in_noise(relation, bound, verdict):
    # The mean is 4, its error a third.
    tables = [repetitions("l0_printed", pnw=[3.0, 5.0])]
    assert judge([level(relation, bound)], tables)["verdict"].item() == verdict


def test_a_missed_level_names_the_runs_that_keep_to_it_but_none_that_is_only_noisy():
    tables = [
        repetitions("l0_printed", pnw=[3.0, 5.0]),
        repetitions("l0_global", pnw=[6.0, 6.2]),
        repetitions("l0_lloyd", pnw=[2.0, 2.2]),
    ]
    (line,) = judge([level("at least", 6.0)], tables).itertuples()
    assert line.verdict == EXPLAINED
    assert line.reason == "Met by ℓ₀-k-means, global search (6.1 ± 0.033)."
    # A run as far from ours as noise allows explains nothing.
    noisy = tables[1].assign(pnw=np.r_[np.full(9, 4.0), 24.0])
    (bare,) = judge([level("at least", 6.0)], [tables[0], noisy]).itertuples()
    assert bare.verdict == UNEXPLAINED


def test_a_printed_mean_and_its_bracket_are_two_claims():
    values = np.array([0.2, 0.2, 0.2, 0.2, 0.25, 0.35, 0.4, 0.4, 0.4, 0.4])
    tables = [repetitions("l0_printed", cer=values)]
    lines = judge([], tables, ("l0", "cer", 0.31, 0.01)).set_index("kind")
    assert lines.loc["number", "verdict"] == REPRODUCED
    spread = lines.loc["spread"]
    assert spread["ours"] == pytest.approx(np.std(values, ddof=1))
    # The root of the bracket is 0.1, our standard deviation 0.097.
    assert spread["verdict"] == EXPLAINED
    assert spread["reason"] == "If the bracket is a variance, it agrees with our 0.0094."


def test_the_papers_tables_are_complete_and_only_the_atlas_is_an_excuse(project_root):
    paper = read_paper_values(project_root / "data" / "paper" / "simulations.csv")
    assert not paper.duplicated(["experiment", "setting", "method", "metric"]).any()
    counts = paper.groupby(["table", "metric"]).size().to_dict()
    assert counts == {
        (1, "pzw"): 18, (1, "pnw"): 18,
        (2, "cer"): 10, (2, "pzw"): 10, (2, "pnw"): 10,
        (3, "pzw"): 6, (3, "pnw"): 6,
    }  # fmt: skip
    claims = read_paper_claims(project_root / "data" / "paper" / "claims.csv")
    assert len({claim.name for claim in claims}) == len(claims)
    for claim in claims:
        assert {claim.left, claim.right} <= {"", "relevant", *paper["method"]}, claim
        assert claim.kind != "atlas" or "3.2" in claim.where
        if claim.kind in ("order", "level", "repeat"):
            assert claim.settings, claim
            assert claim.metric in METRICS
            assert (claim.kind == "order") == bool(claim.right)
            assert (claim.kind == "level") == (not np.isnan(claim.bound))
