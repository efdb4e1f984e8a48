"""Summaries and comparisons, worked by hand."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.studies.paper.study_summary import summarise
from sparsekm.studies.paper.versus_paper import (
    compare_rows,
    difference_in_units,
    explain_differences,
)


def repetitions(row, cer, pzw, setting="p25"):
    n = len(cer)
    return pd.DataFrame(
        {
            "experiment": "experiment_3",
            "setting": setting,
            "method": row,
            "replicate": range(n),
            "cer": cer,
            "ecr": cer,
            "nw": [7] * n,
            "pzw": pzw,
            "pnw": [5] * n,
            "sparsity": [np.nan] * n,
            "objective": [1.0] * n,
        }
    )


PAPER = pd.DataFrame(
    {
        "experiment": "experiment_3",
        "setting": "p25",
        "method": ["l0", "l0", "l0", "kmeans"],
        "metric": ["cer", "pzw", "pnw", "cer"],
        "value": [0.3, 10.0, 5.0, 0.5],
        "bracket": [0.002, np.nan, np.nan, np.nan],
    }
)


@pytest.fixture
def comparison():
    tables = [
        repetitions("l0_carried", [0.3, 0.1], [9, 12]),
        repetitions("relevant", [0.0, 0.0], [20, 20]),
        repetitions("l0_alternate", [0.1, 0.3], [16, 18]),
        repetitions("l0_lloyd", [0.3, 0.3], [14, 16]),
        repetitions("kmeans", [0.1, 0.1], [0, 0]),
    ]
    return compare_rows(summarise(tables), PAPER)


def test_means_and_standard_errors_are_those_of_two_numbers():
    summary = summarise([repetitions("l0_alternate", [0.1, 0.3], [16, 18])]).set_index("metric")
    # sd of (0.1, 0.3) is 0.2 / sqrt(2); divided by sqrt(2) the standard error is 0.1.
    assert summary.loc["cer", ["n", "mean"]].tolist() == [2, 0.2]
    assert summary.loc["cer", "se"] == pytest.approx(0.1)
    assert summary.loc["pzw", "se"] == pytest.approx(1.0)
    assert "sparsity" not in summary.index


def test_one_repetition_has_no_standard_error_and_is_not_judged():
    summary = summarise([repetitions("l0_alternate", [0.1], [16])])
    compared = explain_differences(compare_rows(summary, PAPER))
    assert compared["units"].isna().all()
    assert not compared["exceeds"].any()
    assert set(compared["explanation"]) == {"too few repetitions to judge"}


def test_a_difference_is_told_in_root_two_standard_errors(comparison):
    line = comparison.set_index(["row", "metric"]).loc[("l0_alternate", "pzw")]
    assert line["difference"] == 7.0
    assert line["units"] == pytest.approx(7 / np.sqrt(2))
    assert line["exceeds"]
    near = comparison.set_index(["row", "metric"]).loc[("l0_alternate", "cer")]
    assert near["units"] == pytest.approx(-0.1 / (np.sqrt(2) * 0.1))
    assert not near["exceeds"]


def test_without_spread_equal_values_agree_and_others_are_infinitely_far():
    assert difference_in_units(0.0, 0.0) == 0.0
    assert difference_in_units(0.1, 0.0) == np.inf
    assert np.isnan(difference_in_units(0.1, np.nan))


def test_the_floor_is_compared_with_nothing_and_variants_with_their_method(comparison):
    assert set(comparison["row"]) == {"kmeans", "l0_alternate", "l0_carried", "l0_lloyd"}
    assert set(comparison.loc[comparison["row"] == "l0_carried", "method"]) == {"l0"}


def test_the_explanation_names_the_runs_that_meet_the_paper_and_no_other(comparison):
    explained = explain_differences(comparison).set_index(["row", "metric"])
    assert set(explained.index.get_level_values("row")) == {"kmeans", "l0_alternate"}
    # PZW: carried 10.5 +- 1.5 meets 10; Lloyd 15 +- 1 is 3.5 units off.
    text = explained.loc[("l0_alternate", "pzw"), "explanation"]
    assert text.startswith("the paper's value is met by")
    assert "labels carried up the grid [starts]: 10.5 ± 1.5, +0.2 units" in text
    assert "Lloyd" not in text
    assert explained.loc[("l0_alternate", "cer"), "explanation"] == ""
    assert explained.loc[("l0_alternate", "pnw"), "explanation"] == ""
    assert explained.loc[("l0_alternate", "pzw"), "n_meeting"] == 1
    assert explained.loc[("kmeans", "cer"), "n_meeting"] == 0


def test_where_no_run_meets_the_paper_the_nearest_is_named_or_the_lack_told(comparison):
    alone = explain_differences(comparison).set_index(["row", "metric"])
    assert alone.loc[("kmeans", "cer"), "explanation"] == (
        "every repetition gave our value; no other run of this method to compare with"
    )
    without = comparison[comparison["row"] != "l0_carried"]
    text = explain_differences(without).set_index(["row", "metric"])["explanation"]
    assert text.loc[("l0_alternate", "pzw")].startswith("none of 1 other runs meets")
    assert "Lloyd" in text.loc[("l0_alternate", "pzw")]


def test_runs_that_always_give_another_value_are_named_beside_one_that_never_varies():
    tables = [
        repetitions("l0_alternate", [0.1, 0.1], [16, 16]),
        repetitions("l0_fine_grid", [0.1, 0.1], [20, 20]),
        repetitions("l0_lloyd", [0.1, 0.1], [16, 16]),
    ]
    compared = explain_differences(compare_rows(summarise(tables), PAPER))
    text = compared.set_index(["row", "metric"]).loc[("l0_alternate", "pzw"), "explanation"]
    assert text.startswith("every repetition gave our value, every one of ")
    assert "40 sparsities [starts and grid of sparsities] 20.0; none of 2 other runs" in text


def test_only_the_nearest_runs_are_named():
    variants = ["l0_carried", "l0_lloyd", "l0_unshared", "l0_fine_grid"]
    near = [repetitions(name, [0.1, 0.3], [9, 11 + i]) for i, name in enumerate(variants)]
    far = repetitions("l0_alternate", [0.1, 0.3], [30, 31])
    compared = explain_differences(compare_rows(summarise([far, *near]), PAPER))
    text = compared.set_index(["row", "metric"]).loc[("l0_alternate", "pzw"), "explanation"]
    assert text.count("±") == 3
    assert text.endswith("; and 1 more")
    assert text.index("10.0 ± 1.0") < text.index("10.5 ± 1.5") < text.index("11.0 ± 2.0")
