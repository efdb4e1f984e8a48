"""Held-out separation: nothing by chance, and what the kept features add beyond it."""

from itertools import permutations

import numpy as np
import pytest

from sparsekm.cluster.estimators import L0KMeans, L1KMeans
from sparsekm.simulation.gaussian_clusters import gaussian_clusters
from sparsekm.studies.tuning.held_out import (
    excess_scores,
    held_out_separation,
    select_held_out,
    separation,
)
from sparsekm.tuning.resampling import split_rows

GRID = np.array([4.0, 12.0, 36.0, 60.0])


@pytest.fixture(scope="module")
def data():
    """Draw three far clusters told apart by 12 of 60 features."""
    data = gaussian_clusters(np.outer([2.0, -2.0, 0.0], np.ones(12)), 16, 60, random_state=0)
    data.X.setflags(write=False)
    return data


def test_the_excess_hand_worked():
    # Total sum of squares 4, expected of two clusters among four samples: 4 / 3.
    X = np.array([[0.0], [0.0], [2.0], [2.0]])
    assert excess_scores(X, np.array([0, 0, 1, 1])) == pytest.approx([4 - 4 / 3])
    assert excess_scores(X, np.array([0, 1, 0, 1])) == pytest.approx([0 - 4 / 3])
    assert excess_scores(X + 5, np.array([0, 1, 1, 0])) == pytest.approx([0 - 4 / 3])


def test_a_cluster_that_no_held_out_sample_joins_is_none():
    X = np.array([[0.0], [0.0], [2.0], [2.0]])
    assert excess_scores(X, np.array([0, 0, 2, 2])) == pytest.approx([4 - 4 / 3])
    assert excess_scores(X, np.array([1, 1, 1, 1])) == pytest.approx([0])


def test_over_all_orders_of_the_labels_the_excess_is_nothing():
    X = np.random.default_rng(0).standard_normal((6, 4)) * [1, 2, 3, 4]
    orders = set(permutations([0, 0, 0, 1, 1, 2]))
    assert len(orders) == 60
    every = [excess_scores(X, np.array(labels)) for labels in orders]
    np.testing.assert_allclose(np.mean(every, axis=0), 0, atol=1e-12)
    assert np.std(every, axis=0).min() > 0.1


def test_kept_features_count_by_weights_of_unit_norm():
    X = np.column_stack([[0.0, 0, 2, 2], [0, 2, 0, 2], [0, 0, 4, 4]])
    labels = np.array([0, 0, 1, 1])
    # Excesses 8/3, -4/3 and 32/3.
    assert separation(X, labels, np.ones(3)) == pytest.approx((8 - 4 + 32) / 3 / np.sqrt(3))
    assert separation(X, labels, np.array([1.0, 0, 1])) == pytest.approx(40 / 3 / np.sqrt(2))
    weights = np.array([0.6, 0, 0.8])
    expected = (0.6 * 8 + 0.8 * 32) / 3
    assert separation(X, labels, weights) == pytest.approx(expected)
    assert separation(X, labels, 7 * weights) == pytest.approx(expected)


def test_a_split_made_anew_by_hand(data):
    found = held_out_separation(L0KMeans(3, n_init=2), data.X, GRID, index=2, seed=5)
    rows_seed, *fit_seeds = np.random.SeedSequence(5, spawn_key=(2, 4)).spawn(3)
    one, two = split_rows(len(data.X), "halves", np.random.default_rng(rows_seed))
    by_hand = []
    for fitted, other, fit_seed in ((one, two, fit_seeds[0]), (two, one, fit_seeds[1])):
        estimator = L0KMeans(3, n_init=2, random_state=int(fit_seed.generate_state(1)[0]))
        path = estimator.path(data.X[fitted], GRID)
        row = []
        for i, sparsity in enumerate(GRID):
            estimator.set_params(sparsity=sparsity).adopt(data.X[fitted], path, i)
            labels = estimator.predict(data.X[other])
            kept = path.weights[i] > 0
            row.append(excess_scores(data.X[other], labels)[kept].sum() / np.sqrt(sparsity))
        by_hand.append(row)
    np.testing.assert_allclose(found, np.mean(by_hand, axis=0), rtol=1e-10)


@pytest.mark.parametrize(
    ("separations", "largest", "sparse"),
    [
        # Means 3.1, 4, 1; the standard error of the largest is sqrt(2) / sqrt(2).
        ([[2.1, 3, 1], [4.1, 5, 1]], 1, 0),
        ([[1.9, 3, 1], [3.9, 5, 1]], 1, 1),
        # Among equals the sparsest.
        ([[1, 2, 2], [1, 2, 2]], 1, 1),
    ],
)
def test_the_rules_hand_worked(separations, largest, sparse):
    assert select_held_out(separations, "max") == largest
    assert select_held_out(separations, "one-se") == sparse


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"rule='auto' should be one of \['max', 'one-se'\]"):
        select_held_out([[1.0], [2.0]], "auto")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_clusters_keep_the_features_that_tell_them_apart(data, dtype):
    X = data.X.astype(dtype)
    estimator = L0KMeans(3, n_init=2, random_state=0)
    path = estimator.path(X, GRID)
    separations = [held_out_separation(estimator, X, GRID, index=i, seed=0) for i in range(4)]
    for rule in ("max", "one-se"):
        row = select_held_out(separations, rule)
        assert ((path.weights[row] > 0) == data.relevant).all()


def test_l1_can_be_asked_too(data):
    # A bound of sqrt(12) is where the 12 relevant features weigh alike.
    grid = np.array([1.2, 3.4, np.sqrt(60)])
    found = [
        held_out_separation(L1KMeans(3, n_init=2), data.X, grid, index=i, seed=0) for i in range(3)
    ]
    assert select_held_out(found) == 1


def test_noise_seems_separated_too_and_most_where_few_features_are_kept():
    """Held-out labels are made of the kept features: a limit of the rule, not a merit."""
    estimator = L0KMeans(3, n_init=1)
    grid = np.array([3.0, 10.0, 30.0])
    found = [
        held_out_separation(
            estimator,
            np.random.default_rng(seed).standard_normal((40, 30)),
            grid,
            index=0,
            seed=seed,
        )
        for seed in range(30)
    ]
    sparse, middle, dense = np.mean(found, axis=0)
    assert sparse > 1.3 * middle > 1.3 * 1.3 * dense > 0


def test_labels_unrelated_to_the_features_separate_nothing_on_average():
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], [5, 10, 15])
    found = [
        separation(rng.standard_normal((30, 20)), labels, np.arange(20) < kept)
        for kept in (2, 20)
        for _ in range(400)
    ]
    few, all_kept = np.reshape(found, (2, 400))
    for draws in (few, all_kept):
        assert abs(draws.mean()) < 4 * draws.std() / np.sqrt(400)
    # The norm makes the noise as large at every sparsity.
    assert few.std() == pytest.approx(all_kept.std(), rel=0.15)
