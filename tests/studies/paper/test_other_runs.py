"""Which other runs explain a printed number that ours differs from, worked by hand."""

import numpy as np
import pandas as pd

from sparsekm.studies.paper.other_runs import explain_bracket, explain_difference
from sparsekm.studies.paper.repetition import METRICS
from sparsekm.studies.paper.study_summary import summarise
from sparsekm.studies.paper.study_values import StudyValues
from sparsekm.studies.paper.versus_paper import compare_rows


def run(row, n=10, setting=("experiment_3", "p25"), **metrics):
    """Let every metric take its values in turn."""
    keys = {"experiment": setting[0], "setting": setting[1], "method": row, "replicate": range(n)}
    values = {**dict.fromkeys(METRICS, 5.0), **metrics}
    return pd.DataFrame({**keys, **{name: np.resize(v, n) for name, v in values.items()}})


def explain(tables, row, metric="pzw", how=explain_difference, **paper):
    """Explain a row's number beside those that the paper prints: value, or (value, bracket)."""
    ran = pd.concat(tables)
    printed = pd.DataFrame(
        [
            {
                **{"table": 2, "experiment": ran["experiment"].iloc[0]},
                **{"setting": ran["setting"].iloc[0], "method": row.partition("_")[0]},
                **{"metric": name, "value": np.ravel(number)[0]},
                "bracket": np.r_[number, np.nan][1],
            }
            for name, number in paper.items()
        ]
    )
    comparison = compare_rows(summarise(ran), printed)
    chosen = (comparison["row"] == row) & (comparison["metric"] == metric)
    (line,) = comparison[chosen].itertuples()
    if how is explain_bracket:
        return how(line, comparison)
    return how(line, comparison, StudyValues(ran, printed))


OURS = run("l0_alternate", pzw=[16, 18])
LLOYD = run("l0_lloyd", pzw=[14, 16])


def test_the_explanation_names_the_runs_that_meet_the_paper_and_no_other():
    # Carried 10.5 +- 0.5 is 0.8 units from 10; Lloyd 15 +- 1/3 is 12 units off.
    tables = [run("l0_carried", pzw=[9, 12]), run("relevant", pzw=20), OURS, LLOYD]
    met, text = explain(tables, "l0_alternate", pzw=10.0)
    assert met
    assert text.startswith("the paper's value is met by")
    assert "labels carried up the grid [starts]: 10.5 ± 0.5, +0.8 units" in text
    assert "Lloyd" not in text


def test_a_noisy_run_that_is_no_nearer_than_chance_explains_nothing():
    # 14 +- 4 on the same data is 1 error from the paper's 10, but also from our 17.
    noisy = run("l0_carried", pzw=[30, 2, 2, 2, 30, 2, 30, 2, 30, 10])
    met, text = explain([OURS, noisy], "l0_alternate", pzw=10.0)
    assert not met
    assert text.startswith("nearer to the paper's value, but within noise, is ℓ₀, one k-means")


def test_every_run_compared_makes_it_harder_to_have_moved():
    # Differences of 10 and 0 in turn, five of each: p = .007 for one run, .05 for eight.
    near = run("l0_carried", pzw=[6, 18])
    assert explain([OURS, near], "l0_alternate", pzw=10.0)[0]
    same = [
        OURS.assign(method=name)
        for name in (
            *("l0_printed", "l0_six_rounds", "l0_lloyd", "l0_fine_grid", "l0_unscaled"),
            *("l0_overwritten", "l0_global"),
        )
    ]
    assert not explain([OURS, near, *same], "l0_alternate", pzw=10.0)[0]


def test_a_bracket_is_met_only_by_a_spread_that_moved_towards_it():
    # Spreads of 97 and 141, both made by two values, are alike but for noise.
    ours = run("l0_alternate", n=20, pzw=[1000] * 18 + [700, 1300])
    rough = run("l0_carried", pzw=[1000] * 8 + [700, 1300])
    paper = {"pzw": (1000.0, 200.0)}
    assert explain([ours, rough], "l0_alternate", how=explain_bracket, **paper) == (
        False,
        "no other run meets both the mean and its bracket",
    )
    # The spread of two values in turn is known almost without error.
    calm = run("l0_alternate", n=20, pzw=[905, 1095])
    clear = run("l0_carried", pzw=[810, 1190])
    assert explain([calm, clear], "l0_alternate", how=explain_bracket, **paper)[0]


def test_where_no_run_meets_the_paper_the_nearest_is_named_or_the_lack_told():
    kmeans = run("kmeans", cer=0.1)
    assert explain([kmeans], "kmeans", "cer", cer=0.5) == (
        False,
        "every repetition gave our value; no other run of this method to compare with",
    )
    met, text = explain([OURS, LLOYD], "l0_alternate", pzw=10.0)
    assert not met
    assert text.startswith("none of 1 other runs meets")
    assert "Lloyd" in text


def test_runs_that_always_give_another_value_are_named_beside_one_that_never_varies():
    tables = [
        run("l0_alternate", pzw=16),
        run("l0_fine_grid", pzw=20),
        run("l0_lloyd", pzw=16),
    ]
    _, text = explain(tables, "l0_alternate", pzw=10.0)
    assert text.startswith("every repetition gave our value, every one of ")
    assert "40 sparsities [starts and grid of sparsities] 20.0; none of 2 other runs" in text


def test_only_the_nearest_runs_are_named():
    variants = ["l0_carried", "l0_lloyd", "l0_overwritten", "l0_fine_grid"]
    near = [run(name, pzw=[9, 11.2 + 0.1 * i]) for i, name in enumerate(variants)]
    _, text = explain([run("l0_alternate", pzw=[30, 31]), *near], "l0_alternate", pzw=10.0)
    assert text.count("±") == 3
    assert text.endswith("; and 1 more")
    assert text.index("10.1 ± 0.4") < text.index("10.2 ± 0.4")
