r"""Penalised model-based clustering: a Gaussian mixture with an l1 penalty on its means.

The data are standardised; component k has probability :math:`\pi_k`, mean :math:`\mu_k` and the
common diagonal covariance :math:`\sigma_1^2, ..., \sigma_p^2`. The penalised log-likelihood of Pan
& Shen (2007) is

.. math:: \sum_i \log \sum_k \pi_k \prod_j \phi(z_{ij}; \mu_{kj}, \sigma_j^2)
          - \lambda \sum_{kj} |\mu_{kj}| .

With the responsibilities :math:`\tau_{ik}`, :math:`n_k = \sum_i \tau_{ik}` and the weighted means
:math:`m_{kj} = \sum_i \tau_{ik} z_{ij} / n_k`, the M-step of EM sets :math:`\mu_{kj}` to
:math:`m_{kj}` drawn towards zero by :math:`\lambda \sigma_j^2 / n_k` at the former variances (soft
threshold) and then the variances to their best value at these means: the penalised log-likelihood
never falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from sparsekm.baselines.baseline import BaselineEstimator, feature_totals, standard_deviations
from sparsekm.cluster.estimator_input import read_new, warn_unconverged
from sparsekm.cluster.kmeans.many_samples import nearest_centers
from sparsekm.cluster.matrices.matrix import FeatureMatrix, feature_scores
from sparsekm.cluster.matrices.sparse_matrix import Block, SparseBlock, SparseMatrix
from sparsekm.cluster.matrices.streamed_matrix import Data
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition
from sparsekm.cluster.validation import check_count, check_nonnegative
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import count_threads, run_in_slices

# A variance below this share of the feature's own would let the likelihood grow without end.
VARIANCE_FLOOR = 1e-4
# A responsibility below this adds nothing to any sum, but slows arithmetic down.
NEGLIGIBLE = 1e-20
# A component that holds less than this of a sample has died out.
LEAST_SIZE = 1e-8
SAMPLE_BLOCK = 512
# Beyond this number of samples only the first penalty has its own starts; the others start from its
# best fit.
RESTART_LIMIT = 300
# For fewer values, threads cost more than they gain.
WORTH_THREADS = 1_000_000


class StandardisedData(NamedTuple):
    """Features of mean 0 and variance 1 (ddof = 0), in both orders of memory."""

    columns: Block  # (n_features, n_samples)
    rows: np.ndarray | csr_array  # (n_samples, n_features); sparse ones are not centred
    squares: np.ndarray  # (n_features,), float64: mean squares, 1 except for rounding
    n_threads: int = 1

    @classmethod
    def from_columns(cls, columns: Block, n_threads: int = 1) -> StandardisedData:
        """Copy standardised columns of shape (n_features, n_samples) into rows."""
        own = columns.rows if isinstance(columns, SparseBlock) else np.ascontiguousarray(columns.T)
        return cls(columns, own, feature_totals(columns) / columns.shape[1], n_threads)


class Mixture(NamedTuple):
    """The parameters of a mixture on standardised data."""

    proportions: np.ndarray  # (n_components,)
    means: np.ndarray  # (n_components, n_features)
    variances: np.ndarray  # (n_features,)


class MixtureFit(NamedTuple):
    """The result of EM."""

    mixture: Mixture
    responsibilities: np.ndarray  # (n_components, n_samples): of this mixture
    log_likelihood: float  # without the penalty
    objective: float  # with it
    history: list[float]  # the objective at every iteration
    converged: bool


def log_joint(columns: Block, mixture: Mixture, n_threads: int = 1) -> np.ndarray:
    r"""Compute :math:`\log(\pi_k f_k(z_i))`, (n_components, n_samples), up to a common constant.

    Only features of `columns`, (n_features, n_samples), with a nonzero mean in some component are
    read.
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
    """Compute the responsibilities, (n_components, n_samples), and the log-likelihood."""
    joint = log_joint(data.columns, mixture, data.n_threads)
    # The largest term of every sample is subtracted, so that nothing underflows with many features.
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
    """Set the proportions, the means (thresholded with the former `variances`), then the variances.

    A component without samples gets probability 0 and means 0.
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
    """Iterate from responsibilities until the objective gains at most `tol` per sample."""
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
    return MixtureFit(mixture, responsibilities, log_likelihood, objective, history, converged)


@compiled
def _add_products(columns, kept, slopes, start, stop, joint):
    # Most slopes are zero; no data are copied to float64.
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


def penalty_grid(data: StandardisedData, n_clusters: int, n_penalties: int) -> np.ndarray:
    r"""Span the penalties, ascending: zero, then geometric.

    From half the standard deviation :math:`\sqrt{n / K}` of a noise feature's sum over a cluster to
    :math:`\max_j \sum_i |z_{ij}| / 2`, which drops everything and is left out.
    """
    n_samples = data.rows.shape[0]
    highest = 0.5 * float(feature_totals(data.columns, np.abs).max())
    lowest = min(0.5 * np.sqrt(n_samples / n_clusters), 0.5 * highest)
    return np.concatenate([[0.0], np.geomspace(lowest, highest, n_penalties)[:-1]])


def fit_penalties(
    data: StandardisedData,
    penalties: np.ndarray,
    starts: Sequence[np.ndarray],
    progress: Callable[[int, int], None] | None = None,
    **effort: Any,
) -> list[MixtureFit]:
    """Fit every penalty, ascending, from all starts and the neighbours' fits; keep the best."""
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
    """Compute -2 log L + log(n) d_e, where means of zero do not count in d_e (Pan & Shen 2007)."""
    means = fit.mixture.means
    n_parameters = sum(means.shape) - 1 + np.count_nonzero(means)
    return float(-2 * fit.log_likelihood + np.log(n_samples) * n_parameters)


@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedGaussianMixture(BaselineEstimator):
    r"""Gaussian mixture with an l1 penalty on its means, which drops features.

    Maximises the log-likelihood minus :math:`\lambda \sum_{kj} |\mu_{kj}|` by EM (Pan & Shen 2007,
    Journal of Machine Learning Research 8, 1145-1164). Features are standardised internally
    (ddof = 0). A feature is dropped if the means of all components are zero.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components K.
    n_init : int, default=10
        Number of starts of each of two kinds: partitions by k-means, and samples drawn at random as
        centres. For more than 300 samples, only the first penalty is fitted from these starts, and
        all other penalties start from its best fit.
    max_iter : int, default=200
        Largest number of EM iterations from one start.
    tol : float, default=1e-4
        EM stops when the penalised log-likelihood per sample gains less than this.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.
    penalty : None or float, default=None
        The penalty lambda >= 0, in the units of standardised data. None fits a grid of penalties
        and, among those that keep at least one feature, chooses the one with the lowest modified
        BIC: -2 log L + log(n) d_e, where L is the likelihood and d_e = K + p + K p - 1 - (number of
        zero means).
    n_penalties : int, default=12
        Number of penalties in the grid. The first is zero. The others ascend geometrically, and
        stay below the penalty at which all means are zero.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The most likely component of each sample, numbered by first appearance. There may be fewer
        labels than components.
    weights_ : ndarray of shape (n_clusters,)
        Probabilities of the components.
    means_ : ndarray of shape (n_clusters, n_features)
        Penalised means of the components, in the units and the dtype of X.
    covariances_ : ndarray of shape (n_features,)
        The variance of each feature, common to all components, in squared units of X.
    feature_weights_ : ndarray of shape (n_features,)
        1 for a kept feature, 0 for a dropped one.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature under the labels.
    objective_ : float
        Penalised log-likelihood of the standardised data, without constant features.
    penalty_ : float
        The penalty that was chosen or given.
    penalties_ : ndarray of shape (n_penalties,)
        The grid, ascending.
    bics_ : ndarray of shape (n_penalties,)
        The modified BIC at each penalty of the grid.
    converged_ : bool
        Whether EM from the best start converged within `max_iter` iterations.
    n_iter_ : int
        EM iterations of the best start.
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import PenalizedGaussianMixture
    >>> X = np.array([[0.0, 1.0], [1.0, 4.0], [2.0, 2.0], [20.0, 3.0], [21.0, 1.5], [22.0, 3.5]])
    >>> PenalizedGaussianMixture(2, penalty=1.0, random_state=0).fit(X).feature_weights_
    array([1., 0.])
    """

    penalty: float | None = None
    n_penalties: int = 12
    max_iter: int = 200
    tol: float = 1e-4

    _search = "em"

    def _learn(self, matrix: FeatureMatrix) -> None:
        self._means, self._scales = matrix.means, standard_deviations(matrix, ddof=0)
        n_clusters = int(self.n_clusters)
        n_init = check_count("n_init", self.n_init)
        max_iter = check_count("max_iter", self.max_iter)
        effort = {"max_iter": max_iter, "tol": check_nonnegative("tol", self.tol)}
        n_penalties = check_count("n_penalties", self.n_penalties)
        penalty = None if self.penalty is None else check_nonnegative("penalty", self.penalty)
        varying = np.flatnonzero(self._scales)
        divisors = np.where(self._scales > 0, self._scales, 1.0)
        if isinstance(matrix, SparseMatrix):
            matrix = SparseMatrix(matrix.block.divide(divisors).rows)
        else:
            matrix.block[:] /= divisors.astype(matrix.dtype)[:, None]
        # Two arrays of the size of dense X are held, in both orders of memory.
        clustered = matrix.select(varying)
        is_large = matrix.n_samples * matrix.n_features >= WORTH_THREADS
        n_threads = count_threads(self.n_jobs) if is_large else 1
        data = StandardisedData.from_columns(clustered.block, n_threads)
        starts = self._draw_starts(clustered, n_clusters, n_init)
        grid = penalty_grid(data, n_clusters, n_penalties)
        penalties = grid if penalty is None else np.array([penalty])
        fits = fit_penalties(data, penalties, starts, self._print_progress, **effort)
        self.penalties_ = penalties
        self.bics_ = np.array([modified_bic(fit, matrix.n_samples) for fit in fits])
        # The lowest BIC among the fits that keep some feature, or among all if none does.
        keeps = np.array([fit.mixture.means.any() for fit in fits])
        chosen = int(np.argmin(np.where(keeps | ~keeps.any(), self.bics_, np.inf)))
        fit, self.penalty_ = fits[chosen], float(penalties[chosen])
        if not fit.converged:
            warn_unconverged(self, "the likelihood still gained more than tol per sample")
        joint = log_joint(data.columns, fit.mixture)
        # Components are ordered by the first sample that they label; those without samples come
        # last.
        order = pd.unique(np.append(joint.argmax(axis=0), np.arange(n_clusters)))
        proportions, means = fit.mixture.proportions[order], fit.mixture.means[order]
        kept = means.any(axis=0)
        self._kept_mixture = Mixture(proportions, means[:, kept], fit.mixture.variances[kept])
        self.labels_ = joint[order].argmax(axis=0).astype(np.int32)
        self.weights_ = proportions
        self.means_ = np.tile(self._means, (n_clusters, 1))
        self.means_[:, varying] += means * self._scales[varying]
        self.means_ = self.means_.astype(matrix.dtype)
        self.covariances_ = np.zeros(matrix.n_features)
        self.covariances_[varying] = fit.mixture.variances * self._scales[varying] ** 2
        self.feature_weights_ = np.zeros(matrix.n_features)
        self.feature_weights_[varying[kept]] = 1.0
        scores = feature_scores(matrix, self.labels_, n_clusters)
        self.feature_scores_ = scores * self._scales**2
        self.objective_, self.converged_ = fit.objective, fit.converged
        self.n_iter_ = len(fit.history)

    def _predict(self, block):
        return self._log_joint(block).argmax(axis=0).astype(np.int32)

    def predict_proba(self, X: Data) -> np.ndarray:
        """Compute the probability of every component.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples with the features that were fitted.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            For each sample, the probability of each component.

        Raises
        ------
        sklearn.exceptions.NotFittedError, ValueError
            Before `fit`; if X does not have the features of `fit`, or holds NaN or infinity.
        """
        check_is_fitted(self)
        joint = self._log_joint(self._standardise_new(read_new(self, X)))
        shares = np.exp(joint - joint.max(axis=0))
        return (shares / shares.sum(axis=0)).T

    def _log_joint(self, block: Block) -> np.ndarray:
        return log_joint(block, self._kept_mixture, count_threads(self.n_jobs))

    def _draw_starts(self, matrix: FeatureMatrix, n_clusters: int, n_init: int):
        """Draw partitions as responsibilities: by k-means, and by the nearest of random samples."""
        partition = KMeansPartition(
            n_clusters, roughness=SMALL_GAIN, n_threads=count_threads(self.n_jobs)
        )
        equal = np.ones(matrix.n_features)
        seeds = seed_sequence(self.random_state).spawn(2 * n_init)
        generators = [np.random.default_rng(seed) for seed in seeds]
        ends = [partition.start(matrix, equal, rng) for rng in generators[:n_init]]
        nowhere = np.zeros(matrix.n_samples, np.int32)
        for rng in generators[n_init:]:
            chosen = rng.choice(matrix.n_samples, n_clusters, replace=False)
            centers = np.asarray(matrix.take(chosen).block, np.float64)
            ends.append(nearest_centers(matrix.block, equal, centers, nowhere))
        distinct = {labels.tobytes(): labels for labels in ends}
        components = np.arange(n_clusters)[:, None]
        return [(labels == components).astype(np.float64) for labels in distinct.values()]
