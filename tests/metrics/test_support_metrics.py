"""NW, PZW and PNW: counts of kept and dropped features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsekm.metrics import n_nonzero_weights, proper_nonzero_weights, proper_zero_weights

TRUE_SUPPORT = [True, True, True, False, False, False, False]
WEIGHTS = [0.8, 0.0, 0.2, 0.0, 0.0, 0.0, 0.1]


def test_counts_of_a_hand_worked_selection():
    assert n_nonzero_weights(WEIGHTS) == 3
    assert proper_nonzero_weights(TRUE_SUPPORT, WEIGHTS) == 2
    assert proper_zero_weights(TRUE_SUPPORT, WEIGHTS) == 3


def test_the_smallest_weight_counts_as_kept():
    tiny = np.nextafter(0, 1)
    assert n_nonzero_weights([tiny, 0.0, -0.0]) == 1


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
