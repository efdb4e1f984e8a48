r"""Theorems 3 and 4: when the scores of all relevant features exceed those of all noise features.

Under the true partition the scores of independent Gaussian features are independent:
:math:`\chi^2_{K-1}` for noise and noncentral :math:`\chi^2_{K-1}` with noncentrality
:math:`n (\sum_k \pi_k \mu_k^2 - (\sum_k \pi_k \mu_k)^2)` for relevant ones. So the probability that
an oracle who knows the labels recovers the support is a one-dimensional integral.
"""

from __future__ import annotations

import numpy as np
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


def conditions_of_theorem_4(
    model: LevelModel, n_samples: int, n_features: int, n_relevant: int
) -> dict[str, bool]:
    r"""Say which conditions of Theorem 4 a setting meets.

    :math:`p = o(\exp(\rho n))` is asymptotic; :math:`p < \exp(\rho n)`, where the proof's bound on
    the probability of failure falls below one, stands for it.
    """
    return {
        "features_per_sample": n_features <= n_relevant * n_samples,
        "relevant_features": n_relevant >= model.kappa,
        "growth": bool(np.log(n_features) < model.rho * n_samples),
    }


def samples_for_growth(model: LevelModel, n_features: float) -> float:
    """Compute the n at which p = exp(rho n)."""
    return float(np.log(n_features) / model.rho)
