"""Which clusters are separated: counts by hand, what they may not depend on, and hard data."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, multinomial

from sparsekm import KMeans, L0KMeans, SparseKMeans, classification_error_rate
from sparsekm.metrics import matching_error_rate
from sparsekm.tuning.partitions import FoldFit
from sparsekm.tuning.separation import (
    LEVEL,
    SpreadValues,
    any_separated,
    could_tell,
    join_overlapping,
    join_pairs,
    leading_features,
    multiply_p,
    needs_one_feature,
    one_mode_p,
    separation,
    shows_in_one_feature,
)

# Samples that a fold fits have their centres at 0 and 1.
FITTED = np.array([-0.1, 0.1, 0.9, 1.1])
# Medians of the sides are 0 and 1: four samples about either, and two in the middle third.
LEFT_OUT = np.array([-0.1, 0.0, 0.0, 0.1, 0.45, 0.5, 0.95, 1.0, 1.0, 1.1])


def table_of(left_out, blocks=None, move=lambda x: x):
    values = np.concatenate([FITTED, left_out])
    labels, everyone = (values >= 0.5).astype(int), np.arange(len(values))
    fold = FoldFit(everyone[:4], everyone[4:], labels, np.array([0]), np.array([0]))
    blocks = None if blocks is None else np.concatenate([-1 - np.arange(4), blocks]) + 4
    values = SpreadValues(move(values)[:, None], 0, blocks)
    return separation(values, labels, np.array([0]), [fold])


def test_counts_worked_by_hand():
    (row,) = table_of(LEFT_OUT).to_dict("records")
    assert (row["cluster_a"], row["cluster_b"]) == (0, 1)
    assert (row["n_middle"], row["n_a"], row["n_b"]) == (2, 4, 4)
    # With every width, there are two in the middle and four about either median.
    assert row["p"] == row["p_adjusted"] == pytest.approx(one_mode_p(2, 4, 4))
    bars = [int(count) for count in row["histogram"].split("-")]
    # Twelve bins from 0 to 1: the four about either median, and the four of the middle third.
    assert [sum(bars[at : at + 4]) for at in (10, 16, 22)] == [4, 2, 4]
    assert (bars[17], bars[18], sum(bars)) == (1, 1, 10)
    sides = LEFT_OUT[:5], LEFT_OUT[5:]
    within = sum(np.square(side - side.mean()).sum() for side in sides) / 10
    assert row["distance"] == pytest.approx(1 / np.sqrt(within))
    # The p is a mean over five widths: for two of them, .325 is in the middle.
    (row,) = table_of(np.where(LEFT_OUT == 0.45, 0.325, LEFT_OUT)).to_dict("records")
    assert (row["n_middle"], row["n_a"], row["n_b"]) == (1, 4, 4)
    assert row["p"] == pytest.approx((3 * one_mode_p(1, 4, 4) + 2 * one_mode_p(2, 4, 4)) / 5)


@pytest.mark.parametrize("counts", [(0, 4, 4), (1, 3, 9), (6, 5, 5)])
def test_the_p_value_is_that_of_all_outcomes_that_show_as_deep_a_valley(counts):
    def depth(middle, *ends):
        return max(binomtest(middle, middle + end, alternative="less").pvalue for end in ends)

    total, few, many = sum(counts), *sorted(counts[1:])
    shares = np.array([few, few, many]) / (2 * few + many)
    p = sum(
        multinomial.pmf((middle, end, total - middle - end), total, shares)
        for middle in range(total + 1)
        for end in range(total - middle + 1)
        if middle + min(end, total - middle - end) > 0
        and depth(middle, end, total - middle - end) <= depth(*counts) * (1 + 1e-9)
    )
    assert one_mode_p(*counts) == one_mode_p(counts[0], *counts[:0:-1]) == pytest.approx(p)


@pytest.mark.parametrize("shares", [(1, 1, 1), (1, 1, 2), (2, 2, 2.5)])
def test_one_mode_is_seldom_taken_for_two(shares):
    drawn = np.random.default_rng(7).multinomial(40, np.array(shares) / sum(shares), size=2000)
    found = np.mean([one_mode_p(*map(int, counts)) <= LEVEL for counts in drawn])
    # How much fuller one end is has to be estimated: the worst is .07, for twice as full.
    assert found <= 0.08
    # Without samples at one end nothing is a valley.
    assert one_mode_p(0, 5, 0) == one_mode_p(0, 0, 0) == 1
    # A full middle beside a small end: nothing is left but rounding.
    crowded = np.array([one_mode_p(n_middle, 640, 60) for n_middle in range(0, 400, 5)])
    assert (np.diff(crowded) >= -1e-6).all()
    assert crowded[-1] == pytest.approx(1)


def test_neither_scale_of_the_axis_nor_the_centres_fitted_matter_but_medians_of_the_sides():
    for move in (lambda x: 7 - 30 * x, lambda x: 0.001 * x + 2):
        pd.testing.assert_frame_equal(table_of(LEFT_OUT, move=move), table_of(LEFT_OUT))
    # Samples left out are nearer to each other than those that a fit has put apart.
    pd.testing.assert_frame_equal(table_of(0.5 + 0.6 * (LEFT_OUT - 0.5)), table_of(LEFT_OUT))


def test_a_block_counts_once_on_a_side():
    # Not ties, which are spread.
    repeated = np.repeat(LEFT_OUT, 3) + 1e-9 * np.arange(30)
    blocks = np.repeat(np.arange(10), 3)
    found, once = table_of(repeated, blocks), table_of(LEFT_OUT)
    bars = [sum(map(int, table.pop("histogram")[0].split("-"))) for table in (found, once)]
    assert bars == [30, 10]
    # The spread is that of samples.
    pd.testing.assert_frame_equal(found, once)
    assert table_of(repeated)["n_middle"].tolist() == [6]


def test_the_samples_of_a_donor_are_shares_that_are_not_averaged_worked_by_hand():
    # Donor, and positions: one is in no count, and those of a side share what is counted of it.
    told = {0: [0, 0, 0.45, 1], 1: [0, 0.55, 1], 2: [0, 0.25, 1], 3: [0, 1, 1]}
    positions = np.concatenate([*told.values()])
    blocks = np.repeat(list(told), [len(of) for of in told.values()])
    (row,) = table_of(positions, blocks).to_dict("records")
    # 1/3 and 1/2 in the middle, 2/3 + 3 about 0 and 1/2 + 3 about 1: rounded against a valley.
    assert (row["n_middle"], row["n_a"], row["n_b"]) == (1, 3, 3)
    assert row["p"] == pytest.approx(one_mode_p(1, 3, 3))
    assert table_of(positions)[["n_middle", "n_a", "n_b"]].to_numpy().tolist() == [[2, 5, 5]]


def test_ties_are_spread_evenly_between_the_midpoints_to_their_neighbours():
    column = np.repeat([0.0, 1.0, 4.0], [6, 4, 2])
    X = np.column_stack(
        [column, np.full(12, 7.0), np.minimum(np.arange(12), 6), np.arange(12) // 2]
    )
    values = SpreadValues(X[::-1], 0)
    spread = np.sort(values.columns(np.array([0]))[:, 0])
    of_0, of_1, of_4 = (np.arange(n) + 0.5 for n in (6, 4, 2))
    expected = [*(-0.5 + of_0 / 6), *(0.5 + 2 * of_1 / 4), *(2.5 + 3 * of_4 / 2)]
    np.testing.assert_allclose(spread, expected)
    # Neither a constant nor more distinct values than half of the samples, but half of them.
    np.testing.assert_array_equal(values.columns(np.array([1, 2])), X[::-1, 1:3])
    halves = np.sort(values.columns(np.array([3]))[:, 0])
    np.testing.assert_allclose(halves, np.arange(12) / 2 - 0.25)


def test_a_sample_that_is_left_out_several_times_has_the_median_of_its_positions():
    # Positions in the first feature are lower than in the second, and in the third higher.
    values, rng = np.concatenate([FITTED, LEFT_OUT]), np.random.default_rng(0)
    X = values[:, None] + np.outer(np.r_[np.zeros(4), rng.random(10)], [-1, 0, 1])
    labels, everyone = (values >= 0.5).astype(int), np.arange(14)
    kept = [np.array([feature]) for feature in range(3)]
    folds = [FoldFit(everyone[:4], everyone[4:], labels, one, one) for one in kept]
    given = SpreadValues(X, 0), labels, np.array([1])
    pd.testing.assert_frame_equal(separation(*given, folds), separation(*given, folds[1:2]))


def leave_out(labels, parts, n_features):
    """Give folds that leave out these samples, and whose clusters are those of all."""
    everyone, kept = np.arange(len(labels)), np.arange(n_features)
    return [FoldFit(np.setdiff1d(everyone, o), o, labels, kept, kept) for o in parts]


def clouds(centers, scale, seed=0):
    """Draw 30 samples about each centre, and folds that leave out a fifth each."""
    centers = np.asarray(centers, float)
    labels = np.arange(30 * len(centers)) % len(centers)
    X = centers[labels] + scale * np.random.default_rng(seed).normal(size=(len(labels), 2))
    left_out = [np.flatnonzero(np.arange(len(X)) // 6 % 5 == number) for number in range(5)]
    return SpreadValues(X, 0), labels, np.arange(2), leave_out(labels, left_out, 2)


def pairs_of(table):
    return set(zip(table["cluster_a"], table["cluster_b"], strict=True))


def test_of_three_centres_on_a_line_the_outer_two_are_no_neighbours():
    assert pairs_of(separation(*clouds([[0, 0], [9, 0], [4, 0.5]], 0.1))) == {(0, 2), (1, 2)}
    assert pairs_of(separation(*clouds([[0, 0], [9, 0], [4, 8]], 0.1))) == {(0, 1), (0, 2), (1, 2)}


def test_far_clusters_are_separated_and_p_values_are_adjusted_as_by_holm():
    table = separation(*clouds([[0, 0], [3.2, 0], [1.6, 9]], 1.0))
    p = table["p"].to_numpy()
    assert p[1:].max() < 1e-6 < p[0]
    adjusted, largest = {}, 0.0
    for tested, index in enumerate(np.argsort(p, kind="stable")):
        largest = max(largest, (len(p) - tested) * p[index])
        adjusted[index] = min(1.0, largest)
    assert table["p_adjusted"].tolist() == [adjusted[index] for index in range(len(p))]
    assert any_separated(table)
    np.testing.assert_array_equal(
        multiply_p(table, 4)["p_adjusted"], np.minimum(1, 4 * table["p_adjusted"])
    )


def test_clusters_that_match_none_and_single_ones_are_not_counted():
    X, labels, kept, folds = clouds([[0, 0], [5, 0]], 1.0)
    unmatched = [f._replace(labels=np.where(labels, -1, 0)) for f in folds]
    assert separation(X, labels, kept, unmatched)[["n_middle", "n_a", "n_b"]].max(axis=None) == 0
    alone = separation(X, np.zeros_like(labels), kept, folds)
    assert len(alone) == 0
    assert not any_separated(alone)


def test_a_pair_can_be_told_apart_if_its_sizes_alone_allow_the_level_worked_by_hand():
    # 12, 4 and 6 samples far from each other, all of them left out once.
    labels = np.repeat([0, 1, 2], [12, 4, 6])
    X = np.array([[0, 0], [9, 0], [0, 9]])[labels] + 0.01 * np.arange(22)[:, None]
    everyone, kept = np.arange(22), np.arange(2)
    folds = [FoldFit(everyone, everyone, labels, kept, kept)]
    table = separation(SpreadValues(X, 0), labels, kept, folds)
    assert pairs_of(table) == {(0, 1), (0, 2), (1, 2)}
    # With an empty middle; Holm's method counts the smallest p three times, the next one twice, and
    # the largest, of .033, as much as that.
    p = [one_mode_p(0, *sizes) for sizes in ((12, 4), (12, 6), (4, 6))]
    assert p[1] < p[2] < p[0] < 2 * p[2] < LEVEL
    assert table["p_least"].tolist() == pytest.approx([2 * p[2], 3 * p[1], 2 * p[2]])
    assert could_tell(table).all()
    assert could_tell(multiply_p(table, 2)).tolist() == [False, True, False]
    # Donors count, not samples: two of them in each of the clusters.
    table = separation(SpreadValues(X, 0, np.arange(22) % 2), labels, kept, folds)
    assert table["p_least"].tolist() == pytest.approx([min(1, 3 * one_mode_p(0, 2, 2))] * 3)
    assert not could_tell(table).any()


def test_joined_clusters_are_as_far_apart_as_their_nearest_members():
    table = pd.DataFrame({"cluster_a": [0, 0, 1, 2], "cluster_b": [1, 2, 3, 3]})
    table["p_adjusted"] = [0.5, 0.01, 0.03, 0.02]
    # 0 and 1 are one group; 2 is at 0.01 from it, and 3 at 0.03.
    found = join_pairs(table, np.array([1, 1, 0, 2]))
    assert found.to_numpy().tolist() == [[0, 1, 0.01], [0, 2, 0.02], [1, 2, 0.03]]
    again = join_pairs(table, np.array([0, 0, 1, 1]))
    assert again.to_numpy().tolist() == [[0, 1, 0.03]]


def test_the_leading_feature_differs_most_for_its_spread_within_clusters_worked_by_hand():
    labels = np.repeat([0, 1, 2], 20)
    a, b = np.tile([-1.0, 1.0], 30), np.tile([-1.0, -1.0, 1.0, 1.0], 15)
    means = np.array([[0, 0, 0, 0, 0], [0, 9, 6, 8, 0], [0, 0, 0, 0, 9]])[labels]
    # The largest difference is of the widest feature; 3 follows 2, but for its sign.
    spread = np.column_stack([a, 5 * a, b, -2 * b - 0.5 * a, a])
    values, kept = SpreadValues(means + spread, 0), np.arange(1, 5)
    pairs = {"cluster_a": [0, 0, 1], "cluster_b": [1, 2, 2], "p_adjusted": [0.01, 0.04, 0.06]}
    first, second = leading_features(values, labels, kept, pd.DataFrame(pairs))
    assert (first.pair, first.feature, first.alike.tolist()) == ((0, 1), 2, [2, 3])
    assert (second.pair, second.feature, second.alike.tolist()) == ((0, 2), 4, [1, 4])


@pytest.mark.parametrize(("n_marked", "expected"), [(1, True), (2, False)])
def test_one_feature_is_needed_where_no_other_shows_the_valley(n_marked, expected):
    labels = np.arange(60) % 2
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, :n_marked] += 8 * labels[:, None]
    X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    folds = leave_out(labels, np.split(np.arange(60), 5), 4)
    values, kept = SpreadValues(X, 0), np.arange(4)
    leading = leading_features(values, labels, kept, separation(values, labels, kept, folds))
    assert needs_one_feature(values, leading, folds) == expected
    assert not needs_one_feature(values, [], folds)
    assert shows_in_one_feature(values, leading, folds)


def test_a_valley_that_takes_several_features_is_not_in_one_of_them_alone():
    labels = np.arange(40) % 2
    needed, alone = 0, 0
    for seed in range(10):
        X = np.random.default_rng(seed).standard_normal((40, 4)) + 2.2 * labels[:, None]
        folds = leave_out(labels, np.split(np.arange(40), 5), 4)
        values, kept = SpreadValues(X, 0), np.arange(4)
        pairs = separation(values, labels, kept, folds)
        leading = leading_features(values, labels, kept, pairs)
        is_needed = needs_one_feature(values, leading, folds)
        needed += is_needed
        alone += is_needed and shows_in_one_feature(values, leading, folds)
    assert needed >= 3
    assert alone == 0


def test_the_axis_between_clusters_allows_for_what_varies_within_them():
    # Far apart only across the direction in which all samples are spread.
    rng, labels = np.random.default_rng(0), np.arange(90) % 2
    along, across = 9 * rng.standard_normal(90), 0.5 * rng.standard_normal(90) + 5 * labels
    X = np.column_stack([along + across, along - across])
    folds = leave_out(labels, np.split(np.arange(90), 5), 2)
    assert any_separated(separation(SpreadValues(X, 0), labels, np.arange(2), folds))


def test_the_axis_is_found_of_as_many_features_as_samples():
    # Without a ridge it would follow the noise of the samples that were drawn.
    labels = np.arange(60) % 2
    X = np.random.default_rng(0).standard_normal((60, 44)) + 0.8 * labels[:, None]
    folds = leave_out(labels, np.split(np.arange(60), 5), 44)
    assert any_separated(separation(SpreadValues(X, 0), labels, np.arange(44), folds))


def test_neighbours_that_overlap_are_joined_and_what_these_overlap():
    table = pd.DataFrame({"cluster_a": [0, 1, 2, 3], "cluster_b": [1, 2, 3, 4]})
    table["p_adjusted"] = [0.5, 2 * LEVEL, LEVEL / 2, 0.9]
    group = join_overlapping(table, 6)
    assert group.tolist() == [0, 0, 0, 1, 1, 2]
    everyone = np.arange(6)
    labels = np.array([5, -1, 0, 2, 3, 4])
    fold = FoldFit(everyone, everyone[:0], labels, everyone, everyone)
    assert fold.join(group).labels.tolist() == [2, -1, 0, 0, 1, 1]


@pytest.mark.usefixtures("one_repeat")
def test_where_factors_are_the_optimum_the_clusters_are_found_all_the_same():
    # Two clusters in 5 % of the features, and four dense factors in all of them.
    rng = np.random.default_rng(0)
    truth = (np.arange(72) >= 0.65 * 72).astype(int)
    loadings = 0.5 * rng.standard_normal((4, 600))
    X = rng.standard_normal((72, 600))
    X += rng.standard_normal((72, 4)) @ loadings
    # In units of a feature's own standard deviation, 1 of noise and 1 of factors.
    X /= np.sqrt(2)
    X[:, :30] += 3 * np.outer(truth, rng.choice([-1, 1], 30))
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    assert classification_error_rate(truth, KMeans(2, random_state=0).fit(X).labels_) > 0.4
    found, own = (
        L0KMeans(2, init=init, random_state=0).path(X, [120, 300, 600]) for init in (None, truth)
    )
    # The optimum is the optimum: it explains more than the clusters do, and is wrong.
    assert (found.objectives >= own.objectives * (1 - 1e-9)).all()
    assert min(classification_error_rate(truth, labels) for labels in found.labels) > 0.4
    fit = SparseKMeans(2, random_state=0).fit(X)
    assert classification_error_rate(truth, fit.labels_) < 0.05
    assert fit.has_clusters_
    assert fit.get_support()[:30].mean() > 0.9
    assert fit.get_support()[30:].mean() < 0.1


@pytest.mark.usefixtures("one_repeat")
def test_the_two_leukemias_are_found_where_k_means_fails(test_data):
    with np.load(test_data / "microarray" / "leukemia_72x3571.npz") as arrays:
        raw, classes = arrays["X"], arrays["y"]
    X = (raw - raw.mean(axis=0)) / raw.std(axis=0, ddof=1)
    assert matching_error_rate(classes, KMeans(2, random_state=0).fit(X).labels_) > 0.2
    assert matching_error_rate(classes, SparseKMeans(2, random_state=0).fit(X).labels_) <= 0.06
