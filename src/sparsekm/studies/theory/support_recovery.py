r"""Theorems 4 and 5: when the scores of all relevant features exceed those of all noise features.

Under the true partition the scores of independent Gaussian features are independent:
:math:`\chi^2_{K-1}` for noise and noncentral :math:`\chi^2_{K-1}` with noncentrality
:math:`n (\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2)` for relevant ones. So the probability that
an oracle who knows the labels recovers the support is a one-dimensional integral.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from sparsekm.studies.theory.level_model import LevelModel

GRID = 4000


def oracle_recovery_probability(
    model: LevelModel, n_samples: int, n_features: int, n_relevant: int
) -> float:
    """Compute P(min over relevant a_j > max over noise a_j) under the true partition.

    It is accurate to about 1e-3: the distribution of the minimum is cut into `GRID` pieces.
    """
    if n_relevant == 0 or n_relevant == n_features:
        return 1.0
    degrees = model.n_clusters - 1
    shift = n_samples * model.between_variance
    spread = np.sqrt(2 * (degrees + 2 * shift))
    edges = np.linspace(0, degrees + shift + 12 * spread, GRID + 1)
    smallest = 1 - ncx2.sf(edges, degrees, shift) ** n_relevant
    middles = (edges[1:] + edges[:-1]) / 2
    largest = chi2.cdf(middles, degrees) ** (n_features - n_relevant)
    return float(np.clip(np.sum(np.diff(smallest) * largest), 0.0, 1.0))


def conditions_of_theorem_5(
    model: LevelModel, n_samples: int, n_features: int, n_relevant: int
) -> dict[str, bool]:
    r"""Say which conditions of Theorem 5 a setting meets.

    :math:`p = o(\exp(\rho n))` is asymptotic; :math:`p < \exp(\rho n)`, where the proof's bound on
    the probability of failure falls below one, stands for it. :math:`p \ge M` is a condition of
    Theorem 4, which the proof of Theorem 5 uses and its statement leaves out.
    """
    return {
        "features_per_sample": n_features <= n_relevant * n_samples,
        "relevant_features": n_relevant >= model.kappa,
        "growth": bool(np.log(n_features) < model.rho * n_samples),
        "least_features": n_features >= least_features(model),
    }


def tolerated_error(model: LevelModel) -> float:
    r"""Compute the largest ECR :math:`\epsilon` for which the proof of Theorem 4 goes through.

    Its last step needs

    .. math:: H(\epsilon) + \epsilon \ln(K - 1)
              \le \sum_k \pi_k \mu_k^2 \left(\frac{1}{257} - \frac{1}{258}\right),
              \quad H(\epsilon) = -\epsilon \ln \epsilon - (1 - \epsilon) \ln(1 - \epsilon) .
    """
    room = model.second_moment * (1 / 257 - 1 / 258)

    def excess(log_error: float) -> float:
        error = np.exp(log_error)
        entropy = -error * log_error - (1 - error) * np.log1p(-error)
        return entropy + error * np.log(model.n_clusters - 1) - room

    highest = np.log(0.5)
    return 0.5 if excess(highest) <= 0 else float(np.exp(brentq(excess, -700.0, highest)))


def least_features(model: LevelModel) -> float:
    r"""Compute the M of Theorem 4, which the paper only says to exist.

    The proof needs :math:`F(p^*)` of Theorem 3 to be at most the `tolerated_error`
    :math:`\epsilon`, that is :math:`p^* \ge 128 \ln K (f(0) + K) / (f(0) - f(\epsilon))^2`; to
    first order :math:`f(0) - f(\epsilon) = \epsilon \min_{k \ne l} (\mu_k - \mu_l)^2`.
    """
    levels = np.sort(model.levels)
    lost = tolerated_error(model) * np.min(np.diff(levels)) ** 2
    constant = 128 * np.log(model.n_clusters) * (model.second_moment + model.n_clusters)
    return float(constant / lost**2)


def samples_for_growth(model: LevelModel, n_features: float) -> float:
    """Compute the n at which p = exp(rho n)."""
    return float(np.log(n_features) / model.rho)
