r"""EM for a Gaussian mixture whose means carry an l1 penalty, and the choice of the penalty.

The data are standardised; component k has probability :math:`\pi_k`, mean :math:`\mu_k` and the
common diagonal covariance :math:`\sigma_1^2, ..., \sigma_p^2`. The penalised log-likelihood is
that of Pan & Shen (2007)

.. math:: \sum_i \log \sum_k \pi_k \prod_j \phi(z_{ij}; \mu_{kj}, \sigma_j^2)
          - \lambda \sum_{kj} |\mu_{kj}| .

With the responsibilities :math:`\tau_{ik}`, :math:`n_k = \sum_i \tau_{ik}` and the weighted means
:math:`m_{kj} = \sum_i \tau_{ik} z_{ij} / n_k`, the M-step sets :math:`\mu_{kj}` to :math:`m_{kj}`
drawn towards zero by :math:`\lambda \sigma_j^2 / n_k` at the former variances (soft threshold) and
then the variances to their best value at these means: the penalised log-likelihood never falls.

Our own loops pass over responsibilities and slopes that are zero, most of them, and copy no data to
float64. Each sum is one thread's, in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sparsekm.baselines.baseline_estimator import feature_totals
from sparsekm.cluster.matrices.sparse_matrix import Block, SparseBlock
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import run_in_slices

# A variance below this share of the feature's own would let the likelihood grow without end.
VARIANCE_FLOOR = 1e-4
# A responsibility below this adds nothing to any sum, but slows arithmetic down.
NEGLIGIBLE = 1e-20
# A component that holds less than this of a sample has died out.
LEAST_SIZE = 1e-8
SAMPLE_BLOCK = 512


class StandardisedData(NamedTuple):
    """Features of mean 0 and variance 1 (ddof = 0), in both orders of memory."""

    columns: Block  # (n_features, n_samples)
    rows: np.ndarray | csr_array  # (n_samples, n_features); sparse ones are not centred
    # (n_features,), float64: mean square of every feature: one but for rounding.
    squares: np.ndarray
    n_threads: int = 1

    @classmethod
    def from_columns(cls, columns: Block, n_threads: int = 1) -> StandardisedData:
        """Copy standardised columns of shape (n_features, n_samples) into rows."""
        squares = feature_totals(columns, np.square) / columns.shape[1]
        stored = isinstance(columns, SparseBlock)
        rows = columns.rows if stored else np.ascontiguousarray(columns.T)
        return cls(columns, rows, squares, n_threads)


class Mixture(NamedTuple):
    """The parameters of a mixture on standardised data."""

    proportions: np.ndarray  # (n_components,)
    means: np.ndarray  # (n_components, n_features)
    variances: np.ndarray  # (n_features,)


class MixtureFit(NamedTuple):
    """Where EM ended."""

    mixture: Mixture
    responsibilities: np.ndarray  # (n_components, n_samples): of this very mixture
    # Without and with the penalty.
    log_likelihood: float
    objective: float
    history: tuple[float, ...]  # the objective at every iteration
    converged: bool


def log_joint(columns: Block, mixture: Mixture, n_threads: int = 1) -> np.ndarray:
    r"""Compute :math:`\log(\pi_k f_k(z_i))`, (n_components, n_samples), up to a common constant.

    Of the columns (n_features, n_samples) only those in which some mean is not zero are read.
    """
    kept = np.flatnonzero((mixture.means != 0).any(axis=0))
    slopes = mixture.means[:, kept] / mixture.variances[kept]
    with np.errstate(divide="ignore"):
        offsets = np.log(mixture.proportions) - 0.5 * (slopes * mixture.means[:, kept]).sum(axis=1)
    if isinstance(columns, SparseBlock):
        every_slope = np.zeros((len(slopes), len(columns.means)))
        every_slope[:, kept] = slopes
        offsets -= every_slope @ columns.means
        return np.ascontiguousarray((columns.rows @ every_slope.T + offsets).T)
    joint = np.repeat(offsets[:, None], columns.shape[1], axis=1)
    run_in_slices(
        lambda start, stop: _add_products(columns, kept, slopes, start, stop, joint),
        columns.shape[1],
        n_threads,
        SAMPLE_BLOCK,
    )
    return joint


def e_step(data: StandardisedData, mixture: Mixture) -> tuple[np.ndarray, float]:
    """Compute the responsibilities, shape (n_components, n_samples), and the log-likelihood."""
    joint = log_joint(data.columns, mixture, data.n_threads)
    # Without the largest term of every sample nothing underflows, however many features there are.
    top = joint.max(axis=0)
    shares = np.exp(joint - top)
    totals = shares.sum(axis=0)
    n_samples = joint.shape[1]
    # sum_i z_ij^2 / sigma_j^2 and the normalising constants are the same for all components.
    common = np.log(2 * np.pi * mixture.variances) + data.squares / mixture.variances
    log_likelihood = float(np.sum(top + np.log(totals)) - 0.5 * n_samples * np.sum(common))
    shares /= totals
    shares[shares < NEGLIGIBLE] = 0.0
    return shares, log_likelihood


def m_step(
    data: StandardisedData, responsibilities: np.ndarray, variances: np.ndarray, penalty: float
) -> Mixture:
    """Raise the expected penalised log-likelihood: proportions, means, then variances.

    The former `variances` set the thresholds of the means. A component without samples gets
    probability 0 and means 0.
    """
    n_samples = responsibilities.shape[1]
    sizes = responsibilities.sum(axis=1)
    sums = np.empty((len(sizes), len(variances)))
    if isinstance(data.columns, SparseBlock):
        sums[:] = (data.rows.T @ responsibilities.T).T
        sums -= sizes[:, None] * data.columns.means
    else:
        run_in_slices(
            lambda start, stop: _sum_weighted(data.rows, responsibilities, start, stop, sums),
            len(variances),
            data.n_threads,
        )
    alive = sizes > LEAST_SIZE
    excess = np.maximum(np.abs(sums) - penalty * variances, 0.0)
    means = np.copysign(excess, sums)
    means[alive] /= sizes[alive, None]
    means[~alive] = 0.0
    gains = ((2 * sums - sizes[:, None] * means) * means).sum(axis=0) / n_samples
    return Mixture(
        proportions=np.where(alive, sizes, 0.0) / sizes[alive].sum(),
        means=means,
        variances=np.maximum(data.squares - gains, VARIANCE_FLOOR),
    )


def run_em(
    data: StandardisedData,
    responsibilities: np.ndarray,
    penalty: float,
    *,
    variances: np.ndarray | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
) -> MixtureFit:
    """Iterate from responsibilities until the objective gains at most `tol` per sample.

    `variances` set the first thresholds; by default these are the unpenalised ones.
    """
    if variances is None:
        variances = m_step(data, responsibilities, data.squares, 0.0).variances
    mixture = m_step(data, responsibilities, variances, penalty)
    history: list[float] = []
    while True:
        responsibilities, log_likelihood = e_step(data, mixture)
        objective = log_likelihood - penalty * float(np.abs(mixture.means).sum())
        converged = bool(history) and objective - history[-1] <= tol * responsibilities.shape[1]
        history.append(objective)
        if converged or len(history) == max_iter:
            break
        mixture = m_step(data, responsibilities, mixture.variances, penalty)
    return MixtureFit(
        mixture, responsibilities, log_likelihood, objective, tuple(history), converged
    )


@compiled
def _add_products(columns, kept, slopes, start, stop, joint):
    for first in range(start, stop, SAMPLE_BLOCK):
        last = min(first + SAMPLE_BLOCK, stop)
        for q in range(kept.shape[0]):
            column = columns[kept[q], first:last]
            for k in range(slopes.shape[0]):
                slope = slopes[k, q]
                if slope != 0.0:
                    row = joint[k, first:last]
                    for i in range(last - first):
                        row[i] += slope * column[i]


@compiled
def _sum_weighted(rows, responsibilities, start, stop, sums):
    sums[:, start:stop] = 0.0
    for i in range(rows.shape[0]):
        row = rows[i, start:stop]
        for k in range(responsibilities.shape[0]):
            share = responsibilities[k, i]
            if share > 0.0:
                total = sums[k, start:stop]
                for j in range(stop - start):
                    total[j] += share * row[j]


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
    """Fit every penalty, ascending, from all starts and its neighbours' fits; keep the best."""
    effort = {"max_iter": max_iter, "tol": tol}
    fits: list[MixtureFit] = []

    def go_on(fit, penalty):
        former = fit.mixture.variances
        return run_em(data, fit.responsibilities, penalty, variances=former, **effort)

    for penalty in penalties:
        carried = [go_on(fits[-1], penalty)] if fits else []
        afresh = data.rows.shape[0] <= RESTART_LIMIT or not carried
        tried = [run_em(data, start, penalty, **effort) for start in starts] if afresh else []
        fits.append(max(carried + tried, key=lambda fit: fit.objective))
        if progress is not None:
            progress(len(fits), len(penalties))
    for i in range(len(fits) - 2, -1, -1):
        # A stronger penalty may have found clusters that noise hides from a weaker one.
        fits[i] = max(fits[i], go_on(fits[i + 1], penalties[i]), key=lambda fit: fit.objective)
    return fits


def modified_bic(fit: MixtureFit, n_samples: int) -> float:
    """Compute -2 log L + log(n) d_e, where a mean at zero is no parameter (Pan & Shen 2007).

    d_e = K + p + K p - 1 - q with q the number of zero means.
    """
    n_components, n_features = fit.mixture.means.shape
    n_parameters = n_components - 1 + n_features + np.count_nonzero(fit.mixture.means)
    return float(-2 * fit.log_likelihood + np.log(n_samples) * n_parameters)
