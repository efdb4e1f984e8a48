"""Stability curves, selected sets and evidence, against hand-worked numbers."""

import numpy as np
import pandas as pd
import pytest

from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.tuning.evidence import Evidence
from sparsekm.tuning.stability import select_stable, selection_stability, stability_curve


def hand_made_curve(stability, se):
    return pd.DataFrame({"stability": stability, "se": se})


def test_selected_sets_that_are_all_the_same_have_stability_one():
    np.testing.assert_allclose(selection_stability(np.array([[3, 3, 0, 0]]), 3), [1])


def test_selected_sets_hand_worked():
    # Two fits keep features 1, 2 and 1, 3 of four: shares 1, 1/2, 1/2, 0; unbiased variances
    # 0, 1/2, 1/2, 0, mean 1/4; mean share 1/2, chance 1/4.
    np.testing.assert_allclose(selection_stability(np.array([[2, 1, 1, 0]]), 2), [0])
    # Disjoint sets: variances 1/2 each, as much as there can be.
    np.testing.assert_allclose(selection_stability(np.array([[1, 1, 1, 1]]), 2), [-1])


def test_sets_kept_at_random_have_stability_zero_on_average():
    rng = np.random.default_rng(0)
    ten_of_forty = np.tile(np.arange(40) < 10, (6, 1))
    values = [
        selection_stability(rng.permuted(ten_of_forty, axis=1).sum(axis=0)[None], 6)[0]
        for _ in range(400)
    ]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(400)


def test_keeping_everything_is_no_disagreement():
    np.testing.assert_array_equal(selection_stability(np.array([[4, 4], [0, 0]]), 4), [1, 1])


@pytest.fixture(name="path")
def hand_made_path():
    return SparsityPath(
        sparsities=np.array([1.0, 2.0]),
        objectives=np.array([3.0, 5.0]),
        first_objectives=np.array([3.0, 5.0]),
        labels=np.array([[0, 0, 1], [1, 1, 0]], np.int32),
        weights=np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]),
        scores=np.zeros((2, 3)),
        n_iter=np.ones(2, np.int64),
        search="global",
    )


def test_the_curve_of_two_hand_made_resamplings(path):
    # One keeps the first feature, the other the second; then both the first two.
    table = stability_curve(path, [[0.2, 1.0], [0.6, 1.0]], np.array([[1, 1, 0], [2, 2, 0]]), 2)
    np.testing.assert_allclose(table["stability"], [0.4, 1])
    np.testing.assert_allclose(table["stability_sd"], [np.sqrt(0.08), 0], atol=1e-12)
    np.testing.assert_allclose(table["se"], [0.2, 0], atol=1e-12)
    # Disjoint single features of three: variances 1/2, 1/2, 0; chance 1/3 * 2/3.
    np.testing.assert_allclose(table["selection_stability"], [1 - (1 / 3) / (2 / 9), 1])
    np.testing.assert_allclose(table["likeness"], [1, 1])
    assert table["n_selected"].tolist() == [1, 2]
    assert table["objective"].tolist() == [3, 5]


@pytest.mark.parametrize(
    ("stability", "se", "chosen"),
    [
        # From the best, 0.9, down to 0.8, as far as they follow each other ...
        ([0.1, 0.81, 0.85, 0.9, 0.5], [9, 9, 9, 0.1, 9], 1),
        # ... and not beyond a dip.
        ([0.85, 0.1, 0.85, 0.9, 0.5], [9, 9, 9, 0.1, 9], 2),
        # The best's own error counts, and what is denser does not matter.
        ([0.5, 0.9, 0.9], [9, 0.1, 9], 1),
        ([0.9, 0.8, 0.7], [0.0, 0, 0], 0),
        ([0.88, 0.9, 0.7], [0.0, 0.1, 0], 0),
    ],
)
def test_the_sparse_end_of_the_best_neighbourhood(stability, se, chosen):
    assert select_stable(hand_made_curve(stability, se), "sparse-end") == chosen


def test_rule_max_takes_the_sparsest_of_the_most_stable():
    assert select_stable(hand_made_curve([0.1, 0.9, 0.9], [0.1] * 3), "max") == 1


def test_rule_same_takes_the_sparsest_that_is_as_like_the_most_stable_as_it_is_to_itself():
    curve = hand_made_curve([0.1, 0.2, 0.5, 0.7, 0.6], [0.0] * 5)
    chosen = select_stable(curve.assign(likeness=[0.6, 0.7, 0.69, 1.0, 0.8]), "same")
    assert chosen == 1
    assert select_stable(curve.assign(likeness=[0.6, 0.6, 0.69, 1.0, 0.8]), "same") == 3
    # Also denser ones can be the same, but the sparsest is taken.
    assert select_stable(curve.assign(likeness=[0.9, 0.7, 0.9, 1.0, 0.8]), "same") == 0


def test_an_unknown_rule_is_refused():
    with pytest.raises(
        ValueError, match=r"rule='one-se' should be one of \['max', 'sparse-end', 'same'\]"
    ):
        select_stable(hand_made_curve([1.0], [0.1]), "one-se")


def test_evidence_hand_worked():
    # References 0.1, 0.2, 0.3: mean 0.2, sd 0.1. Student's t with 2 degrees of freedom exceeds
    # 2.919986 with probability 0.05, so one more reference reaches 0.2 + 0.2919986 sqrt(4/3).
    references = np.array([0.1, 0.2, 0.3])
    reach = 0.2919986 * np.sqrt(4 / 3)
    just = Evidence("gaussian", 0.2 + reach, references)
    assert just.strength == pytest.approx(1, rel=1e-6)
    assert Evidence("gaussian", 0.2 + 1.01 * reach, references).has_clusters is True
    less = Evidence("gaussian", 0.2 + 0.99 * reach, references)
    assert less.has_clusters is False
    assert less.sentence().startswith("No evidence of clusters:")
    assert "on 3 data sets without clusters (Gaussian references)" in less.sentence()


def test_only_a_sample_without_evidence_leaves_open_what_more_samples_show():
    references = np.array([0.1, 0.2, 0.3])
    left_open = "More samples may show clusters."
    for stability, sampled, ends in (
        (0.2, (1000, 2500), True),
        (0.2, None, False),
        (0.9, (1000, 2500), False),
    ):
        evidence = Evidence("gaussian", stability, references, sampled=sampled)
        assert evidence.sentence().endswith(left_open) == ends


def test_without_references_nothing_is_concluded():
    nothing = Evidence("gaussian", float("nan"), np.array([]))
    assert nothing.has_clusters is None
    assert np.isnan(nothing.strength)
    assert "not asked" in nothing.sentence()


def test_one_resampling_is_not_enough(path):
    with pytest.raises(ValueError, match=r"\(1, 2\) should have n_splits >= 2"):
        stability_curve(path, [[0.2, 1.0]], np.array([[1, 0, 0], [1, 1, 0]]), 1)


def test_a_reference_is_mistaken_for_clusters_as_rarely_as_promised():
    """One more draw from the references' own distribution exceeds them with probability LEVEL."""
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4000, 6))
    found = [Evidence("gaussian", row[0], row[1:]).has_clusters for row in draws]
    assert np.mean(found) == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 4000))
