r"""What the paper's theorems promise, in numbers.

Samples of cluster k, a share :math:`\pi_k` of all, have mean :math:`\mu_k` in each of the
:math:`p^*` relevant features and 0 in the noise features; all variances are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

N_STARTS = 20


@dataclass(frozen=True)
class LevelModel:
    r"""Levels :math:`\mu_k` and shares :math:`\pi_k` of K clusters."""

    levels: Sequence[float]
    shares: Sequence[float]  # they add up to one

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.levels)

    @property
    def second_moment(self) -> float:
        r"""Compute :math:`\sum_k \pi_k \mu_k^2`."""
        return float(np.dot(self.shares, np.square(self.levels)))

    @property
    def between_variance(self) -> float:
        r"""Compute :math:`\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2`."""
        return self.second_moment - float(np.dot(self.shares, self.levels)) ** 2

    @property
    def stated_kappa(self) -> float:
        r"""Compute the least :math:`p^*` of Theorem 3 as it is stated.

        .. math:: 128 (K + \sum_k \pi_k \mu_k^2)
                  / (\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2)^2
        """
        return 128 * (self.n_clusters + self.second_moment) / self.between_variance**2

    @property
    def kappa(self) -> float:
        r"""Compute the least :math:`p^*` that the proof of Theorem 3 needs.

        It is :math:`\ln K` times more: the proof's last display has the factor, the statement not.
        """
        return self.stated_kappa * float(np.log(self.n_clusters))

    @property
    def rho(self) -> float:
        r"""Compute the rate of Theorems 4 and 5, :math:`\sum_k \pi_k \mu_k^2 / 258`."""
        return self.second_moment / 258


def three_levels(mu: float) -> LevelModel:
    """Make the model of Experiments 2 and 3: levels mu, -mu and 0, equal shares."""
    return LevelModel((mu, -mu, 0.0), (1 / 3,) * 3)


def expected_score(levels: np.ndarray, labels: np.ndarray, n_clusters: int) -> float:
    r"""Compute the expectation of a_j under a partition without empty clusters (Theorem 1).

    `levels` are the feature's expectations in every sample. With the clusters' shares
    :math:`\tilde\pi_k` and mean levels :math:`\tilde\mu_k`, if the variance around them is one,

    .. math:: E[a_j] = n \sum_k \tilde\pi_k \tilde\mu_k^2 - n (\sum_k \tilde\pi_k \tilde\mu_k)^2
              + K - 1 .

    Examples
    --------
    >>> levels = np.array([1.0, 1.0, -1.0, -1.0])
    >>> [expected_score(levels, np.array(labels), 2) for labels in ([0, 0, 1, 1], [0, 1, 0, 1])]
    [5.0, 1.0]
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.bincount(labels, weights=levels, minlength=n_clusters)
    return float(np.sum(sums**2 / sizes) - levels.sum() ** 2 / len(levels) + n_clusters - 1)


def best_impure_value(model: LevelModel, error: float) -> float:
    r"""Compute the :math:`f(\epsilon)` of Theorem 3: what the best of the bad partitions attains.

    .. math:: f(\epsilon) = \max \sum_{k'} \tilde\pi_{k'} \tilde\mu_{k'}^2

    over all joint shares :math:`\pi_{kk'}` of true clusters k and found clusters k' whose purity
    :math:`\sum_{k'} \max_k \pi_{kk'}` is at most :math:`1 - \epsilon`, from 0 to :math:`1 - \max_k
    \pi_k`. It has no closed form in general. The objective is convex and the constraints are
    linear, so a maximum lies at a vertex; linear programs that follow the gradient climb from
    vertex to vertex, from `N_STARTS` random ones.
    """
    rng, count = np.random.default_rng(0), model.n_clusters
    levels = np.asarray(model.levels)
    # The unknowns are pi_kk', row after row, and t_k' >= max_k pi_kk', which add up to the purity.
    peaks = np.hstack([np.eye(count**2), -np.tile(np.eye(count), (count, 1))])
    purity = np.concatenate([np.zeros(count**2), np.ones(count)])
    program = {
        "A_eq": np.hstack([np.kron(np.eye(count), np.ones(count)), np.zeros((count, count))]),
        "b_eq": np.asarray(model.shares),
        "A_ub": np.vstack([peaks, purity]),
        "b_ub": np.concatenate([np.zeros(count**2), [1 - error]]),
        "method": "highs-ds",
    }

    def climb(slopes: np.ndarray, before: float = -np.inf) -> float:
        result = linprog(np.concatenate([-slopes.ravel(), np.zeros(count)]), **program)
        if result.status != 0:
            raise RuntimeError(f"The linear program of Theorem 3 failed: {result.message}")
        joint = np.maximum(result.x[: count**2], 0).reshape(count, count)
        sizes = joint.sum(axis=0)
        means = np.divide(levels @ joint, sizes, out=np.zeros(count), where=sizes > 0)
        value = float(np.sum(sizes * means**2))
        if value <= before + 1e-12:
            return before
        return climb(2 * np.outer(levels, means) - means**2, value)

    return max(climb(rng.standard_normal((count, count))) for _ in range(N_STARTS))


def impurity_curve(model: LevelModel, n_points: int = 41) -> tuple[np.ndarray, np.ndarray]:
    """Compute f on an even grid of errors, ascending; it never rises.

    It is quadratic in the levels: with `factor` times the levels, f is `factor` squared times this.
    """
    errors = np.linspace(0.0, 1 - max(model.shares), n_points)
    values = np.array([best_impure_value(model, error) for error in errors])
    # What a larger error allows, a smaller one allows too.
    return errors, np.maximum.accumulate(values[::-1])[::-1]


def ecr_bound(model: LevelModel, n_relevant: float, curve: tuple[np.ndarray, np.ndarray]) -> float:
    r"""Compute the bound :math:`F(p^*)` of Theorem 3 on the error clustering rate.

    With :math:`p \le p^* n` and :math:`p^* \ge \kappa`, the partition of largest between-cluster
    sum of squares reaches it with probability at most :math:`2 K^{-n}`. F is the inverse of
    :math:`128 \ln K (f(0) + K) / (f(0) - f(\epsilon))^2`, the proof's function; NaN below kappa.
    """
    if n_relevant < model.kappa:
        return float("nan")
    errors, values = curve
    constant = 128 * np.log(model.n_clusters) * (values[0] + model.n_clusters)
    # The largest error whose best partition still comes up to this level.
    level = values[0] - np.sqrt(constant / n_relevant)
    return float(np.interp(-level, -values, errors))
