"""The first screen of a data set says what the files of its run say, restarts included."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from html_page import Page

from sparsekm.annotation.gene_table import gene_table
from sparsekm.io.tables import SEEDS
from sparsekm.reporting.clusters import view_answer, view_batches
from sparsekm.reporting.report import write_report

TOUCH = "they shade into each other, or cut a gradient into parts"


def separation(*pairs):
    """A table of pairs of clusters, with their adjusted p."""
    rows = [(a, b, p, p, 1, 9, 9) for a, b, p in pairs]
    columns = ["cluster_a", "cluster_b", "p", "p_adjusted", "n_middle", "n_a", "n_b"]
    return pd.DataFrame(rows, columns=columns)


def with_sparse(result, *pairs, **changes):
    """Add the recommended method, whose clusters are those of the others but for the changes."""
    table = separation(*pairs)
    attributes = {"signature_agreement": 0.97, "has_clusters": (table["p_adjusted"] <= 0.05).any()}
    given = {
        "name": "sparse",
        "gap": None,
        "separation": table,
        "reproducibility": np.linspace(0.8, 1, result.n_samples),
        "signature": np.array([0, 5]),
        "attributes": attributes,
        **changes,
    }
    sparse = replace(result.methods["l0"], **given)
    methods = {**result.methods, "sparse": sparse}
    return replace(result, methods=methods, genes=gene_table(result.var, methods))


@pytest.fixture
def answered(matrix_result):
    return with_sparse(matrix_result, (0, 1, 1e-6), (1, 2, 0.4))


def facts(result, settings=None):
    return dict(view_answer(result, settings)["facts"])


def test_the_recommended_method_leads(answered):
    assert "found by Sparse k-means in 6 features" in view_answer(answered)["lead"]
    assert view_answer(answered)["sizes"] == {0: 4, 1: 4, 2: 4}


def test_which_clusters_stand_apart_and_which_touch_is_told(answered, matrix_result):
    assert facts(answered)["Apart?"] == f"Apart: 0 and 1. Touching: 1 and 2; {TOUCH}."
    every = facts(with_sparse(matrix_result, (0, 1, 1e-6), (1, 2, 0.04)))["Apart?"]
    assert every.startswith("All 3 clusters stand apart: samples left out leave a gap")
    assert "(p ≤ 0.04)" in every
    assert "Apart?" not in facts(matrix_result)


def test_where_nothing_stands_apart_the_first_sentence_says_so(matrix_result):
    none = with_sparse(matrix_result, (0, 1, 0.2), (1, 2, 0.4), signature=None)
    lead = view_answer(none)["lead"]
    assert "None of them stands apart from the others." in lead
    assert "No small set of features tells them apart." in lead
    assert facts(none)["Apart?"] == f"No clusters stand apart: {TOUCH}."
    assert facts(none)["Told apart by"].startswith("No small set of features tells the clusters")


def test_the_signature_is_named_and_what_differs_is_called_optimistic(answered):
    told = facts(answered)
    names = sorted(["g1", answered.var.index[5]], key=list(answered.genes["symbol"]).index)
    assert told["Told apart by"].startswith(f"2 features suffice: {', '.join(names)}. They put")
    assert "agreement 0.97" in told["Told apart by"]
    assert told["Differ at all"] == (
        "3 of 6 features. Optimistic: these were chosen because they differ."
    )


def test_reproducibility_is_a_mean_with_the_samples_below_it(answered):
    text = facts(answered)["Reproducible?"]
    assert "the same cluster in 90% of the fits; 6 samples in fewer than 90%." in text
    unknown = np.r_[np.full(6, np.nan), np.ones(6)]
    sparse = replace(answered.methods["sparse"], reproducibility=unknown)
    text = facts(replace(answered, methods={"sparse": sparse}))["Reproducible?"]
    assert text.endswith("in 100% of the fits.")


@pytest.mark.parametrize(
    ("settings", "groups", "told"),
    [
        ({}, None, "K = 3, the number of known classes; it was not estimated."),
        ({"n_clusters": 3}, None, "You set K = 3; it was not estimated."),
        ({}, [2, 3], "K = 3, estimated: the groups that stand apart if 2 to 3 are tried."),
        ({}, [1, 1], "K = 3, the most reproducible of 2 to 3: no groups stand apart, whichever"),
    ],
)
def test_how_the_number_of_clusters_was_decided_is_told(answered, settings, groups, told):
    counts = None
    if groups:
        counts = pd.DataFrame({"n_clusters": [2, 3], "n_groups": groups})
    assert facts(replace(answered, counts=counts), settings)["How many"].startswith(told)


def test_methods_that_disagree_are_named_with_their_agreement(answered):
    assert not any("disagree" in warning for warning in view_answer(answered)["warnings"])
    other = replace(answered.methods["l0"], labels=np.tile([0, 1, 2], 4).astype(np.int32))
    told = view_answer(replace(answered, methods={**answered.methods, "l0": other}))["warnings"]
    assert "The methods disagree. Other groups, with their agreement" in told[0]
    assert "ℓ₀-k-means (-0." in told[0]
    assert "ℓ₁" not in told[0]


def test_two_next_steps_are_commands_with_the_settings_of_the_run(answered):
    # As the command writes it into the folder of the run, beside which it is typed.
    settings = {
        "path": "../my data.csv",
        "labels": "kind",
        "transpose": False,
        "ignore": ["a", "b"],
    }
    other, batches = view_answer(answered, settings)["commands"]
    common = "sparsekm run 'my data.csv' --labels kind --no-transpose --ignore a b"
    assert other == f"{common} --clusters 4 --output toy-4"
    assert "--annotate COLUMN" in batches
    assert "--clusters 3" in batches


def test_the_page_begins_with_the_answer_and_folds_the_rest(answered, tmp_path):
    few = "<b>g1</b>"
    var = answered.var.rename(index={"g1": few})
    genes = answered.genes.replace({"symbol": {"g1": few}})
    write_report([replace(answered, var=var, genes=genes)], tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(html)
    places = [
        page.text.index(words)
        for words in ("3 clusters of 12", "Apart: 0 and 1", few, "The clusters", "What marks")
    ]
    assert places == sorted(places)
    assert few not in html
    # Outside of folded parts there are few words, however much there is inside.
    assert len(page.shown.split()) < 600
    assert html.count("standard error") <= 2


def with_batches(result, batch, centred):
    obs = result.obs.assign(batch=pd.Categorical(batch))
    changed = with_sparse(result, (0, 1, 1e-6), batch_centred=np.array(centred, dtype=np.int32))
    return replace(changed, obs=obs)


def test_clusters_that_are_batches_are_named_and_both_answers_shown(matrix_result):
    labels = matrix_result.methods["l0"].labels
    batch = np.where(labels == 0, "first", "second")
    result = with_batches(matrix_result, batch, np.roll(labels, 2))
    told = [text for text in view_answer(result)["warnings"] if "centring moves" in text]
    assert len(told) == 1
    assert "Cluster 0 is batch first" in told[0]
    table = view_batches(result)
    assert [head.text for head in table.heads].count("first") == 2
    assert [cell.text for cell in table.rows[0]][:4] == ["0", "4", "0%", "100%"]
    # Without a difference there is no warning, without batches no table.
    result = with_batches(matrix_result, np.tile(["a", "b"], len(labels) // 2), labels)
    assert not [text for text in view_answer(result)["warnings"] if "centring" in text]
    assert "agree with 1.00" in view_batches(result).caption
    assert view_batches(matrix_result) is None


def test_samples_that_were_set_aside_are_named(matrix_result):
    aside = np.zeros(matrix_result.n_samples, np.int8)
    assert "Set aside" not in facts(with_sparse(matrix_result, (0, 1, 1e-6), trimmed=aside))
    aside[[1, 3]] = 1
    told = facts(with_sparse(matrix_result, (0, 1, 1e-6), trimmed=aside))["Set aside"]
    names = matrix_result.obs.index
    assert f"farthest from their centres: {names[1]}, {names[3]}." in told


@pytest.fixture
def seeded(matrix_result):
    """Every method has three fits, whose error rates differ for l0."""
    methods = {}
    for name, method in matrix_result.methods.items():
        rates = np.array([0.125, 0.25, 0.0625] if name == "l0" else [0.3125] * 3)
        table = pd.DataFrame({"seed": range(3), "objective": method.objective})
        table["n_nonzero_weights"] = table["n_kept_too"] = method.n_kept
        table = table.assign(agreement=[1.0, 0.75, 0.875], cer=rates, cer_chance=0.5)
        table = table.assign(ari=1 - 2 * rates, ami=1 - 3 * rates)
        assert list(table) == list(SEEDS.columns)
        methods[name] = replace(method, seeds=table, metrics=table.iloc[0].to_dict())
    return replace(matrix_result, methods=methods)


def test_restarts_that_found_other_groups_are_told_first(seeded, matrix_result):
    warnings = view_answer(seeded)["warnings"]
    assert "2 of 2 restarts found other groups (agreement 0.75 to 0.88; 1: identical" in warnings[0]
    l0 = seeded.methods["l0"]
    better = replace(l0, seeds=l0.seeds.assign(objective=[1, 2, 1] * l0.seeds["objective"]))
    told = view_answer(replace(seeded, methods={"l0": better}))["warnings"][0]
    assert "other groups, 1 of them with a better fit (agreement" in told
    same = replace(l0, seeds=l0.seeds.assign(agreement=1.0))
    assert view_answer(replace(seeded, methods={"l0": same}))["warnings"] == []
    assert view_answer(matrix_result)["warnings"] == []


def test_the_comparison_has_the_agreement_over_seeds_of_every_method(seeded, tmp_path):
    write_report([seeded], tmp_path / "report.html")
    rows = Page((tmp_path / "report.html").read_text(encoding="utf-8")).rows(["method"])
    assert list(rows) == ["ℓ₀-k-means", "k-means", "ℓ₁-k-means"]
    assert rows["ℓ₀-k-means"][:4] == ["the answer", "0.75 to 0.88", "3", "0.1250"]
    assert rows["k-means"][:2] == ["1.00", "0.75 to 0.88"]
