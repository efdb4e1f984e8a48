"""The oracles of these tests, checked themselves: a wrong oracle would make every claim empty."""

import numpy as np
import pytest
from scipy.optimize import minimize


@pytest.mark.parametrize(("n", "k", "stirling"), [(8, 3, 966), (10, 4, 34105)])
def test_the_partitions_tried_are_all_there_are(all_partitions, n, k, stirling):
    partitions = all_partitions(n, k)
    assert len(partitions) == stirling
    assert len(np.unique(partitions, axis=0)) == stirling
    assert all(len(np.unique(row)) == k for row in partitions[:: max(1, stirling // 50)])


def test_scores_by_pairs_of_a_hand_worked_feature(score_by_pairs):
    # Means 1 and 5 about 3, two samples each: 2 * 4 + 2 * 4.
    assert score_by_pairs([[0.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1])[0] == pytest.approx(16)


@pytest.mark.parametrize("sparsity", [1.0, 1.7, 3.0])
def test_the_dual_value_is_that_of_a_general_purpose_solver(best_value, sparsity):
    scores = np.random.default_rng(0).exponential(size=5)
    solution = minimize(
        lambda w: -w @ scores,
        np.full(5, 0.2),
        jac=lambda w: -scores,
        bounds=[(0, 1)] * 5,
        constraints=[
            {"type": "ineq", "fun": lambda w: 1 - w @ w, "jac": lambda w: -2 * w},
            {"type": "ineq", "fun": lambda w: sparsity - w.sum(), "jac": lambda w: -np.ones(5)},
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert best_value(scores, "l1", sparsity)[0] == pytest.approx(-solution.fun, rel=1e-7)
