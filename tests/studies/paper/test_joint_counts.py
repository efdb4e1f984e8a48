"""Printed counts of features that no data of a design give together."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from sparsekm.studies.paper.joint_counts import explain_counts, least_sd_dropped
from sparsekm.studies.paper.repetition import METRICS
from sparsekm.studies.paper.study_summary import summarise
from sparsekm.studies.paper.study_values import StudyValues
from sparsekm.studies.paper.versus_paper import compare_rows

SETTING = {"experiment": "experiment_4", "setting": "rho0.1"}


def test_no_four_repetitions_spread_less_than_the_bound_and_some_as_little():
    ratios = []
    for shown in product([(0, 0), (1, 0), (4, 0), (0, 1), (0, 6)], repeat=4):
        dropped, kept = np.transpose(shown)
        if dropped.any() and kept.any():
            least_n, least = least_sd_dropped(dropped.mean(), kept.mean(), kept.std(ddof=1), 4)
            assert np.count_nonzero(kept) >= least_n
            ratios.append(dropped.std(ddof=1) / least)
    assert min(ratios) == pytest.approx(1)


def test_where_nothing_is_dropped_or_kept_nothing_has_to_spread():
    assert least_sd_dropped(0.0, 5.0, 1.0, 20) == (0, 0.0)
    assert least_sd_dropped(5.0, -0.5, 1.0, 20) == (0, 0.0)
    # Noise that is kept in every repetition leaves none in which a feature could be dropped.
    assert least_sd_dropped(5.0, 3.0, 0.0, 20) == (20, np.inf)


def run(row, dropped, kept):
    """Tabulate ten fits: 200 features less those dropped, and of 1,800 more those kept."""
    counts = {"pnw": 200 - np.resize(dropped, 10), "pzw": 1800 - np.resize(kept, 10)}
    counts["nw"] = counts["pnw"] + 1800 - counts["pzw"]
    metrics = {**dict.fromkeys(METRICS, 0.0), **counts}
    return pd.DataFrame({**SETTING, "method": row, "replicate": range(10), **metrics})


def explain(tables, pnw, pzw, metric="pnw"):
    ran = pd.concat(tables)
    cells = [("kmeans", "pnw", (200, 0)), ("l1", "pnw", pnw), ("l1", "pzw", pzw)]
    printed = pd.DataFrame(
        [
            {"table": 3, **SETTING, "method": m, "metric": c, "value": v, "bracket": b}
            for m, c, (v, b) in cells
        ]
    )
    comparison = compare_rows(summarise(ran), printed)
    chosen = (comparison["row"] == "l1") & (comparison["metric"] == metric)
    (line,) = comparison[chosen].itertuples()
    return explain_counts(line, comparison, StudyValues(ran, printed))


APART = [run("l1", dropped=[0, 9], kept=[4, 0]), run("l1_lloyd", dropped=0, kept=[0, 30])]


def test_counts_that_cannot_go_together_are_a_reason_for_either():
    # Of 46 kept with a spread of 33, at least 45.5² / (45.5² + 33.5² * 19/20) = .66 of 20 drop
    # none: 14. The 11.5 dropped spread by 11.5 * (14/6 * 20/19)^.5 = 18.02.
    for metric in ("pnw", "pzw"):
        text = explain(APART, (188.0, 13.0), (1754.0, 33.0), metric)
        assert "in none of 20 fits of the method" in text
        assert "at least 14 of 20 repetitions that keep all 200" in text
        assert text.endswith("a standard deviation of at least 18, where 13 is printed")


def test_counts_that_can_go_together_are_none():
    assert explain(APART, (188.0, 18.0), (1754.0, 33.0)) == ""
    assert explain(APART, (188.0, np.nan), (1754.0, 33.0)) == ""
    assert explain(APART, (200.0, 1.0), (1754.0, 33.0)) == ""


def test_one_fit_that_keeps_noise_before_a_relevant_feature_takes_the_reason_away():
    mixed = run("l1_carried", dropped=[1] + [0] * 9, kept=[1] + [0] * 9)
    assert explain([*APART, mixed], (188.0, 13.0), (1754.0, 33.0)) == ""
