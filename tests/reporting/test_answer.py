"""The first screen of a data set and its tables of clusters say what the files of its run say."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sparsekm.annotation.gene_table import gene_table
from sparsekm.io.tables import SEEDS, SEPARATION
from sparsekm.reporting.clusters import view_answer, view_markers, view_meanings
from sparsekm.reporting.comparison_tables import compare_datasets, view_choices
from sparsekm.reporting.each_cluster import view_each_cluster
from sparsekm.reporting.figures import answer_figure, consensus_figure
from sparsekm.reporting.sample_map import project_samples

TOUCH = "noise, a gradient or overlapping groups can look like this"


def separation(*pairs):
    """A table of pairs of clusters: their adjusted p and, if it is not 0, the least of it."""
    rows = [(a, b, p, p, 1, 9, 9, 3.0, "4-1-4", *(least or [0])) for a, b, p, *least in pairs]
    return pd.DataFrame(rows, columns=list(SEPARATION.columns))


def with_sparse(result, *pairs, **changes):
    """Add the recommended method, whose clusters are those of the others but for the changes."""
    table = separation(*pairs)
    known = {"signature_agreement": 0.97, "has_clusters": (table["p_adjusted"] <= 0.05).any()}
    given = {"name": "sparse", "gaps": None, "separation": table, "signature": np.array([0, 5])}
    given |= known | {"reproducibility": np.linspace(0.8, 1, result.n_samples)}
    sparse = replace(result.methods["l0"], **given | changes)
    methods = {**result.methods, "sparse": sparse}
    return replace(result, methods=methods, genes=gene_table(result.var, methods))


@pytest.fixture
def answered(matrix_result):
    return with_sparse(matrix_result, (0, 1, 1e-6), (1, 2, 0.4))


def facts(result, settings=None):
    return dict(view_answer(result, settings)["facts"])


def test_the_recommended_method_leads_and_what_stands_apart_is_told(answered, matrix_result):
    assert "found by Sparse k-means in 6 features" in view_answer(answered)["lead"]
    assert view_answer(answered)["sizes"] == {0: 4, 1: 4, 2: 4}
    told = f"Clearly separated: 0 and 1. Not separated: 1 and 2; {TOUCH}."
    assert facts(answered)["Separated?"] == told
    every = facts(with_sparse(matrix_result, (0, 1, 1e-6), (1, 2, 0.04)))["Separated?"]
    assert every.startswith("All 3 clusters are clearly separated: left-out samples leave a gap")
    assert "(p ≤ 0.04)" in every
    assert "Separated?" not in facts(matrix_result)


def test_pairs_of_too_few_samples_are_neither_separated_nor_not(matrix_result):
    apart, touch, few = (0, 1, 1e-6), (1, 2, 0.4), (0, 2, 1.0, 0.2)
    too_few = "Too few samples or groups to tell: 0 and 2."
    told = facts(with_sparse(matrix_result, apart, few))["Separated?"]
    assert told == f"Clearly separated: 0 and 1. {too_few}"
    told = facts(with_sparse(matrix_result, apart, touch, few))["Separated?"]
    assert told == f"Clearly separated: 0 and 1. Not separated: 1 and 2; {TOUCH}. {too_few}"
    of_two = [with_sparse(matrix_result, *pairs) for pairs in ((apart, touch, few), (few,))]
    table = compare_datasets([replace(of, name=f"m{n}") for n, of in enumerate(of_two)])
    at = [head.text for head in table.heads].index("separated")
    assert [row[at].text for row in table.rows] == ["1 of 2", "too few"]


def test_where_nothing_stands_apart_the_first_sentence_says_so(matrix_result):
    none = with_sparse(matrix_result, (0, 1, 0.2), (1, 2, 0.4), signature=None)
    lead = view_answer(none)["lead"]
    assert lead.startswith(f"No separate groups found: {TOUCH}. The clusters are a division into 3")
    assert view_answer(none)["noun"] == "part"
    assert "Separated?" not in facts(none)
    few = with_sparse(matrix_result, (0, 1, 1.0, 0.1), (1, 2, 1.0, 1.0))
    told = "There are too few samples or groups to tell whether the clusters are separated."
    assert view_answer(few)["lead"].startswith(told)
    assert facts(none)["Signature"].startswith("None: the best set of features assigns left-out")


def test_the_signature_is_named_and_what_differs_is_called_optimistic(answered):
    told = facts(answered)
    names = sorted(["g1", answered.var.index[5]], key=list(answered.genes["symbol"]).index)
    assert told["Signature"] == (
        "2 features assign left-out samples to the clusters with agreement 0.97 (1: identical, 0: "
        f"chance): {', '.join(names)}."
    )
    assert told["Differ at all"] == (
        "3 of 6 features. Optimistic: these were chosen because they differ."
    )


def test_reproducibility_is_a_mean_with_the_samples_below_it(answered):
    text = facts(answered)["Reproducible?"]
    assert "keeps its cluster in 90% of the fits; 6 samples in fewer than 90%." in text
    unknown = np.r_[np.full(6, np.nan), np.ones(6)]
    sparse = replace(answered.methods["sparse"], reproducibility=unknown)
    text = facts(replace(answered, methods={"sparse": sparse}))["Reproducible?"]
    assert text.endswith("in 100% of the fits.")


@pytest.mark.parametrize(
    ("settings", "groups", "told"),
    [
        ({}, None, "K = 3, the number of known classes; it was not estimated."),
        ({"n_clusters": 3}, None, "You set K = 3; it was not estimated."),
        ({}, [2, 3], "K = 3, estimated: the number of clearly separated groups if 2 to 3"),
        ({}, [1, 1], "K = 3, the most reproducible of the numbers 2 to 3: no groups are separated"),
        (
            {"few": 1},
            [1, 1],
            "K = 3, the most reproducible of the numbers 2 to 3: there are too few samples",
        ),
    ],
)
def test_how_the_number_of_clusters_was_decided_is_told(
    answered, matrix_result, settings, groups, told
):
    if "few" in settings:
        answered = with_sparse(matrix_result, (0, 1, 1.0, 0.2))
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
    settings = {"path": "../my data.csv", "labels": "kind", "transpose": False}
    settings["ignore"] = ["a", "b"]
    other, batches = view_answer(answered, settings)["commands"].values()
    common = "sparsekm run 'my data.csv' --labels kind --no-transpose --ignore a b"
    assert other == f"{common} --clusters 4 --output toy-4"
    assert "--annotate COLUMN" in batches
    assert "--clusters 3" in batches


def test_where_counts_are_in_doubt_the_first_step_is_the_other_normalisation(answered, page_of):
    settings = {"path": "../reads.csv", "normalise": "counts", "n_top_features": 2000}
    assert view_answer(answered, settings)["other_scale"] == ""
    doubted = replace(answered, provenance={**answered.provenance, "doubted_for": "zscore"})
    command = "sparsekm run reads.csv --normalise zscore --output toy-zscore"
    assert view_answer(doubted, settings)["other_scale"] == command
    _, page = page_of(doubted, configuration={"matrices": {"toy": settings}})
    steps = page.text[page.text.index("It is not certain whether") :]
    places = [steps.index(words) for words in ("raw counts", command, "clusters.csv", "toy-4")]
    assert places == sorted(places)


def test_the_page_begins_with_the_answer_and_folds_the_rest(answered, page_of):
    few = "<b>g1</b>"
    var = answered.var.rename(index={"g1": few})
    genes = answered.genes.replace({"symbol": {"g1": few}})
    html, page = page_of(replace(answered, var=var, genes=genes))
    places = [
        page.text.index(words)
        for words in ("3 clusters of 12", "separated: 0 and 1", few, "The clusters", "What marks")
    ]
    assert places == sorted(places)
    assert few not in html
    # Outside of folded parts there are few words, however much there is inside.
    assert len(page.shown.split()) < 600
    assert html.count("standard error") <= 2


def test_clusters_that_are_batches_are_named_and_both_answers_shown(matrix_result):
    labels = matrix_result.methods["l0"].labels

    def with_batches(batch, centred):
        changed = with_sparse(matrix_result, (0, 1, 1e-6), batch_centred=centred)
        return replace(changed, obs=changed.obs.assign(batch=pd.Categorical(batch)))

    result = with_batches(np.where(labels == 0, "first", "second"), np.roll(labels, 2))
    told = [text for text in view_answer(result)["warnings"] if "centring distorts" in text]
    assert len(told) == 1
    assert "Clusters and batches coincide and cannot be told apart" in told[0]
    rows = {row[0].text: texts(row)[1:] for row in view_each_cluster(result).rows}
    assert rows["batch first"] == ["4", "", ""]
    assert rows["batch second"] == ["", "4", "4"]
    # Of the rolled clusters, each has two samples of this one and two of the next.
    assert rows["centred batch first"] == ["2", "", "2"]
    # Without a difference there is no warning, without batches no table.
    result = with_batches(np.tile(["a", "b"], len(labels) // 2), labels)
    assert not [text for text in view_answer(result)["warnings"] if "centring" in text]
    assert "their agreement with the clusters shown is 1.00" in view_each_cluster(result).caption
    assert "batch " not in " ".join(row[0].text for row in view_each_cluster(matrix_result).rows)


def test_samples_that_were_set_aside_are_named(matrix_result):
    aside = np.zeros(matrix_result.n_samples, np.int8)
    assert "Set aside" not in facts(with_sparse(matrix_result, (0, 1, 1e-6), trimmed=aside))
    aside[[1, 3]] = 1
    told = facts(with_sparse(matrix_result, (0, 1, 1e-6), trimmed=aside))["Set aside"]
    names = matrix_result.obs.index
    assert f"centres were set aside: {names[1]}, {names[3]}." in told


@pytest.fixture
def seeded(matrix_result):
    """Every method has three fits, whose error rates differ for l0."""
    methods = {}
    for name, method in matrix_result.methods.items():
        rates = np.array([0.125, 0.25, 0.0625] if name == "l0" else [0.3125] * 3)
        table = pd.DataFrame({"seed": range(3), "objective": method.objective})
        table["n_nonzero_weights"] = table["n_kept_too"] = method.n_kept
        table = table.assign(agreement=[1.0, 0.75, 0.875], cer=rates, cer_chance=0.5)
        table = table.assign(ari=1 - 2 * rates, ami=1 - 3 * rates)[[*SEEDS.columns]]
        methods[name] = replace(method, seeds=table, rates=table.iloc[0].to_dict())
    return replace(matrix_result, methods=methods)


def test_restarts_that_found_other_groups_are_told_first(seeded, matrix_result):
    warnings = view_answer(seeded)["warnings"]
    assert "2 of 2 restarts found other groups (agreement 0.75 to 0.88; 1: identical" in warnings[0]
    l0 = seeded.methods["l0"]
    better = replace(l0, seeds=l0.seeds.assign(objective=[1, 2, 1] * l0.seeds["objective"]))
    told = view_answer(replace(seeded, methods={"l0": better}))["warnings"][0]
    assert "other groups, 1 of them with a better fit (agreement" in told
    one = replace(l0, seeds=l0.seeds[:2])
    told = view_answer(replace(seeded, methods={"l0": one}))["warnings"][0]
    assert told.startswith("The restart found other groups (agreement 0.75")
    same = replace(l0, seeds=l0.seeds.assign(agreement=1.0))
    assert view_answer(replace(seeded, methods={"l0": same}))["warnings"] == []
    assert view_answer(matrix_result)["warnings"] == []


def test_the_comparison_has_the_agreement_over_seeds_of_every_method(seeded, page_of):
    rows = page_of(seeded)[1].rows(["method"])
    assert list(rows) == ["ℓ₀-k-means", "k-means", "ℓ₁-k-means"]
    assert rows["ℓ₀-k-means"][:4] == ["the result", "0.75 to 0.88", "3", "0.1250"]
    assert rows["k-means"][:2] == ["1.00", "0.75 to 0.88"]


def texts(row):
    return [cell.text for cell in row]


def test_markers_are_the_kept_genes_by_distance_up_and_down(brain_result):
    l0 = brain_result.methods["l0"]
    centers = np.zeros((4, brain_result.n_features))
    kept = np.flatnonzero(l0.weights)
    centers[0, kept[:2]], centers[1, kept[2]] = (0.25, 0.75), -1.5
    # A dropped gene marks nothing.
    centers[2, np.flatnonzero(l0.weights == 0)[0]] = 9
    view = _markers_of(brain_result, centers)
    names = brain_result.var.index[kept]
    assert [head.text for head in view.heads[:3]] == ["cluster", "voxels", "regions"]
    # Of the 80 others 40 are in the cluster where the third gene is low.
    # A lead of 0.2 marks nothing.
    up = f"{names[1]} +0.8, {names[2]} +0.8"
    assert texts(view.rows[0]) == ["0", "40", "RSP 100%", up, "none"]
    assert texts(view.rows[1]) == ["1", "40", "CSP 100%", "none", f"{names[2]} −1.5"]


def _markers_of(result, centers, **found):
    l0 = replace(result.methods["l0"], centers=centers, **found)
    return view_markers(replace(result, methods={"l0": l0}))


def test_markers_name_the_fewest_that_tell_a_cluster_from_the_others_kept_or_not(brain_result):
    names, centers = brain_result.var.index, np.zeros((4, brain_result.n_features))
    centers[0, :2] = 0.25, -1.5
    signatures = [np.array([0, 1]), None, None, None]
    found = {"cluster_signatures": signatures, "cluster_agreements": np.array([0.987, *[0.3] * 3])}
    view = _markers_of(brain_result, centers, **found)
    assert view.heads[-1].text == "identified by"
    assert "tells which left-out voxels are in the cluster" in view.caption
    told = [texts(row)[-1] for row in view.rows]
    assert told[:2] == [f"{names[1]} −1.5, {names[0]} +0.2 (0.99)", "none (0.30)"]


@pytest.fixture
def annotated(matrix_result):
    """A batch that is two of the three clusters, an age, and a column without a pattern."""
    batch = pd.Categorical(["a"] * 8 + ["b"] * 4)
    columns = {"batch <x>": batch, "age": np.r_[np.arange(11.0), np.nan]}
    columns["sex"] = pd.Categorical(["f", "m"] * 6)
    columns = {f"annotation {name}": column for name, column in columns.items()}
    return replace(matrix_result, obs=matrix_result.obs.assign(**columns))


def test_a_batch_that_is_nearly_the_clusters_stands_on_the_first_screen(annotated, matrix_result):
    told = [text for text in view_answer(annotated)["warnings"] if "batch" in text]
    assert told == [
        "batch <x> (Cramér’s V 0.95): the clusters nearly coincide with these groups. If they are "
        "batches, the clusters may be batch effects."
    ]
    assert not any("Cramér" in text for text in view_answer(matrix_result)["warnings"])


def test_every_column_has_a_bar_and_a_line_of_the_table(annotated, matrix_result, page_of):
    bars = [
        label.get_text()
        for axes in answer_figure(annotated).axes
        for label in axes.get_yticklabels()
    ]
    assert bars[:5] == ["cluster", "class", "batch <x>", "age", "sex"]
    table = view_meanings(annotated)
    assert [texts(row)[:3] for row in table.rows] == [
        ["batch <x>", "chi-square", "12"],
        ["age", "Kruskal-Wallis", "11"],
        ["sex", "chi-square", "12"],
    ]
    assert view_meanings(matrix_result) is None
    html, page = page_of(annotated)
    assert "batch <x>" in page.text
    assert "batch <x>" not in html


def test_choices_are_listed_with_their_agreement(matrix_result):
    choices = pd.DataFrame(
        [("number of clusters", "2", 12, 6, 2, 0.5), ("half of the samples", "", 6, 6, 3, 1.0)],
        columns=["choice", "value", "n_samples", "n_features", "n_clusters", "agreement"],
    )
    assert list(map(texts, view_choices(replace(matrix_result, choices=choices)).rows)) == [
        ["number of clusters: 2", "2", "12", "6", "0.50"],
        ["half of the samples", "3", "6", "6", "1.00"],
    ]
    assert view_choices(matrix_result) is None


def test_the_consensus_matrix_is_in_blocks_of_the_clusters(matrix_result):
    l0 = matrix_result.methods["l0"]
    partitions = np.array([l0.labels] * 3 + [np.roll(l0.labels, 1)]).astype(np.int16)
    methods = {"l0": replace(l0, partitions=partitions)}
    figure = consensus_figure(replace(matrix_result, methods=methods))
    cells = np.asarray(figure.axes[1].images[0].get_array())
    assert cells.shape == (12, 12)
    np.testing.assert_allclose(cells, cells.T)
    for first in range(0, 12, 4):
        inside = cells[first : first + 4, first : first + 4]
        assert inside.min() >= 0.75
        # Each sample of the cluster but one is with the others in every fit.
        assert np.isclose(inside, 1).sum() >= 10
    assert consensus_figure(matrix_result) is None


def three_groups(n_samples):
    """A result of samples in three far groups, with their labels."""
    labels = np.arange(n_samples) % 3
    X = np.random.default_rng(0).normal(size=(n_samples, 8)) + 6 * np.eye(8)[labels]
    method = SimpleNamespace(weights=np.ones(8), scores=np.ones(8))
    read = {"read_features": lambda kept, rows: X.astype(np.float32)[np.ix_(rows, kept)]}
    return SimpleNamespace(n_samples=n_samples, primary=method, **read), labels


# It compiles.
@pytest.mark.release
def test_many_samples_are_drawn_as_a_umap_where_there_is_one():
    pytest.importorskip("umap")
    many, labels = three_groups(600)
    points, names = project_samples(many, np.arange(600), is_umap=True)
    assert names == ("UMAP 1", "UMAP 2")
    centers = np.array([points[labels == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(points[:, None] - centers, axis=2).argmin(axis=1)
    assert (nearest == labels).mean() > 0.95
