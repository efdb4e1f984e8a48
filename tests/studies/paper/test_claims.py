"""Verdicts on the paper's claims, worked by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from sparsekm.studies.paper.claim_verdicts import (
    CANNOT_BE_TESTED,
    NOT_JUDGED,
    NOT_REPRODUCED,
    OPEN,
    REPRODUCED,
    WITH_REASON,
    WITHOUT_REASON,
    holm,
    judge_claims,
)
from sparsekm.studies.paper.paper_claims import PaperClaim, read_paper_claims
from sparsekm.studies.paper.repetition import METRICS
from sparsekm.studies.paper.settings import get_setting
from sparsekm.studies.paper.study_summary import read_paper_values, summarise
from sparsekm.studies.paper.versus_paper import compare_rows
from sparsekm.studies.theory.checks import CHECKS, COLUMNS

P25, P500 = (get_setting("experiment_3", name) for name in ("p25", "p500"))
TWIN = get_setting("experiment_2", "mu0.7_p500")


def repetitions(row, setting=P25, n=10, **metrics):
    """Let every metric take two values in turn."""
    keys = {"experiment": setting.experiment, "setting": setting.name, "method": row}
    values = {**dict.fromkeys(METRICS, 0.0), **metrics}
    return pd.DataFrame(
        {**keys, "replicate": range(n), **{k: np.resize(v, n) for k, v in values.items()}}
    )


def printed(*cells):
    """Make a table of the paper's from (setting, method, metric, value, bracket)."""
    columns = ["table", "experiment", "setting", "method", "metric", "value", "bracket"]
    lines = [[2, setting.experiment, setting.name, *cell] for setting, *cell in cells]
    return pd.DataFrame(lines, columns=columns)


def judge(claims, tables, paper=None):
    paper = printed() if paper is None else paper
    ran = pd.concat(tables, ignore_index=True)
    return judge_claims(claims, ran, paper, compare_rows(summarise(ran), paper))


def order(left="l0", right="kmeans", metric="cer", settings=(P25,)):
    return PaperClaim("c", "w", "s", "order", settings, metric, left, "below", right)


def level(relation, bound, metric="pnw"):
    return PaperClaim("c", "w", "s", "level", (P25,), metric, "l0", relation, bound=bound)


def test_holm_multiplies_the_smallest_by_the_number_of_tests_and_never_falls():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


def test_an_order_is_judged_by_pairs_over_the_same_data():
    # Differences are -0.1 and -0.3 in turn although the values overlap.
    tables = [
        repetitions("kmeans", cer=[0.2, 0.6]),
        repetitions("l0_printed", cer=[0.1, 0.3]),
    ]
    (line,) = judge([order()], tables).itertuples()
    se = 0.1 / 3
    assert (line.verdict, line.ours, line.se) == (
        REPRODUCED, pytest.approx(-0.2), pytest.approx(se),
    )  # fmt: skip
    assert line.p_value == pytest.approx(t.cdf(-0.2 / se, 9))
    assert line.reason == ""


def test_a_row_of_the_study_can_be_one_side_of_an_order():
    tables = [repetitions("kmeans", cer=[0.2, 0.4]), repetitions("relevant", cer=[0.1, 0.1])]
    (line,) = judge([order("relevant")], tables).itertuples()
    assert line.verdict == REPRODUCED
    (reverse,) = judge([order("kmeans", "relevant")], tables).itertuples()
    assert "the other way round" in reverse.reason


def test_two_methods_that_are_equal_in_every_repetition_contradict_no_order():
    tables = [repetitions(name, cer=[0.0, 0.0]) for name in ("kmeans", "l0_printed")]
    for claim in (order(), order("kmeans", "l0")):
        (line,) = judge([claim], tables).itertuples()
        assert (line.verdict, line.outcome) == (NOT_REPRODUCED, OPEN)
        assert "the other way round" not in line.reason


def test_an_order_within_noise_is_not_reproduced_and_other_rows_that_show_it_are_named():
    tables = [
        repetitions("kmeans", cer=[0.2, 0.4]),
        repetitions("l0_printed", cer=[0.39, 0.2]),
        repetitions("l0_global", cer=[0.1, 0.3]),
    ]
    (line,) = judge([order()], tables).itertuples()
    assert line.verdict == NOT_REPRODUCED
    assert line.outcome == OPEN
    assert "within noise" in line.reason
    assert "It holds with other runs: ℓ₀-k-means, global search." in line.reason
    better = tables[2].assign(method="l0_printed")
    (reverse,) = judge([order("kmeans", "l0")], [tables[0], better]).itertuples()
    assert "the other way round" in reverse.reason


def test_a_contrary_order_is_told_only_beyond_the_number_of_tests():
    # Left is above right by 0.03 and 0.01 in turn: p = .0001 by itself; 0.05 and -0.03: p = .23.
    tables = [repetitions("kmeans", cer=[0.2, 0.4]), repetitions("l0_printed", cer=[0.23, 0.41])]
    noisy = [repetitions("kmeans", P500, cer=[0.2, 0.4]),
             repetitions("l0_printed", P500, cer=[0.25, 0.37])]  # fmt: skip
    lines = judge([order(settings=(P25, P500))], tables + noisy)
    assert lines["outcome"].tolist() == [WITHOUT_REASON, OPEN]
    told = [reason.partition(".")[0] for reason in lines["reason"]]
    assert told == ["It is the other way round", "The difference is within noise"]
    # The first alone would be contrary at p = .03; beside another test it is not.
    weak = tables[1].assign(cer=np.resize([0.28, 0.36], 10))
    (alone,) = judge([order()], [tables[0], weak]).itertuples()
    assert alone.outcome == OPEN


def test_a_contrary_order_has_a_reason_where_it_vanishes_with_a_like_search():
    tables = [
        repetitions("l1", cer=[0.1, 0.2]),
        repetitions("l0_printed", cer=[0.2, 0.31]),
        repetitions("l1_lloyd", cer=[0.22, 0.29]),
    ]
    (line,) = judge([order("l0", "l1")], tables).itertuples()
    assert line.outcome == WITH_REASON
    assert line.reason == (
        "It is the other way round. With other runs the two do not differ: ℓ₁, one start of "
        "Lloyd's k-means."
    )
    (bare,) = judge([order("l0", "l1")], tables[:2]).itertuples()
    assert (bare.outcome, bare.reason) == (WITHOUT_REASON, "It is the other way round.")


def test_a_text_against_the_papers_own_table_is_told():
    paper = printed((P25, "pca", "cer", 0.103, np.nan), (P25, "l1", "cer", 0.171, np.nan))
    tables = [repetitions("pca", cer=[0.1, 0.1]), repetitions("l1", cer=[0.2, 0.2])]
    lines = judge([order("l1", "pca")], tables, paper).set_index("kind")
    line = lines.loc["order"]
    assert line["theirs"] == pytest.approx(0.171 - 0.103)
    assert line["verdict"] == NOT_REPRODUCED
    assert line["outcome"] == WITH_REASON
    assert "The paper's own table says otherwise." in line["reason"]


def test_a_level_is_reproduced_where_our_mean_keeps_to_it_and_open_within_noise():
    tables = [repetitions("l0_printed", pnw=[3.0, 5.0], sparsity=[150.0])]
    outcomes = {
        (relation, bound): judge([level(relation, bound)], tables)["outcome"].item()
        for relation, bound in [("at least", 4.0), ("at least", 4.2), ("at least", 6.0),
                                ("at most", 3.0), ("about", 5.0), ("about", 9.0)]
    }  # fmt: skip
    assert outcomes == {
        ("at least", 4.0): "",
        ("at least", 4.2): OPEN,
        ("at least", 6.0): WITHOUT_REASON,
        ("at most", 3.0): WITHOUT_REASON,
        ("about", 5.0): "",
        ("about", 9.0): WITHOUT_REASON,
    }
    (within,) = judge([level("at least", 4.2)], tables).itertuples()
    assert within.verdict == NOT_REPRODUCED
    assert within.reason == "The difference is within noise. Our mean is not at least 4.2."
    constant = judge([level("about", 200.0, "sparsity")], tables)
    assert constant["p_value"].item() == 0.0


def test_a_missed_level_names_the_runs_that_keep_to_it():
    tables = [
        repetitions("l0_printed", pnw=[3.0, 5.0]),
        repetitions("l0_global", pnw=[6.0, 6.2]),
        repetitions("l0_lloyd", pnw=[2.0, 2.2]),
    ]
    (line,) = judge([level("at least", 6.0)], tables).itertuples()
    assert line.outcome == WITH_REASON
    assert line.reason == (
        "Our mean is not at least 6. It is with other runs: ℓ₀-k-means, global search [search]: "
        "6.10 ± 0.03."
    )
    (bare,) = judge([level("at least", 6.0)], tables[:1]).itertuples()
    assert bare.outcome == WITHOUT_REASON


def test_a_run_that_only_comes_near_a_level_is_not_said_to_keep_to_it():
    tables = [repetitions("l0_printed", pnw=[3.0, 5.0]), repetitions("l0_global", pnw=[5.0, 6.9])]
    (line,) = judge([level("at least", 6.0)], tables).itertuples()
    assert line.outcome == WITH_REASON
    assert line.reason == (
        "Our mean is not at least 6. With other runs it misses the bound within noise: ℓ₀-k-means, "
        "global search [search]: 6.0 ± 0.3."
    )
    # As far from ours as noise allows, it explains nothing.
    noisy = tables[1].assign(pnw=np.r_[np.full(9, 4.0), 24.0])
    (bare,) = judge([level("at least", 6.0)], [tables[0], noisy]).itertuples()
    assert bare.outcome == WITHOUT_REASON


def test_a_reading_that_the_papers_own_number_breaks_is_told_even_where_ours_keeps_to_it():
    paper = printed((P25, "l0", "pnw", 3.5, np.nan))
    tables = [repetitions("l0_printed", pnw=[4.0, 5.0])]
    line = judge([level("at least", 4.0)], tables, paper).set_index("kind").loc["level"]
    assert line["verdict"] == REPRODUCED
    assert line["reason"] == "The paper's own number is not at least 4."


def test_two_means_of_one_design_are_held_to_our_errors():
    claim = PaperClaim("c", "w", "s", "repeat", (TWIN, P500), "pzw", "l1", "equal")
    tables = [repetitions("l1", setting, pzw=[290.0, 310.0]) for setting in (TWIN, P500)]
    far = printed((TWIN, "l1", "pzw", 295.5, np.nan), (P500, "l1", "pzw", 315, np.nan))
    near = far.assign(value=[295.5, 297.0])
    assert judge([claim], tables, far).set_index("kind").loc["repeat", "verdict"] == NOT_REPRODUCED
    line = judge([claim], tables, near).set_index("kind").loc["repeat"]
    assert (line["verdict"], line["theirs"]) == (REPRODUCED, -1.5)
    # Each mean has the error sqrt(1000 / 9 / 10).
    assert line["se"] == pytest.approx(np.sqrt(2 * 1000 / 90))


def test_a_printed_mean_and_its_bracket_are_two_claims():
    paper = printed((P25, "l0", "cer", 0.31, 0.01))
    tables = [
        repetitions("l0_printed", cer=[0.2, 0.4]),
        repetitions("l0_global", cer=[0.1, 0.1]),
    ]
    lines = judge([], tables, paper).set_index("kind")
    assert lines.loc["number", "verdict"] == REPRODUCED
    assert lines.loc["number", "reason"] == ""
    spread = lines.loc["spread"]
    sd = 0.1 * np.sqrt(10 / 9)
    assert spread["ours"] == pytest.approx(sd)
    # A sample less, and the sum of squares is 9 (n - 1) / n = 80 / 81 of what it would be else: the
    # jackknife's logarithms are all alike.
    assert spread["se"] == pytest.approx(0.0, abs=1e-12)
    assert spread["p_value"] == 0.0
    # The root of the bracket is 0.1, our standard deviation 0.105.
    assert spread["verdict"] == NOT_REPRODUCED
    assert spread["outcome"] == WITH_REASON
    assert spread["reason"] == "As a variance the bracket agrees: ours is 0.0111."


def test_few_repetitions_flag_nothing():
    paper = printed((P25, "l0", "cer", 0.9, 0.01))
    tables = [repetitions(row, n=2, cer=[0.2, 0.2]) for row in ("l0_printed", "kmeans")]
    lines = judge([order(), level("at least", 100.0)], tables, paper)
    assert lines["verdict"].tolist() == [NOT_JUDGED, NOT_JUDGED]
    assert lines["p_value"].isna().all()


def test_what_only_the_atlas_can_tell_is_not_tested():
    claim = PaperClaim("c", "w", "s", "atlas", remark="The table says five of seven.")
    (line,) = judge([claim], [repetitions("kmeans")]).itertuples()
    assert line.verdict == CANNOT_BE_TESTED
    assert line.reason == "It needs the data of the atlas. The table says five of seven."


def test_theory_takes_the_verdict_of_its_computation():
    claim = PaperClaim("c", "w", "s", "theory", metric="kappa", remark="At mu = 0.6.")
    ran = repetitions("kmeans")
    compared = compare_rows(summarise(ran), printed())
    found = {"check": "kappa", "holds": False, "ours": 2.0, "theirs": 1.0}
    checks = pd.DataFrame([{**found, "reason": "It lacks ln K."}], columns=list(COLUMNS))
    (line,) = judge_claims([claim], ran, printed(), compared, checks).itertuples()
    assert (line.verdict, line.ours, line.theirs) == (NOT_REPRODUCED, 2.0, 1.0)
    assert line.reason == "It lacks ln K. At mu = 0.6."
    (line,) = judge_claims([claim], ran, printed(), compared).itertuples()
    assert line.verdict == NOT_JUDGED


@pytest.fixture(scope="module")
def claims(project_root):
    return read_paper_claims(project_root / "data" / "paper" / "claims.csv")


def test_only_the_atlas_is_an_excuse(claims, project_root):
    """Every other claim has what judging it needs, and its numbers are those of the tables."""
    paper = read_paper_values(project_root / "data" / "paper" / "simulations.csv")
    methods = {"", "relevant", *paper["method"]}
    for claim in claims:
        assert {claim.left, claim.right} <= methods, claim
        if claim.kind == "atlas":
            assert "3.2" in claim.where
            continue
        if claim.kind == "theory":
            assert claim.metric in CHECKS
            continue
        assert claim.settings, claim
        assert claim.metric in METRICS
        assert (claim.kind == "order") == bool(claim.right)
        assert (claim.kind == "level") == (not np.isnan(claim.bound))
        if claim.kind == "level":
            low, high = claim.interval
            assert low < high


def test_a_claim_that_cannot_be_read_is_refused(tmp_path, project_root):
    source = (project_root / "data" / "paper" / "claims.csv").read_text(encoding="utf-8")
    file = tmp_path / "claims.csv"
    file.write_text(
        source.replace("order,experiment_1/p2000", "ordre,experiment_1/p2000"), encoding="utf-8"
    )
    with pytest.raises(ValueError, match="experiment_1_cer: kind='ordre' should be one of"):
        read_paper_claims(file)
    file.write_text(source + source.splitlines()[1] + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'gap_near_200' should stand there once"):
        read_paper_claims(file)
