"""Error rates of partitions and counts of features, by hand and against brute force."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekm.metrics import (
    chance_error_rate,
    classification_error_rate,
    error_clustering_rate,
    matching_error_rate,
    n_nonzero_weights,
    proper_nonzero_weights,
    proper_zero_weights,
)

RATES = [classification_error_rate, error_clustering_rate, matching_error_rate]

label_pairs = st.integers(2, 30).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n)] * 2)
)


def count_pairs(labels_true, labels_pred):
    pairs = list(combinations(range(len(labels_true)), 2))
    disagreeing = sum(
        (labels_true[i] == labels_true[j]) != (labels_pred[i] == labels_pred[j]) for i, j in pairs
    )
    return disagreeing / len(pairs)


def test_cer_of_a_hand_worked_table():
    # True pairs: 01, 02, 12, 34. Predicted: 01, 23, 24, 34. In one only: 02, 12, 23, 24 of ten.
    assert classification_error_rate([0, 0, 0, 1, 1], [0, 0, 1, 1, 1]) == 0.4


@given(label_pairs)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_matching_error_is_the_least_over_all_renamings(labels):
    labels_true, labels_pred = map(np.array, labels)
    least = min(
        np.mean(labels_true != np.array(names)[labels_pred]) for names in permutations(range(6))
    )
    assert matching_error_rate(*labels) == pytest.approx(least, abs=1e-14)


@given(label_pairs)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_cer_is_the_share_of_pairs_counted_one_by_one(labels):
    assert classification_error_rate(*labels) == count_pairs(*labels)


@given(label_pairs)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_ecr_is_one_minus_the_purity(labels):
    labels_true, labels_pred = map(np.array, labels)
    commonest = sum(np.bincount(labels_true[labels_pred == k]).max() for k in set(labels_pred))
    assert error_clustering_rate(labels_true, labels_pred) == pytest.approx(
        1 - commonest / len(labels_true), abs=1e-14
    )


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    "as_labels",
    [
        lambda codes: [f"region {k}" for k in codes],
        lambda codes: pd.Series([f"region {k}" for k in codes], dtype="category"),
        lambda codes: pd.Series(codes, index=np.arange(len(codes))[::-1]),
        lambda codes: np.asarray(codes, dtype=np.uint8),
        lambda codes: [str(k) if k % 2 else k for k in codes],
    ],
    ids=["strings", "categories", "reversed index", "uint8", "mixed"],
)
def test_names_and_types_of_labels_do_not_matter(rate, as_labels):
    rng = np.random.default_rng(0)
    labels_true, labels_pred = rng.integers(0, 4, size=(2, 50))
    expected = rate(labels_true, labels_pred)
    assert 0 < expected < 1
    assert rate(as_labels(labels_true.tolist()), labels_pred) == expected
    assert rate(labels_true, as_labels(labels_pred.tolist())) == expected


def test_same_partition_has_no_error_and_opposite_extremes_have_all():
    assert [rate([3, 3, 1, 1, 2], [0, 0, 7, 7, 5]) for rate in RATES] == [0.0] * 3
    assert classification_error_rate([0] * 6, range(6)) == 1.0


def test_a_million_samples_are_counted_without_overflow():
    n, dtype = 10**6, np.int8
    halves = np.repeat([0, 1], n // 2).astype(dtype)
    # Everything in one cluster against two halves: the n^2 / 4 pairs across the halves disagree.
    expected = (n // 2) ** 2 / (n * (n - 1) // 2)
    assert classification_error_rate(np.zeros(n, dtype=dtype), halves) == expected
    assert error_clustering_rate(halves, np.zeros(n, dtype=dtype)) == 0.5
    assert matching_error_rate(halves, np.zeros(n, dtype=dtype)) == 0.5


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    ("labels_true", "labels_pred", "message"),
    [
        ([0, 1, 1], [0, 1], "same length, got 3 and 2"),
        ([[0, 1], [1, 0]], [0, 1], r"labels_true should be one-dimensional, got shape \(2, 2\)"),
        ([0, 1, 1], [0.0, np.nan, 1.0], r"labels_pred should have no missing value, got 1 .*1\)"),
        (pd.Categorical(["a", None, "b"]), [0, 1, 1], r"got 1 \(the first at position 1\)"),
        ([], [], "n_samples=0 should be >= "),
    ],
)
def test_wrong_labels_are_refused(rate, labels_true, labels_pred, message):
    with pytest.raises(ValueError, match=message):
        rate(labels_true, labels_pred)


def test_the_rate_of_chance_is_the_mean_over_all_orders_of_the_labels():
    truth, found = [0, 0, 0, 1, 1], [0, 1, 1, 2, 2]
    rates = [classification_error_rate(truth, order) for order in permutations(found)]
    assert chance_error_rate(truth, found) == pytest.approx(np.mean(rates))


TRUE_SUPPORT = [True, True, True, False, False, False, False]
WEIGHTS = [0.8, 0.0, 0.2, 0.0, 0.0, 0.0, 0.1]


def test_counts_of_a_hand_worked_selection():
    assert n_nonzero_weights(WEIGHTS) == 3
    assert proper_nonzero_weights(TRUE_SUPPORT, WEIGHTS) == 2
    assert proper_zero_weights(TRUE_SUPPORT, WEIGHTS) == 3


@settings(deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_kept_features_are_the_relevant_ones_and_the_falsely_kept(features):
    relevant, kept = np.array(features).T
    falsely_kept = np.count_nonzero(~relevant) - proper_zero_weights(relevant, kept)
    assert n_nonzero_weights(kept) == proper_nonzero_weights(relevant, kept) + falsely_kept


@pytest.mark.parametrize("as_support", [np.array, lambda s: np.array(s, dtype=float) * 0.3])
def test_the_true_support_may_be_a_mask_or_true_weights(as_support):
    assert proper_zero_weights(as_support(TRUE_SUPPORT), WEIGHTS) == 3
    assert proper_nonzero_weights(as_support(TRUE_SUPPORT), WEIGHTS) == 2


@pytest.mark.parametrize("count", [proper_zero_weights, proper_nonzero_weights])
@pytest.mark.parametrize(
    ("true_support", "weights", "message"),
    [
        ([0, 2, 5], WEIGHTS, "same length, got 3 and 7"),
        (TRUE_SUPPORT, [WEIGHTS], r"weights should be one-dimensional, got shape \(1, 7\)"),
        (TRUE_SUPPORT, [*WEIGHTS[:-1], np.nan], "weights should be finite, got nan at position 6"),
        (["x"] * 7, WEIGHTS, "true_support should be boolean or numeric, got dtype <U1"),
    ],
)
def test_wrong_supports_are_refused(count, true_support, weights, message):
    with pytest.raises(ValueError, match=message):
        count(true_support, weights)
