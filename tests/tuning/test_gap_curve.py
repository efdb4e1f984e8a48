"""The gap curve, the rules that read it, the default grid, and the limit of correlated features."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from sparsekm import GapSearch, L0KMeans, L1KMeans, classification_error_rate
from sparsekm.simulation import gaussian_clusters
from sparsekm.tuning.gap import (
    FeatureLimit,
    NoiseCorrelation,
    default_sparsities,
    gap_curve,
    noise_correlation,
    select_sparsity,
)


def test_the_gap_of_a_hand_worked_path_ascends_in_sparsity():
    # Logs of the data: 5 and 3. Of the references: (4, 4, 4), sd 0; (1, 2, 3), mean 2, sd 1.
    path = SimpleNamespace(
        sparsities=np.array([7.0, 2.0]),
        n_selected=np.array([7, 2]),
        objectives=np.array([150.0, 21.0]),
        first_objectives=np.exp([5.0, 3.0]),
    )
    table = gap_curve(path, np.exp([[4.0, 1.0], [4.0, 2.0], [4.0, 3.0]]))
    expected = {
        "sparsity": [2, 7],
        "n_selected": [2, 7],
        "objective": [21, 150],
        "log_objective": [3, 5],
        "reference_mean": [2, 4],
        "reference_sd": [1, 0],
        "gap": [1, 1],
        "se": [np.sqrt(4 / 3), 0],
    }
    assert table.columns.tolist() == list(expected)
    np.testing.assert_allclose(table, np.transpose(list(expected.values())), atol=1e-12)


@pytest.mark.parametrize(
    ("gaps", "errors", "chosen"),
    [
        # The best is 1.0 with a standard error of 0.25: from 0.75 on, itself within.
        ([0.2, 0.74, 0.76, 1.0, 0.9], [9, 9, 9, 0.25, 9], 2),
        ([0.2, 0.75, 0.76, 1.0, 0.9], [9, 9, 9, 0.25, 9], 1),
        # The error that counts is the best's own, not the candidate's.
        ([0.5, 1.0], [9, 0.1], 1),
        # Not the nearest neighbour within reach but the sparsest, also beyond a dip.
        ([0.95, 0.1, 1.0], [0.1, 0.1, 0.1], 0),
    ],
)
def test_max_takes_the_largest_gap_and_one_se_the_sparsest_within_its_error(gaps, errors, chosen):
    table = pd.DataFrame({"gap": gaps, "se": errors})
    assert select_sparsity(table, rule="one-se") == chosen
    assert select_sparsity(table, rule="max") == np.argmax(gaps)


@pytest.mark.parametrize("n_features", [1, 2, 25, 1724])
@pytest.mark.parametrize("penalty", ["l0", "l1"])
def test_default_grids_are_geometric_and_end_where_nothing_is_dropped(penalty, n_features):
    densest = n_features if penalty == "l0" else np.sqrt(n_features)
    for n_sparsities in (1, 5, 10, 15):
        grid = default_sparsities(penalty, n_features, n_sparsities)
        assert 1 <= len(grid) <= n_sparsities
        assert (np.diff(grid) > 0).all()
        assert 1 <= grid[0] <= grid[-1] <= densest * (1 + 1e-12)
        if penalty == "l0":
            assert (grid == np.round(grid)).all()
    if n_features == 1724:
        grid = default_sparsities(penalty, n_features)
        assert len(grid) == 10
        assert grid[-1] == pytest.approx(densest)
        # Half of the root of the features, or about two features' worth.
        assert grid[0] == {"l0": 21, "l1": 1.2}[penalty]
        # Rounding moves the smallest, 21, by a fortieth at most.
        assert np.ptp(np.diff(np.log(grid))) <= {"l0": 0.05, "l1": 1e-9}[penalty]


FREE, LIMITED = (FeatureLimit(NoiseCorrelation(mean, 1000), 100) for mean in (1.0, 2.0))


def curve(gaps, n_selected):
    return pd.DataFrame({"n_selected": n_selected, "gap": gaps, "se": 0.0})


@pytest.mark.parametrize(
    ("gaps", "n_selected", "limit", "chosen"),
    [
        ([0.1, 0.3, 0.2, 0.9], [5, 20, 25, 100], FREE, 3),
        # A quarter itself is allowed.
        ([0.1, 0.3, 0.4, 0.9], [5, 20, 25, 100], LIMITED, 2),
        ([0.1, 0.3, 0.4, 0.9], [5, 20, 26, 100], LIMITED, 1),
        # Where all keep more, the sparsest.
        ([0.1, 0.3, 0.4, 0.9], [30, 40, 50, 100], LIMITED, 0),
    ],
)
def test_the_largest_gap_below_the_limit_is_chosen(gaps, n_selected, limit, chosen):
    assert select_sparsity(curve(gaps, n_selected), "auto", limit) == chosen


def test_the_sentence_says_whether_data_or_limit_decided():
    falls, rises = (curve([gap, 0.3, 0.5, 0.9], [5, 20, 40, 100]) for gap in (0.4, 0.1))
    assert not LIMITED.decides(falls, 0)
    assert LIMITED.decides(rises, 1)
    by_data = LIMITED.sentence(falls, 0)
    assert "At most 25 may be kept" in by_data
    assert by_data.endswith("Below this limit the largest gap keeps 5 of 100 features.")
    by_limit = LIMITED.sentence(rises, 1)
    assert by_limit.endswith("This limit, not the data, decides to keep 20 of 100 features.")
    free = FREE.sentence(rises, 3)
    assert "no correlation" in free
    assert free.endswith("keeps 100 of 100 features.")


@pytest.mark.parametrize("Estimator", [L0KMeans, L1KMeans])
def test_at_most_a_quarter_is_kept_of_correlated_features_alone(Estimator):
    rng = np.random.default_rng(0)
    # Three clusters told apart by a third of the features, all else independent.
    independent = gaussian_clusters(
        np.outer([1.2, -1.2, 0.0], np.ones(40)), 20, 120, random_state=0
    )
    # Two clusters in ten features, and three factors in all.
    X = rng.standard_normal((60, 120)) + rng.standard_normal((60, 3)) @ rng.normal(0, 1.5, (3, 120))
    X[:30, :10] += 4
    correlated = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    (paper, auto), (all_kept, few) = (
        [
            GapSearch(Estimator(k, n_init=3), n_references=3, rule=rule, random_state=0).fit(data)
            for rule in ("max", "auto")
        ]
        for data, k in ((independent.X, 3), (correlated, 2))
    )
    assert paper.best_sparsity_ == auto.best_sparsity_
    np.testing.assert_array_equal(paper.labels_, auto.labels_)
    assert auto.limit_.most == 120
    assert auto.conclusion_.startswith("The dropped features show no correlation")
    # More than a quarter, which would not be allowed of correlated ones.
    assert Estimator is L1KMeans or auto.get_support().sum() > 30
    # Without the limit everything would be kept.
    assert all_kept.get_support().all()
    assert few.limit_.most == 30
    assert 1 <= few.get_support().sum() <= 30
    assert "correlate" in few.conclusion_


@pytest.mark.parametrize(("n_clusters", "n_relevant", "n_features"), [(5, 20, 50), (3, 5, 5)])
def test_many_relevant_features_that_mark_plain_clusters_are_all_kept(
    n_clusters, n_relevant, n_features
):
    rng = np.random.default_rng(0)
    truth = np.arange(100) % n_clusters
    X = rng.standard_normal((100, n_features))
    X[:, :n_relevant] += 5 * (truth[:, None] == np.arange(n_relevant) % n_clusters)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    estimator = L0KMeans(n_clusters, n_init=3)
    found = GapSearch(estimator, n_references=3, rule="auto", random_state=0).fit(X)
    assert found.get_support()[:n_relevant].all()
    assert classification_error_rate(truth, found.labels_) == 0
    assert found.limit_.most == n_features


def drawn(correlation, seed=0):
    means = np.outer([2.0, -2.0, 0.0], np.ones(20))
    data = gaussian_clusters(means, 20, 200, correlation=correlation, random_state=seed)
    return data.X, data.labels.astype(np.int32), data.relevant.astype(float)


def test_two_features_hand_worked():
    # Residuals within two clusters of two: (-1, 1, -1, 1) and (-1, 1, 1, -1), correlation 0;
    # and the first with itself, correlation 1 for n - K = 2.
    labels = np.array([0, 0, 1, 1], dtype=np.int32)
    one, two = np.array([-1.0, 1, -1, 1]), np.array([-1.0, 1, 1, -1])
    apart = np.array([0.0, 0, 100, 100])
    assert noise_correlation(np.column_stack([one, two + apart]), labels, np.zeros(2)).mean == 0
    same = noise_correlation(np.column_stack([one, 3 * one + apart]), labels, np.zeros(2)).mean
    assert same == pytest.approx(2)


@pytest.mark.parametrize("seed", range(3))
def test_independent_features_score_one_within_chance_and_correlated_ones_more(seed):
    X, labels, relevant = drawn(0.0, seed)
    for weights in (np.ones(200), relevant):
        # 19,900 pairs: a standard deviation of sqrt(2 / 19900) = 0.01.
        assert noise_correlation(X, labels, weights).mean == pytest.approx(1, abs=0.06)
    assert not noise_correlation(X, labels, relevant).is_beyond_chance
    assert noise_correlation(*drawn(0.6, seed)).is_beyond_chance
    assert noise_correlation(*drawn(0.9, seed)).mean > 2
    # Without their cluster means removed, relevant features correlate by 0.7.
    assert noise_correlation(X, np.zeros(60, np.int32), np.ones(200)).mean > 1.2


def test_neither_scale_nor_storage_nor_constant_features_matter():
    X, labels, _ = drawn(0.5)
    expected = noise_correlation(X, labels, np.zeros(200)).mean
    with_constant = np.column_stack([X * np.geomspace(0.1, 10, 200) + 5, np.full(60, 3.0)])
    for X in (with_constant, csr_array(with_constant)):
        assert noise_correlation(X, labels, np.zeros(201)).mean == pytest.approx(expected)
    assert noise_correlation(np.ones((60, 3)), labels, np.zeros(3)).mean == 1
