"""The summary of a run: what the data decided, what a setting decided, and what is counted."""

from dataclasses import replace

import pandas as pd
import pytest
from sparsekm.reporting.summary import summarise_dataset, summarise_run


@pytest.fixture
def with_l0(brain_result):
    """Give the function that changes the fit of l0."""

    def change(name="E11.5", **changes):
        l0 = replace(brain_result.methods["l0"], **changes)
        return replace(brain_result, name=name, methods={**brain_result.methods, "l0": l0})

    return change


GAP = pd.DataFrame({"sparsity": [2.0, 4.0, 6.0]})


def summarise_l0(*results):
    only = [replace(result, methods={"l0": result.methods["l0"]}) for result in results]
    return " ".join(summarise_run(only))


def test_numbers_that_a_limit_decided_are_listed(with_l0):
    limited = with_l0(attributes={"limited": True}, gap=GAP)
    free = with_l0("P4", attributes={"limited": False}, gap=GAP)
    said = "on correlated features decided how many features ℓ₀-k-means keeps in E11.5; the"
    assert said in summarise_l0(limited, free)
    assert "correlated" not in summarise_l0(free)
    assert "the number of clusters was given for all data sets." in summarise_l0(limited, free)


@pytest.mark.parametrize(("sparsity", "is_end"), [(2, True), (4, False), (6, True)])
def test_a_choice_at_an_end_of_the_grid_is_told(with_l0, sparsity, is_end):
    text = summarise_l0(with_l0(sparsity=float(sparsity), gap=GAP))
    assert ("an end of the grid of sparsities decided" in text) == is_end


def test_planted_genes_of_several_ages_are_gene_age_pairs(with_l0):
    one = with_l0()
    planted = [name in ("Inv0", "Inv5") for name in one.var.index]
    one = replace(one, var=one.var.assign(relevant=planted))
    kept = one.methods["l0"].weights != 0
    found = int(kept[planted].sum())
    assert f"Of 2 genes planted as relevant, ℓ₀-k-means keeps {found:,}; " in " ".join(
        summarise_run([one])
    )
    text = " ".join(summarise_run([one, replace(one, name="P4")]))
    assert f"Of 4 gene-age pairs planted as relevant, ℓ₀-k-means keeps {2 * found:,}; " in text
    assert f"of the {2 * int(kept.sum()):,} gene-age pairs it keeps, " in text


@pytest.mark.parametrize(("strength", "has_clusters"), [(2, False), (2, True), (0.5, True)])
def test_two_tests_for_clusters_that_disagree_are_explained(with_l0, strength, has_clusters):
    result = with_l0(attributes={"has_clusters": has_clusters})
    result = replace(result, evidence={"strength": strength, "conclusion": "Told."})
    text = " ".join(summarise_dataset(result))
    assert ("The two tests for clusters disagree." in text) == ((strength > 1) != has_clusters)
    assert text.endswith("each is of the fit shown and has no standard error.")


def test_no_evidence_in_a_sample_is_told_with_the_setting_that_tests_more(with_l0):
    result = with_l0()
    for tested in (5, result.n_samples):
        evidence = {"strength": 0.5, "conclusion": "Told.", "n_samples": tested}
        text = " ".join(summarise_run([replace(result, evidence=evidence)]))
        assert f"No evidence of clusters was found in {result.name}: every method" in text
        told = f"Tested were 5 of the {result.n_samples:,} voxels of {result.name}; more may show"
        assert (told in text) == (tested == 5)


@pytest.mark.parametrize("has_clusters", [False, True])
def test_a_test_for_clusters_that_was_not_made_disagrees_with_nothing(with_l0, has_clusters):
    result = with_l0(attributes={"has_clusters": has_clusters})
    result = replace(result, evidence={"strength": float("nan"), "conclusion": "Not asked."})
    assert "disagree" not in " ".join(summarise_dataset(result))
    assert ("No evidence of clusters" in " ".join(summarise_run([result]))) != has_clusters
