"""Error rates of partitions and counts of features, by hand and against brute force."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekm.metrics import (
    chance_corrected_rates,
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


@given(label_pairs)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_each_rate_is_what_counting_one_by_one_gives(labels):
    truth, found = map(np.array, labels)
    pairs = np.array(list(combinations(range(len(truth)), 2))).T
    together = [of[pairs[0]] == of[pairs[1]] for of in (truth, found)]
    assert classification_error_rate(*labels) == np.mean(together[0] != together[1])
    commonest = sum(np.bincount(truth[found == k]).max() for k in set(found))
    assert error_clustering_rate(*labels) == pytest.approx(1 - commonest / len(truth), abs=1e-14)
    least = min(np.mean(truth != np.array(names)[found]) for names in permutations(range(6)))
    assert matching_error_rate(*labels) == pytest.approx(least, abs=1e-14)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize(
    "as_labels",
    [
        lambda codes: [f"region {k}" for k in codes],
        lambda codes: pd.Series([f"region {k}" for k in codes], dtype="category"),
        lambda codes: np.asarray(codes, dtype=np.uint8),
        lambda codes: [str(k) if k % 2 else k for k in codes],
    ],
    ids=["strings", "categories", "uint8", "mixed"],
)
def test_names_and_types_of_labels_do_not_matter(rate, as_labels):
    labels_true, labels_pred = np.random.default_rng(0).integers(0, 4, size=(2, 50))
    expected = rate(labels_true, labels_pred)
    assert 0 < expected < 1
    assert rate(as_labels(labels_true.tolist()), labels_pred) == expected
    assert rate(labels_true, as_labels(labels_pred.tolist())) == expected


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
        ([0, 1, 1], [0, 1], r"inconsistent numbers of samples: \[3, 2\]"),
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
    assert chance_corrected_rates(truth, found)["cer_chance"] == pytest.approx(np.mean(rates))


TRUE_SUPPORT = [True, True, True, False, False, False, False]
WEIGHTS = [0.8, 0.0, 0.2, 0.0, 0.0, 0.0, 0.1]


def test_counts_of_a_hand_worked_selection():
    assert n_nonzero_weights(WEIGHTS) == 3
    for support in (TRUE_SUPPORT, np.array(TRUE_SUPPORT), 0.3 * np.array(TRUE_SUPPORT)):
        assert proper_nonzero_weights(support, WEIGHTS) == 2
        assert proper_zero_weights(support, WEIGHTS) == 3


@pytest.mark.parametrize("count", [proper_zero_weights, proper_nonzero_weights])
@pytest.mark.parametrize(
    ("true_support", "weights", "message"),
    [
        ([0, 2, 5], WEIGHTS, r"inconsistent numbers of samples: \[3, 7\]"),
        (TRUE_SUPPORT, [WEIGHTS], r"weights should be one-dimensional, got shape \(1, 7\)"),
        (TRUE_SUPPORT, [*WEIGHTS[:-1], np.nan], "weights should be finite, got nan at position 6"),
        (["x"] * 7, WEIGHTS, "true_support should be boolean or numeric, got dtype <U1"),
    ],
)
def test_wrong_supports_are_refused(count, true_support, weights, message):
    with pytest.raises(ValueError, match=message):
        count(true_support, weights)
