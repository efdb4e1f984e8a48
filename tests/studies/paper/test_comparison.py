"""Summaries and comparisons, worked by hand."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.studies.paper.comparison import compare_rows, spread_error, summarise
from sparsekm.studies.paper.plan import stand_ins
from sparsekm.studies.paper.repetition import METRICS


def repetitions(row, cer, pzw, setting="p25"):
    # Ten repetitions, the fewest that are judged, of two values in turn.
    keys = {"experiment": "experiment_3", "setting": setting, "method": row}
    values = {**dict.fromkeys(METRICS, 5.0), "sparsity": np.nan}
    values |= {"cer": np.tile(cer, 5), "pzw": np.tile(pzw, 5)}
    return pd.DataFrame({**keys, "replicate": range(10), **values})


PAPER = pd.DataFrame(
    {
        "table": 2,
        "experiment": "experiment_3",
        "setting": "p25",
        "method": ["l0", "l0", "l0", "kmeans", "kmeans"],
        "metric": ["cer", "pzw", "pnw", "cer", "pzw"],
        "value": [0.3, 10.0, 5.0, 0.5, 0.0],
        "bracket": [0.002, np.nan, np.nan, np.nan, np.nan],
    }
)
# The standard error of ten values that are 1 below and 1 above their mean in turn.
SE = np.sqrt(10 / 9) / np.sqrt(10)


def compare(*tables):
    return compare_rows(summarise(pd.concat(tables)), PAPER)


@pytest.fixture
def comparison():
    return compare(
        repetitions("l0_carried", [0.3, 0.1], [9, 12]),
        repetitions("relevant", [0.0, 0.0], [20, 20]),
        repetitions("l0_alternate", [0.1, 0.3], [16, 18]),
        repetitions("l0_lloyd", [0.3, 0.3], [14, 16]),
        repetitions("kmeans", [0.1, 0.1], [0, 0]),
    )


def test_means_and_standard_errors_are_those_of_ten_numbers():
    summary = summarise(repetitions("l0_alternate", [0.1, 0.3], [16, 18])).set_index("metric")
    assert summary.loc["cer", ["n", "mean"]].tolist() == [10, pytest.approx(0.2)]
    assert summary.loc["cer", "se"] == pytest.approx(0.1 * SE)
    assert summary.loc["pzw", "se"] == pytest.approx(SE)
    assert "sparsity" not in summary.index


def test_a_difference_is_measured_in_our_error_and_that_of_twenty_more(comparison):
    line = comparison.set_index(["row", "metric"]).loc[("l0_alternate", "pzw")]
    assert line["difference"] == 7.0
    # Ours has the variance s^2 / 10, theirs s^2 / 20.
    assert line["units"] == pytest.approx(7 / np.sqrt(1.5) / SE)


def test_a_mean_at_the_end_of_its_range_has_no_error():
    ends = PAPER.assign(value=[0.3, 0.0, 5.0, 0.5, 0.0])
    compared = compare_rows(summarise(repetitions("l0_alternate", [0.1, 0.3], [16, 18])), ends)
    line = compared.set_index("metric").loc["pzw"]
    assert line["units"] == pytest.approx(17 / SE)


@pytest.mark.parametrize("draw", ["standard_normal", "standard_exponential"])
def test_the_error_of_a_spread_is_that_of_repeated_draws(draw):
    """Of skewed values too: for an exponential one the normal formula gives half of it."""
    values = getattr(np.random.default_rng(0), draw)((1000, 400))
    errors = [spread_error(row) for row in values]
    assert np.median(errors) == pytest.approx(values.std(axis=1, ddof=1).std(), rel=0.15)


def test_what_could_not_differ_is_not_compared(comparison):
    # k-means keeps everything: its PZW is 0 whatever the data.
    assert set(comparison.loc[comparison["row"] == "kmeans", "metric"]) == {"cer"}
    assert set(comparison["row"]) == {"kmeans", "l0_alternate", "l0_carried", "l0_lloyd"}
    assert set(comparison.loc[comparison["row"] == "l0_carried", "method"]) == {"l0"}


def test_one_row_is_judged_for_each_of_the_papers_methods_the_printed_algorithm_first():
    ran = {"relevant", "kmeans", "l0_global", "l0_printed", "l0_alternate", "l1_lloyd"}
    assert stand_ins(ran) == {"kmeans": "kmeans", "l0": "l0_printed"}
    assert stand_ins(ran - {"l0_printed"})["l0"] == "l0_alternate"
