r"""Theorem 3: the bound on the error clustering rate of the best partition.

With :math:`p \le p^* n` and :math:`p^* \ge \kappa`, the partition of largest between-cluster sum of
squares has ECR at least :math:`F(p^*)` with probability at most :math:`2 K^{-n}`. The proof defines
F through

.. math:: f(\epsilon) = \max \sum_{k'} \tilde\pi_{k'} \tilde\mu_{k'}^2

over all joint shares :math:`\pi_{kk'}` of true clusters k and found clusters k' whose purity
:math:`\sum_{k'} \max_k \pi_{kk'}` is at most :math:`1 - \epsilon`: what the best of the bad
partitions attains. F is the inverse of :math:`128 \ln K (f(0) + K) / (f(0) - f(\epsilon))^2`.

f has no closed form in general. Its objective is convex and its constraints are linear, so a
maximum lies at a vertex; linear programs that follow the gradient climb from vertex to vertex, from
many starts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from sparsekm.studies.theory.level_model import LevelModel

N_STARTS = 20


def best_impure_value(model: LevelModel, error: float) -> float:
    r"""Compute :math:`f(\epsilon)`, climbing from `N_STARTS` random vertices.

    The error epsilon lies between 0 and 1 - max_k pi_k, at which all that is left is chance.
    """
    rng = np.random.default_rng(0)
    program = _program(model, error)
    best = -np.inf
    for _ in range(N_STARTS):
        joint = _extreme_shares(program, rng.standard_normal((model.n_clusters,) * 2))
        value = -np.inf
        while True:
            gained, slopes = _value_and_slopes(joint, np.asarray(model.levels))
            if gained <= value + 1e-12:
                break
            value = gained
            joint = _extreme_shares(program, slopes)
        best = max(best, value)
    return best


@dataclass(frozen=True)
class ImpurityCurve:
    """f on a grid."""

    errors: np.ndarray  # (n_points,), ascending from 0 to 1 - max_k pi_k
    values: np.ndarray  # (n_points,), never rising

    def for_levels_times(self, factor: float) -> ImpurityCurve:
        """Give the curve of a model whose levels are `factor` times these: f is quadratic."""
        return ImpurityCurve(self.errors, self.values * factor**2)


def impurity_curve(model: LevelModel, n_points: int = 41) -> ImpurityCurve:
    """Compute f on an even grid of errors; what a larger error allows, a smaller one allows too."""
    errors = np.linspace(0.0, 1 - max(model.shares), n_points)
    values = np.array([best_impure_value(model, error) for error in errors])
    return ImpurityCurve(errors, np.maximum.accumulate(values[::-1])[::-1])


def ecr_bound(model: LevelModel, n_relevant: float, curve: ImpurityCurve) -> float:
    r"""Compute :math:`F(p^*)` with the proof's constants; NaN below kappa, where it says nothing.

    The points of the model's curve are joined by straight lines. The bound lies between 0 and 1 -
    max_k pi_k.
    """
    if n_relevant < model.kappa:
        return float("nan")
    best = curve.values[0]
    constant = 128 * np.log(model.n_clusters) * (best + model.n_clusters)
    level = best - np.sqrt(constant / n_relevant)
    # The largest error whose best partition still comes up to the level.
    return float(np.interp(-level, -curve.values, curve.errors))


def _program(model, error):
    """Write "true shares, and purity <= 1 - error" as constraints of a linear program.

    The unknowns are pi_kk', row after row, and t_k' >= max_k pi_kk', which add up to the purity.
    """
    count = model.n_clusters
    rows = np.kron(np.eye(count), np.ones(count))
    equalities = np.hstack([rows, np.zeros((count, count))])
    peaks = np.hstack([np.eye(count**2), -np.tile(np.eye(count), (count, 1))])
    purity = np.concatenate([np.zeros(count**2), np.ones(count)])
    return {
        "A_eq": equalities,
        "b_eq": np.asarray(model.shares),
        "A_ub": np.vstack([peaks, purity]),
        "b_ub": np.concatenate([np.zeros(count**2), [1 - error]]),
        "method": "highs-ds",
    }


def _extreme_shares(program, slopes):
    """Maximise a linear function of the joint shares."""
    count = len(slopes)
    costs = np.concatenate([-slopes.ravel(), np.zeros(count)])
    result = linprog(costs, **program)
    if result.status != 0:
        raise RuntimeError(f"The linear program of Theorem 3 failed: {result.message}")
    return np.maximum(result.x[: count**2], 0).reshape(count, count)


def _value_and_slopes(joint, levels):
    """Return sum_k' pi_k' mu_k'^2 and its gradient 2 mu_k' mu_k - mu_k'^2."""
    sizes = joint.sum(axis=0)
    means = np.divide(levels @ joint, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    return float(np.sum(sizes * means**2)), 2 * np.outer(levels, means) - means**2
