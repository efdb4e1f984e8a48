"""Numbers of clusters compared where the number is known, and the rules that choose one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import AgglomerativeClustering

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.sparse_clustering import SparseClustering
from sparsekm.simulation.designs import gaussian_clusters
from sparsekm.tuning.gap_search import GapSearch
from sparsekm.tuning.number_of_clusters import (
    COUNT_RULES,
    compare_cluster_counts,
    largest_count,
    select_cluster_count,
)


def simplex(n_clusters):
    """Draw clusters at the corners of a simplex: each has features of its own, 12 in all."""
    means = np.kron(np.eye(n_clusters), np.full(12 // n_clusters, 4.0))
    return gaussian_clusters(means, 60 // n_clusters, 24, random_state=0)


def compare(X, counts, **parameters):
    few = {"sparsities": [12, 24], "n_splits": 3, "n_references": 2, "random_state": 0}
    return compare_cluster_counts(L0KMeans(n_init=2), X, counts, **{**few, **parameters})


@pytest.mark.parametrize("n_clusters", [2, 3, 4])
def test_every_rule_finds_the_number_of_clusters_that_have_features_of_their_own(n_clusters):
    # One more cluster than there are comes again nearly as surely where it may be tiny.
    estimator = L0KMeans(n_init=2, min_cluster_size=5)
    X = simplex(n_clusters).X
    table = compare_cluster_counts(
        estimator, X, [2, 3, 4, 5], sparsities=[12, 24], n_splits=6, n_references=10, random_state=0
    )
    for rule in COUNT_RULES:
        assert select_cluster_count(table, rule) == n_clusters
    np.testing.assert_allclose(table["excess"], table["stability"] - table["reference_stability"])


def test_the_gap_is_that_of_a_search_with_the_same_seed():
    X = simplex(3).X
    search = GapSearch(
        L0KMeans(3, n_init=2), sparsities=[12, 24], n_references=2, rule="auto", random_state=0
    ).fit(X)
    row = compare(X, [3]).iloc[0]
    chosen = search.results_.iloc[search.best_index_]
    assert row["best_sparsity"] == search.best_sparsity_
    assert row["n_selected"] == search.get_support().sum()
    assert (row["gap"], row["se"]) == (chosen["gap"], chosen["se"])


def test_a_number_is_measured_alike_whatever_it_is_compared_with():
    X = np.random.default_rng(1).standard_normal((30, 24))
    several = compare(X, [4, 2, 3, 3])
    assert several["n_clusters"].tolist() == [2, 3, 4]
    pd.testing.assert_frame_equal(
        several.iloc[[1]].reset_index(drop=True), compare(X, [3]), check_exact=True
    )


def test_the_table_does_not_depend_on_the_number_of_jobs():
    X = np.random.default_rng(5).standard_normal((30, 24))
    one, two = (compare(X, [2, 3], n_jobs=jobs) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


@pytest.mark.parametrize(
    ("gap", "se", "chosen"),
    [
        ([0.1, 0.5, 0.4, 0.9], [0.1] * 4, 3),  # the first fall counts, not the largest gap
        ([0.4, 0.5, 0.6, 0.7], [0.01, 0.11, 0.01, 0.01], 2),  # the error of the next one
        ([0.4, 0.5, 0.6, 0.7], [0.11, 0.01, 0.01, 0.01], 5),  # no fall: the largest number
    ],
)
def test_the_gap_rule_takes_the_first_number_that_the_next_one_does_not_better(gap, se, chosen):
    table = pd.DataFrame({"n_clusters": [2, 3, 4, 5], "gap": gap, "se": se})
    assert select_cluster_count(table, "gap") == chosen


def test_of_equals_the_fewest_clusters_are_taken():
    table = pd.DataFrame({"n_clusters": [2, 3, 4], "stability": [0.7, 1, 1], "excess": [1, 1, 0]})
    assert select_cluster_count(table, "stability") == 3
    assert select_cluster_count(table) == 2


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 2], "n_clusters=1 should be >= 2"),
        ([], "at least one number"),
        ([2, 31], "n_clusters=31 should be <= 24: a subsample of n_samples=30"),
        ([2, 25], "n_clusters=25 should be <= 24"),
    ],
)
def test_numbers_that_cannot_be_compared_are_refused(counts, message):
    with pytest.raises(ValueError, match=message):
        compare(np.eye(30), counts)


def test_the_smallest_cluster_bounds_the_number():
    X = np.random.default_rng(2).standard_normal((20, 6))
    assert largest_count(20, 5) == 3
    estimator = L0KMeans(n_init=1, min_cluster_size=5)
    few = {"sparsities": [3], "n_splits": 1, "n_references": 2, "random_state": 0}
    assert len(compare_cluster_counts(estimator, X, [3], **few)) == 1
    with pytest.raises(ValueError, match="n_clusters=4 should be <= 3.*min_cluster_size=5"):
        compare_cluster_counts(estimator, X, [4], **few)


@pytest.mark.parametrize("estimator", [KMeans(2), SparseClustering(AgglomerativeClustering(2))])
def test_an_estimator_that_cannot_be_tuned_for_a_number_is_refused(estimator):
    message = "should have a `path` and the parameters min_cluster_size, n_clusters, random_state"
    with pytest.raises(TypeError, match=message):
        compare_cluster_counts(estimator, np.eye(30), [2])
