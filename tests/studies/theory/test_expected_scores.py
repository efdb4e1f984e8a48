"""Theorem 1: scores are as expected, whatever the partition and the distribution."""

import numpy as np
import pytest

from sparsekm.studies.theory.expected_scores import (
    DISTRIBUTIONS,
    expected_score,
    mislabel,
    simulate_scores,
)
from sparsekm.studies.theory.level_model import three_levels


def test_the_expectation_is_the_papers_double_sum_of_levels_plus_k_minus_one(seed):
    rng = np.random.default_rng(seed)
    levels = rng.normal(size=12)
    labels = np.array([0, 1, 2] * 4)
    squares = (levels[:, None] - levels) ** 2
    within = sum(squares[np.ix_(labels == k, labels == k)].sum() / 4 for k in range(3))
    # Half of the paper's sum, as everywhere.
    between = (squares.sum() / 12 - within) / 2
    assert expected_score(levels, labels, 3) == pytest.approx(between + 2)


def test_a_noise_feature_expects_k_minus_one_under_every_partition(seed):
    rng = np.random.default_rng(seed)
    for n_clusters in (2, 3, 5):
        labels = rng.permutation(np.arange(20) % n_clusters)
        assert expected_score(np.full(20, 1.7), labels, n_clusters) == pytest.approx(n_clusters - 1)


def test_no_partition_expects_more_of_a_relevant_feature_than_the_true_one(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 5)
    levels = np.array([0.6, -0.6, 0.0])[truth]
    best = expected_score(levels, truth, 3)
    for _ in range(300):
        other = mislabel(truth, int(rng.integers(1, 15)), 3, rng)
        renamed = {tuple(pair) for pair in zip(truth, other, strict=True)}
        if len(renamed) > 3:
            assert expected_score(levels, other, 3) < best


def test_exactly_the_share_asked_for_is_mislabelled_and_no_cluster_is_emptied(seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 2)
    for n_moved in range(7):
        moved = mislabel(truth, n_moved, 3, rng)
        assert (moved != truth).sum() == n_moved
        assert np.unique(moved).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_noise_has_mean_zero_and_variance_one(name, seed):
    values = DISTRIBUTIONS[name](np.random.default_rng(seed), 200_000)
    assert abs(values.mean()) < 0.015
    assert values.var() == pytest.approx(1, abs=0.04)


def test_simulated_scores_agree_with_the_closed_form(seed):
    scores = simulate_scores(
        three_levels(0.8), 10, [0.0, 0.3], n_features=20, repetitions=60, root=seed
    )
    assert len(scores) == 2 * 2 * 2
    distance = (scores["score"] - scores["expected"]).abs() / scores["standard_error"]
    assert (distance < 5).all()
    noise = scores[scores["feature"] == "noise"]
    np.testing.assert_allclose(noise["expected"], 2)
    relevant = scores[scores["feature"] == "relevant"]
    assert relevant[relevant["mislabelled"] == 0]["score"].min() > relevant["score"].median()


def test_scores_derive_from_the_root_seed():
    few = {"n_features": 3, "repetitions": 2}
    first, again, other = (
        simulate_scores(three_levels(1.0), 4, [0.5], root=root, **few) for root in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first["score"].equals(other["score"])
