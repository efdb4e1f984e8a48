"""A guard on the smallest cluster holds, however many samples and clusters there are."""

from itertools import combinations

import numpy as np
import pytest

from sparsekm.cluster.estimators import KMeans, L0KMeans
from sparsekm.cluster.kmeans.exchange import exchange_until_stable


def sizes(labels, n_clusters):
    return np.bincount(labels, minlength=n_clusters)


@pytest.fixture(scope="module", name="many")
def many_samples():
    return np.random.default_rng(0).normal(size=(6000, 5))


def test_a_guard_holds_where_searches_start_from_a_sample_too_small_for_it(many):
    n_clusters, guard = 10, 500
    estimator = L0KMeans(n_clusters, sparsity=3, min_cluster_size=guard, n_init=1, random_state=0)
    assert sizes(estimator.fit(many).labels_, n_clusters).min() >= guard
    for labels in estimator.path(many, [2, 5]).labels:
        assert sizes(labels, n_clusters).min() >= guard


def test_more_clusters_than_the_sample_that_searches_start_from(many):
    fit = KMeans(2049, n_init=1, random_state=0).fit(many[:4500, :2])
    assert sizes(fit.labels_, 2049).min() >= 1


@pytest.mark.parametrize(
    ("n_samples", "search"),
    [(60, "alternate"), (60, "global"), (400, "alternate"), (3000, "alternate")],
)
def test_a_guard_holds_where_the_labels_to_start_from_break_it(
    make_sparse_estimator, n_samples, search
):
    X = np.random.default_rng(0).normal(size=(n_samples, 6))
    X[-1] = 100.0
    start = np.zeros(n_samples, dtype=int)
    start[-1] = 1
    estimator = make_sparse_estimator(2, init=start, search=search, min_cluster_size=5, n_init=1)
    assert sizes(estimator.fit(X).labels_, 2).min() >= 5
    for labels in estimator.path(X, [1, 2]).labels:
        assert sizes(labels, 2).min() >= 5


def test_clusters_that_may_not_shrink_swap_samples_until_no_swap_gains():
    rng = np.random.default_rng(4)
    packed = rng.standard_normal((12, 3))
    packed -= packed.mean(axis=0)
    labels = np.repeat(np.arange(3, dtype=np.int32), 4)
    exchange_until_stable(packed, labels, 3, 4, 100, 0.0)
    assert sizes(labels, 3).tolist() == [4, 4, 4]

    def within(found):
        return sum(
            ((packed[found == k] - packed[found == k].mean(axis=0)) ** 2).sum() for k in (0, 1, 2)
        )

    for i, j in combinations(range(12), 2):
        swapped = labels.copy()
        swapped[[i, j]] = labels[[j, i]]
        assert within(swapped) >= within(labels) * (1 - 1e-9)
