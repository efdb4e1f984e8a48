"""The gap curve, the rules that read it and the default grid, against hand-made tables."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.tuning.gap import gap_curve
from sparsekm.tuning.grid import default_sparsities
from sparsekm.tuning.selection import select_sparsity

COLUMNS = [
    "sparsity",
    "n_selected",
    "objective",
    "log_objective",
    "reference_mean",
    "reference_sd",
    "gap",
    "se",
]


def hand_made_table(gaps, errors):
    return pd.DataFrame({"sparsity": np.arange(1.0, len(gaps) + 1), "gap": gaps, "se": errors})


def test_the_gap_of_a_hand_worked_table():
    # Logs of the data: 3 and 5. Of the references: (1, 2, 3), mean 2, sd 1; (4, 4, 4), sd 0.
    table = gap_curve(
        [2, 7], [2, 7], np.exp([3.0, 5.0]), np.exp([[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]])
    )
    assert table.columns.tolist() == COLUMNS
    np.testing.assert_allclose(table["sparsity"], [2, 7])
    np.testing.assert_allclose(table["n_selected"], [2, 7])
    np.testing.assert_allclose(table["objective"], np.exp([3.0, 5.0]))
    np.testing.assert_allclose(table["log_objective"], [3, 5])
    np.testing.assert_allclose(table["reference_mean"], [2, 4])
    np.testing.assert_allclose(table["reference_sd"], [1, 0], atol=1e-12)
    np.testing.assert_allclose(table["gap"], [1, 1])
    np.testing.assert_allclose(table["se"], [np.sqrt(4 / 3), 0], atol=1e-12)


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


def test_rule_max_takes_the_largest_gap():
    assert select_sparsity(hand_made_table([0.1, 0.7, 0.9, 0.4], [0.5] * 4), rule="max") == 2


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
def test_rule_one_se_takes_the_smallest_sparsity_within_one_standard_error(gaps, errors, chosen):
    assert select_sparsity(hand_made_table(gaps, errors), rule="one-se") == chosen


def test_an_unknown_rule_is_refused():
    message = r"rule='2se' should be one of \['max', 'one-se', 'auto'\]"
    with pytest.raises(ValueError, match=message):
        select_sparsity(hand_made_table([1.0], [0.1]), "2se")


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
