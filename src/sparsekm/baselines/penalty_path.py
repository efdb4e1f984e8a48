"""The penalised mixture at every penalty of a grid, and the choice among them by BIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparsekm.baselines.penalised_em import MixtureFit, StandardisedData, run_em
from sparsekm.baselines.standardisation import feature_totals

# Beyond this many samples only the first penalty is started afresh; its best end is carried on.
RESTART_LIMIT = 300


def penalty_grid(data: StandardisedData, n_clusters: int, n_penalties: int) -> np.ndarray:
    r"""Span the penalties between those that drop next to nothing and all, ascending.

    Zero comes first. The others are geometric, from half the standard deviation
    :math:`\sqrt{n / K}` of a noise feature's sum over a cluster, to the largest sum that a feature
    has over any part of the samples, :math:`\max_j \sum_i |z_{ij}| / 2`, beyond which no mean
    differs from zero.
    """
    n_samples = data.rows.shape[0]
    highest = 0.5 * float(feature_totals(data.columns, np.abs).max())
    lowest = min(0.5 * np.sqrt(n_samples / n_clusters), 0.5 * highest)
    if n_penalties == 1:
        return np.zeros(1)
    # The highest itself drops all, so it would be wasted.
    return np.concatenate([[0.0], np.geomspace(lowest, highest, n_penalties)[:-1]])


def fit_penalties(
    data: StandardisedData,
    penalties: np.ndarray,
    starts: Sequence[np.ndarray],
    *,
    max_iter: int,
    tol: float,
    progress: Callable[[int, int], None] | None = None,
) -> list[MixtureFit]:
    """Fit every penalty from all starts and from the fits of its neighbours, and keep the best.

    The penalties are ascending; each start has responsibilities of shape (n_components, n_samples).
    The best fit has the highest penalised log-likelihood. `max_iter` and `tol` are those of
    `run_em`.
    """
    effort = {"max_iter": max_iter, "tol": tol}
    fits: list[MixtureFit] = []
    for penalty in penalties:
        carried = [] if not fits else [_continue(data, fits[-1], penalty, effort)]
        afresh = data.rows.shape[0] <= RESTART_LIMIT or not carried
        tried = [run_em(data, start, penalty, **effort) for start in starts] if afresh else []
        fits.append(max(carried + tried, key=lambda fit: fit.objective))
        if progress is not None:
            progress(len(fits), len(penalties))
    for i in range(len(fits) - 2, -1, -1):
        # A stronger penalty may have found clusters that noise hides from a weaker one.
        back = _continue(data, fits[i + 1], penalties[i], effort)
        fits[i] = max(fits[i], back, key=lambda fit: fit.objective)
    return fits


def modified_bic(fit: MixtureFit, n_samples: int) -> float:
    """Compute -2 log L + log(n) d_e, where a mean at zero is no parameter (Pan & Shen 2007).

    d_e = K + p + K p - 1 - q with q the number of zero means.
    """
    n_components, n_features = fit.mixture.means.shape
    n_parameters = n_components - 1 + n_features + np.count_nonzero(fit.mixture.means)
    return float(-2 * fit.log_likelihood + np.log(n_samples) * n_parameters)


def choose_fit(fits: Sequence[MixtureFit], bics: np.ndarray) -> int:
    """Return the index of the lowest BIC among fits that keep some feature (all, if none does).

    A fit without any feature says that there are no clusters, and gives none; ties go to the lowest
    penalty.
    """
    keeps = np.array([fit.mixture.means.any() for fit in fits])
    return int(np.argmin(np.where(keeps | ~keeps.any(), bics, np.inf)))


def _continue(data, fit, penalty, effort):
    return run_em(data, fit.responsibilities, penalty, variances=fit.mixture.variances, **effort)
