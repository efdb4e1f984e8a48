r"""The mixture of the paper's theorems, and the constants in their conditions.

Samples of cluster k, a share :math:`\pi_k` of all, have mean :math:`\mu_k` in each of the
:math:`p^*` relevant features and 0 in the noise features; all variances are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sparsekm.simulation.gaussian_clusters import SimulatedData, gaussian_clusters


@dataclass(frozen=True)
class LevelModel:
    r"""Levels :math:`\mu_k` and shares :math:`\pi_k` of K clusters."""

    levels: tuple[float, ...]
    shares: tuple[float, ...]  # they add up to one

    @classmethod
    def of_equal_shares(cls, levels: Sequence[float]) -> LevelModel:
        """Make a model whose clusters are of one size."""
        return cls(tuple(map(float, levels)), (1 / len(levels),) * len(levels))

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self.levels)

    @property
    def second_moment(self) -> float:
        r"""Give :math:`\sum_k \pi_k \mu_k^2`."""
        return float(np.dot(self.shares, np.square(self.levels)))

    @property
    def between_variance(self) -> float:
        r"""Give :math:`\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2`."""
        return self.second_moment - float(np.dot(self.shares, self.levels)) ** 2

    @property
    def stated_kappa(self) -> float:
        r"""Give the least :math:`p^*` of Theorem 3 as it is stated.

        .. math:: 128 (K + \sum_k \pi_k \mu_k^2)
                  / (\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2)^2
        """
        return 128 * (self.n_clusters + self.second_moment) / self.between_variance**2

    @property
    def kappa(self) -> float:
        r"""Give the least :math:`p^*` that the proof of Theorem 3 needs: :math:`\ln K` times more.

        The statement leaves the factor out; the proof's last display carries it.
        """
        return self.stated_kappa * float(np.log(self.n_clusters))

    @property
    def rho(self) -> float:
        r"""Give the rate of Theorems 4 and 5, :math:`\sum_k \pi_k \mu_k^2 / 258`."""
        return self.second_moment / 258


def three_levels(mu: float) -> LevelModel:
    """Make the model of Experiments 2 and 3: levels mu, -mu and 0, equal shares."""
    return LevelModel.of_equal_shares([mu, -mu, 0.0])


def draw_three_levels(
    mu: float, n_relevant: int, cluster_size: int, n_features: int, seed: np.random.SeedSequence
) -> SimulatedData:
    """Draw data of this model as the theorems have them, not standardised."""
    means = np.outer(three_levels(mu).levels, np.ones(n_relevant))
    return gaussian_clusters(means, cluster_size, n_features, standardise=False, random_state=seed)
