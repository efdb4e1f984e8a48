"""Penalised model-based clustering: a Gaussian mixture with an l1 penalty on its means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparsekm.baselines import penalised_em as em
from sparsekm.baselines.baseline_estimator import BaselineEstimator, feature_totals, standardise
from sparsekm.cluster.kmeans.many_samples import nearest_centers
from sparsekm.cluster.matrices.containers import Data
from sparsekm.cluster.matrices.matrix import FeatureMatrix, feature_scores
from sparsekm.cluster.matrices.sparse_matrix import SparseMatrix, centred_block
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition
from sparsekm.cluster.path_estimator import remember_features, warn_unconverged
from sparsekm.cluster.validation import check_count, check_nonnegative
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import count_threads


@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedGaussianMixture(BaselineEstimator):
    r"""Gaussian mixture with common diagonal covariance and an l1 penalty on its means.

    Maximises the log-likelihood less :math:`\lambda \sum_{kj} |\mu_{kj}|` by EM (Pan & Shen 2007).
    Features are centred and brought to unit variance (ddof = 0) inside, since the penalty draws
    means towards zero and weighs all features alike. A feature all of whose means are zero tells
    nothing about the clusters: it is dropped.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of components K.
    penalty : None or float, default=None
        lambda >= 0, in the units of standardised data. None fits a grid of penalties, each also
        from its neighbours' ends, and takes the lowest modified BIC, -2 log L + log(n) d_e with
        d_e = K + p + K p - 1 - (number of zero means), among those that keep some feature. A
        penalty so high that none is left gives one cluster.
    n_penalties : int, default=12
        Length of that grid: zero, then geometric up to where all means vanish.
    n_init : int, default=10
        Starts of each of two kinds: k-means partitions, and the partitions that samples drawn at
        random make as centres. Beyond 300 samples only the first penalty is started afresh.
    max_iter : int, default=200
        Largest number of EM iterations from one start; where the fit chosen needs more, a
        ConvergenceWarning is raised.
    tol : float, default=1e-4
        Smallest gain in penalised log-likelihood per sample worth another iteration.
    random_state, n_jobs, verbose
        As in `KMeans`.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The likeliest component of each sample, numbered by first appearance. A component may be
        the likeliest for none.
    weights_ : ndarray of shape (n_clusters,)
        Probabilities of the components.
    means_ : ndarray of shape (n_clusters, n_features)
        Penalised means of the components, in the units and the dtype of X.
    covariances_ : ndarray of shape (n_features,)
        The common variances, in squared units of X.
    feature_weights_ : ndarray of shape (n_features,)
        One for a kept feature, zero for a dropped one.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of every feature under the labels.
    objective_ : float
        Penalised log-likelihood of the standardised data, constant features left out.
    penalty_ : float
        The penalty chosen.
    penalties_, bics_ : ndarray of shape (n_penalties,)
        The grid, ascending, and the modified BIC at each.
    converged_ : bool
    n_iter_ : int
        EM iterations of the best start.
    n_features_in_, feature_names_in_
        As in `KMeans`.

    References
    ----------
    .. [1] W. Pan and X. Shen (2007). Penalized model-based clustering with application to variable
       selection. Journal of Machine Learning Research 8, 1145-1164.

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

    def _fit(self, X: Data) -> Self:
        matrix = self._read(X)
        if matrix.n_samples == 1:
            raise ValueError("n_samples=1 should be >= 2: a single sample has no variance.")
        n_clusters = int(self.n_clusters)
        n_init = check_count("n_init", self.n_init)
        max_iter = check_count("max_iter", self.max_iter)
        tol = check_nonnegative("tol", self.tol)
        n_penalties = check_count("n_penalties", self.n_penalties)
        penalty = None if self.penalty is None else check_nonnegative("penalty", self.penalty)
        means = matrix.means
        deviations = np.sqrt(feature_totals(matrix.block, np.square) / matrix.n_samples)
        varying = np.flatnonzero(deviations)
        scales = np.where(deviations > 0, deviations, 1.0)
        if isinstance(matrix, SparseMatrix):
            matrix = SparseMatrix(matrix.block.divide(scales).rows)
        else:
            matrix.columns /= scales.astype(matrix.dtype)[:, None]
        # Two arrays of the size of dense X are held, in both orders of memory.
        clustered = matrix.select(varying)
        # Threads cost more than they gain on small data.
        is_large = matrix.n_samples * matrix.n_features >= 1_000_000
        n_threads = count_threads(self.n_jobs) if is_large else 1
        data = em.StandardisedData.from_columns(clustered.block, n_threads)
        starts = self._draw_starts(clustered, n_clusters, n_init)
        grid = em.penalty_grid(data, n_clusters, n_penalties)
        penalties = grid if penalty is None else np.array([penalty])
        fits = em.fit_penalties(
            data, penalties, starts, max_iter=max_iter, tol=tol, progress=self._print_progress
        )
        remember_features(self, X)
        self.penalties_ = penalties
        self.bics_ = np.array([em.modified_bic(fit, matrix.n_samples) for fit in fits])
        # The lowest among fits that keep some feature; of all, if none does.
        keeps = np.array([fit.mixture.means.any() for fit in fits])
        chosen = int(np.argmin(np.where(keeps | ~keeps.any(), self.bics_, np.inf)))
        if not fits[chosen].converged:
            warn_unconverged(self, "the likelihood still gained more than tol a sample")
        self.penalty_ = float(penalties[chosen])
        self._means, self._deviations = means, deviations
        return self._learn(matrix, data, varying, fits[chosen])

    def _predict(self, values: np.ndarray) -> np.ndarray:
        return self._log_joint(values).argmax(axis=0).astype(np.int32)

    def predict_proba(self, X: Data) -> np.ndarray:
        """Compute the probability of every component.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`.
        ValueError
            If X has another number of features than in `fit`, or holds NaN or infinity.
        """
        joint = self._log_joint(self._read_new(X))
        shares = np.exp(joint - joint.max(axis=0))
        return (shares / shares.sum(axis=0)).T

    def _draw_starts(self, matrix: FeatureMatrix, n_clusters: int, n_init: int):
        """Draw partitions as responsibilities: k-means ends, and the nearest of random samples."""
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

    def _log_joint(self, X: np.ndarray) -> np.ndarray:
        kept = np.flatnonzero(self.feature_weights_)
        block = standardise(centred_block(X[:, kept], self._means[kept]), self._deviations[kept])
        return em.log_joint(block, self._kept_mixture, count_threads(self.n_jobs))

    def _print_progress(self, done: int, total: int) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: step {done} of {total}", flush=True)  # noqa: T201 (asked for by `verbose`)

    def _learn(self, matrix, data, varying: np.ndarray, fit: em.MixtureFit) -> Self:
        joint = em.log_joint(data.columns, fit.mixture)
        n_clusters = len(joint)
        # By the first sample that each component labels; those that label none come last.
        names, first_samples = np.unique(joint.argmax(axis=0), return_index=True)
        present = names[np.argsort(first_samples)]
        order = np.concatenate([present, np.setdiff1d(np.arange(n_clusters), present)])
        proportions, means = fit.mixture.proportions[order], fit.mixture.means[order]
        kept = means.any(axis=0)
        self._kept_mixture = em.Mixture(proportions, means[:, kept], fit.mixture.variances[kept])
        self.labels_ = joint[order].argmax(axis=0).astype(np.int32)
        self.weights_ = proportions
        self.means_ = np.tile(self._means, (n_clusters, 1))
        self.means_[:, varying] += means * self._deviations[varying]
        self.means_ = self.means_.astype(matrix.dtype)
        self.covariances_ = np.zeros(matrix.n_features)
        self.covariances_[varying] = fit.mixture.variances * self._deviations[varying] ** 2
        self.feature_weights_ = np.zeros(matrix.n_features)
        self.feature_weights_[varying[kept]] = 1.0
        scores = feature_scores(matrix, self.labels_, n_clusters)
        self.feature_scores_ = scores * self._deviations**2
        self.objective_ = fit.objective
        self.converged_ = fit.converged
        self.n_iter_ = len(fit.history)
        return self
