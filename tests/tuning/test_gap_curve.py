"""The gap curve, the rules that read it, the default grid, and the limit of correlated features."""

import numpy as np
import pandas as pd
import pytest

from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.simulation import gaussian_clusters
from sparsekm.tuning.gap import (
    FeatureLimit,
    NoiseCorrelation,
    default_sparsities,
    gap_curve,
    noise_correlation,
    select_sparsity,
)


def hand_made_table(gaps, errors):
    return pd.DataFrame({"sparsity": np.arange(1.0, len(gaps) + 1), "gap": gaps, "se": errors})


def test_the_gap_of_a_hand_worked_table():
    # Logs of the data: 3 and 5. Of the references: (1, 2, 3), mean 2, sd 1; (4, 4, 4), sd 0.
    table = gap_curve(
        [2, 7], [2, 7], np.exp([3.0, 5.0]), np.exp([[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]])
    )
    expected = {
        "sparsity": [2, 7],
        "n_selected": [2, 7],
        "objective": np.exp([3.0, 5.0]),
        "log_objective": [3, 5],
        "reference_mean": [2, 4],
        "reference_sd": [1, 0],
        "gap": [1, 1],
        "se": [np.sqrt(4 / 3), 0],
    }
    assert table.columns.tolist() == list(expected)
    np.testing.assert_allclose(table, np.transpose(list(expected.values())), atol=1e-12)


def test_the_table_ascends_in_sparsity_whatever_the_order_given():
    rng = np.random.default_rng(0)
    sparsities, objectives = np.array([9.0, 2.0, 5.0]), np.array([30.0, 10.0, 20.0])
    references = rng.uniform(1, 2, size=(4, 3))
    table = gap_curve(sparsities, [9, 2, 5], objectives, references)
    order = [1, 2, 0]
    expected = gap_curve(sparsities[order], [2, 5, 9], objectives[order], references[:, order])
    pd.testing.assert_frame_equal(table, expected)
    assert table["sparsity"].tolist() == [2, 5, 9]
    assert table["objective"].tolist() == [10, 20, 30]


@pytest.mark.parametrize(
    ("objectives", "references", "message"),
    [
        ([1.0, 2.0], [[1.0, 2.0]], r"\(1, 2\) should have n_references >= 2"),
        ([1.0, 2.0], [[1.0], [2.0]], "1 columns; should be n_sparsities=2"),
        ([1.0, 0.0], [[1.0, 2.0], [1.0, 2.0]], "should be > 0.*n_clusters should be >= 2"),
        ([1.0, 2.0], [[1.0, -2.0], [1.0, 2.0]], "should be > 0"),
    ],
)
def test_a_curve_that_cannot_be_drawn_is_refused(objectives, references, message):
    with pytest.raises(ValueError, match=message):
        gap_curve([1, 2], [1, 2], objectives, references)


@pytest.mark.parametrize(
    ("gaps", "errors", "chosen"),
    [
        # The best is 1.0 with a standard error of 0.25: from 0.75 on.
        ([0.2, 0.74, 0.76, 1.0, 0.9], [9, 9, 9, 0.25, 9], 2),
        # Equality counts as within.
        ([0.2, 0.75, 0.76, 1.0, 0.9], [9, 9, 9, 0.25, 9], 1),
        # The error that counts is the best's own, not the candidate's.
        ([0.5, 1.0], [9, 0.1], 1),
        # Nothing sparser is near enough, and what is denser does not matter.
        ([0.0, 1.0, 0.99], [0.1, 0.1, 0.1], 1),
        # Not the nearest neighbour within reach but the sparsest, also beyond a dip.
        ([0.95, 0.1, 1.0], [0.1, 0.1, 0.1], 0),
        ([-1.0, -0.5], [0.4, 0.6], 0),
    ],
)
def test_max_takes_the_largest_gap_and_one_se_the_smallest_sparsity_within_its_error(
    gaps, errors, chosen
):
    table = hand_made_table(gaps, errors)
    assert select_sparsity(table, rule="one-se") == chosen
    assert select_sparsity(table, rule="max") == np.argmax(gaps)
    message = r"rule='2se' should be one of \['max', 'one-se', 'auto'\]"
    with pytest.raises(ValueError, match=message):
        select_sparsity(table, "2se")


@pytest.mark.parametrize("n_features", [1, 2, 5, 25, 200, 1724])
@pytest.mark.parametrize("n_sparsities", [1, 5, 10, 15])
@pytest.mark.parametrize("penalty", ["l0", "l1"])
def test_default_grids_ascend_within_their_bounds(penalty, n_features, n_sparsities):
    grid = np.asarray(default_sparsities(penalty, n_features, n_sparsities=n_sparsities))
    assert 1 <= len(grid) <= n_sparsities
    assert (np.diff(grid) > 0).all()
    assert grid[0] >= 1
    if penalty == "l0":
        assert (grid == np.round(grid)).all()
        assert grid[-1] <= n_features
    else:
        assert grid[-1] <= np.sqrt(n_features) * (1 + 1e-12)


@pytest.mark.parametrize("n_features", [200, 1724])
@pytest.mark.parametrize("penalty", ["l0", "l1"])
def test_default_grids_are_geometric_and_end_where_nothing_is_dropped(penalty, n_features):
    grid = np.asarray(default_sparsities(penalty, n_features))
    assert len(grid) == 10
    steps = np.diff(np.log(grid))
    # Whole numbers cannot be spaced exactly: rounding moves a value by half at most, and with it
    # the two steps beside it; the first value's also moves the mean of the nine steps.
    slack = 0.5 / grid[:-1] + 0.5 / grid[1:] + 0.5 / grid[0] / 9 if penalty == "l0" else 1e-9
    assert (abs(steps - np.log(grid[-1] / grid[0]) / 9) <= slack * 1.05).all()
    assert grid[-1] == pytest.approx(n_features if penalty == "l0" else np.sqrt(n_features))
    assert grid[0] < grid[-1] / 5


INDEPENDENT, CORRELATED = NoiseCorrelation(1.0, 1000), NoiseCorrelation(2.0, 1000)


def curve(gaps, n_selected):
    return pd.DataFrame({"n_selected": n_selected, "gap": gaps, "se": 0.0})


def independent_features(seed):
    """Three clusters told apart by a third of 120 features, all else independent."""
    means = np.outer([1.2, -1.2, 0.0], np.ones(40))
    return gaussian_clusters(means, 20, 120, random_state=seed).X


def correlated_features(seed):
    """Two clusters in 10 of 120 features, all of which share three factors."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 120)) + rng.standard_normal((60, 3)) @ rng.normal(0, 1.5, (3, 120))
    X[:30, :10] += 4
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


@pytest.mark.parametrize(
    ("gaps", "n_selected", "correlation", "chosen"),
    [
        ([0.1, 0.3, 0.2, 0.9], [5, 20, 25, 100], INDEPENDENT, 3),
        ([0.1, 0.3, 0.2, 0.9], [5, 20, 25, 100], CORRELATED, 1),
        # A quarter itself is allowed.
        ([0.1, 0.3, 0.4, 0.9], [5, 20, 25, 100], CORRELATED, 2),
        ([0.1, 0.3, 0.4, 0.9], [5, 20, 26, 100], CORRELATED, 1),
        # Where all keep more, the sparsest.
        ([0.1, 0.3, 0.4, 0.9], [30, 40, 50, 100], CORRELATED, 0),
    ],
)
def test_the_largest_gap_below_the_limit_is_chosen(gaps, n_selected, correlation, chosen):
    limit = FeatureLimit(correlation, 100)
    assert select_sparsity(curve(gaps, n_selected), "auto", limit) == chosen


def test_the_sentence_says_whether_data_or_limit_decided():
    n_selected = [5, 20, 40, 100]
    by_data = FeatureLimit(CORRELATED, 100).sentence(curve([0.4, 0.3, 0.5, 0.9], n_selected), 0)
    by_limit = FeatureLimit(CORRELATED, 100).sentence(curve([0.1, 0.3, 0.5, 0.9], n_selected), 1)
    assert not FeatureLimit(CORRELATED, 100).decides(curve([0.4, 0.3, 0.5, 0.9], n_selected), 0)
    assert FeatureLimit(CORRELATED, 100).decides(curve([0.1, 0.3, 0.5, 0.9], n_selected), 1)
    free = FeatureLimit(INDEPENDENT, 100).sentence(curve([0.1, 0.3, 0.5, 0.9], n_selected), 3)
    assert "at most 25 may be kept" in by_data
    assert by_data.endswith("Below this limit the largest gap keeps 5 of 100 features.")
    assert by_limit.endswith("This limit, not the data, decides to keep 20 of 100 features.")
    assert "no correlation" in free
    assert free.endswith("keeps 100 of 100 features.")


def search_by_both_rules(estimator, X):
    return [
        GapSearch(estimator, n_references=3, rule=rule, random_state=0).fit(X)
        for rule in ("max", "auto")
    ]


@pytest.mark.parametrize("estimator", [L0KMeans(3, n_init=3), L1KMeans(3, n_init=3)])
def test_on_independent_features_auto_is_the_papers_rule(estimator):
    X = independent_features(0)
    paper, auto = search_by_both_rules(estimator, X)
    assert paper.best_sparsity_ == auto.best_sparsity_
    np.testing.assert_array_equal(paper.labels_, auto.labels_)
    assert auto.limit_.most == 120
    assert auto.conclusion_.startswith("The dropped features show no correlation")
    # More than a quarter, which would not be allowed of correlated ones.
    if isinstance(estimator, L0KMeans):
        assert auto.get_support().sum() > 30


@pytest.mark.parametrize("estimator", [L0KMeans(2, n_init=3), L1KMeans(2, n_init=3)])
def test_of_correlated_features_at_most_a_quarter_is_kept(estimator):
    X = correlated_features(0)
    paper, auto = search_by_both_rules(estimator, X)
    # Without the limit everything would be kept.
    assert paper.get_support().all()
    assert auto.limit_.most == 30
    assert 1 <= auto.get_support().sum() <= 30
    assert "correlate" in auto.conclusion_


MEANS = np.outer([2.0, -2.0, 0.0], np.ones(20))


def drawn(correlation, seed=0):
    return gaussian_clusters(MEANS, 20, 200, correlation=correlation, random_state=seed)


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
def test_independent_features_score_one_shifted_or_not_and_correlated_ones_more(seed):
    data = drawn(0.0, seed)
    labels = data.labels.astype(np.int32)
    everything = noise_correlation(data.X, labels, np.ones(200)).mean
    dropped = noise_correlation(data.X, labels, data.relevant.astype(float)).mean
    assert noise_correlation(drawn(0.9, seed).X, labels, data.relevant.astype(float)).mean > 2
    # 19,900 pairs: a standard deviation of sqrt(2 / 19900) = 0.01.
    assert everything == pytest.approx(1, abs=0.06)
    assert dropped == pytest.approx(1, abs=0.06)
    # Without their cluster means removed, relevant features correlate by 0.7.
    assert noise_correlation(data.X, np.zeros(60, np.int32), np.ones(200)).mean > 1.2


def test_neither_scale_nor_constant_features_matter():
    data = drawn(0.5)
    labels, weights = data.labels.astype(np.int32), np.zeros(200)
    scaled = data.X * np.geomspace(0.1, 10, 200) + 5
    expected = noise_correlation(data.X, labels, weights).mean
    assert noise_correlation(scaled, labels, weights).mean == pytest.approx(expected)
    with_constant = np.column_stack([data.X, np.full(60, 3.0)])
    value = noise_correlation(with_constant, labels, np.zeros(201)).mean
    assert value == pytest.approx(expected)
    assert noise_correlation(np.ones((60, 3)), labels, np.zeros(3)).mean == 1


@pytest.mark.parametrize("seed", range(10))
def test_independent_features_are_within_chance_and_weakly_correlated_ones_are_not(seed):
    for correlation, expected in ((0.0, False), (0.6, True)):
        data = drawn(correlation, seed)
        found = noise_correlation(data.X, data.labels.astype(np.int32), data.relevant.astype(float))
        assert found.is_beyond_chance == expected
