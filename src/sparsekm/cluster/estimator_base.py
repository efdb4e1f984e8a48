"""What the k-means estimators share: validate, call the pure functions, set the attributes."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from sparsekm.cluster.alternation import Fit
from sparsekm.cluster.coinciding_centers import warn_of_coinciding
from sparsekm.cluster.lloyd import WeightedFeatures, nearest_centers
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.partition_step import SEEDING_SAMPLE, KMeansPartition
from sparsekm.cluster.path import Progress, SearchEffort, fit_path
from sparsekm.cluster.scatter import Matrix, cluster_sizes, matrix_sums
from sparsekm.cluster.seeds import seed_sequence
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.starts import STARTS, make_start
from sparsekm.cluster.streamed_matrix import StreamedMatrix
from sparsekm.cluster.sweeps import SMALL_GAIN
from sparsekm.cluster.threads import count_threads
from sparsekm.cluster.validation import (
    check_choice,
    check_count,
    check_matrix,
    check_nonnegative,
    check_start,
    resolve_sparsities,
)
from sparsekm.cluster.weight_step import WeightStep

# Up to here search="auto" searches for the global optimum: a climb costs O(n K s).
GLOBAL_LIMIT = 300


def read_array(estimator: BaseEstimator, X) -> np.ndarray:
    """Validate data without setting anything on the estimator, fitted or not."""
    return check_array(
        X,
        dtype=[np.float64, np.float32],
        accept_large_sparse=False,
        estimator=estimator,
        input_name="X",
    )


def remember_features(estimator: BaseEstimator, X) -> None:
    """Set the number of features and, where X has them, their names, at the end of a fit."""
    if isinstance(X, CentredMatrix | StreamedMatrix):
        X = np.empty((0, X.n_features))
    validate_data(estimator, X, skip_check_array=True)


def warn_unconverged(estimator: BaseEstimator, what: str) -> None:
    """Warn that a fit ended because its rounds ran out."""
    warnings.warn(
        f"{type(estimator).__name__} did not converge: after max_iter={estimator.max_iter} rounds "
        f"{what}. Raise max_iter.",
        ConvergenceWarning,
        stacklevel=4,
    )


class BaseSparseKMeans(SelectorMixin, ClusterMixin, BaseEstimator):
    """What the k-means estimators share: fitting, prediction, selection.

    A subclass has the parameters and says in `_weight_step` how it weighs features.
    """

    def fit(self, X, y=None):
        """Cluster the samples and weigh the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or StreamedMatrix
            Dense data; float32 stays float32. They are never rescaled: standardise first where
            the features have different units.
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X holds NaN or infinity, has fewer distinct samples than clusters, or every feature
            is constant; if a parameter is out of its range.
        """
        matrix, partition = self._prepare(X)
        weight_step = self._weight_step(self._sparsity(), matrix.n_features)
        search = self._resolve_search(matrix)
        (fit,), _ = self._fit_path(matrix, partition, [weight_step], search)
        return self._learn(X, matrix, fit, search)

    def path(self, X, sparsities, *, progress: Progress | None = None) -> SparsityPath:
        """Fit all sparsities in one call, each helped by the others.

        Along a path the objective never falls with the sparsity, and no fit could be bettered by
        the labels of another: more than independent fits promise. The estimator's own `sparsity`
        is not used and nothing is set on it. Beyond 300 samples `n_init` starts race in the first
        k-means, on its principal subspace, the winner is carried down the path, and `n_sweeps`
        sweeps along it follow, in which clusters are also merged and split, and fresh starts made.
        At the end every fit is settled: its labels are a fixed point of k-means under its weights,
        and these are best for the labels. With ``n_sweeps=0`` the fits are handed out as the first
        pass left them, each ended by a round that gained less than 1e-4 of the objective.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or StreamedMatrix
        sparsities : array-like of shape (n_sparsities,)
            In any order. As the parameter `sparsity`, but every value from 1 up is a count.
        progress : callable, optional
            Called with the number of steps done and their total.

        Returns
        -------
        SparsityPath
            In the order of `sparsities`; of shares it holds the numbers that they stand for.
        """
        matrix, partition = self._prepare(X)
        sparsities = self._grid(sparsities, matrix.n_features)
        order = np.argsort(sparsities, kind="stable")
        weight_steps = [self._weight_step(s, matrix.n_features) for s in sparsities[order]]
        search = self._resolve_search(matrix)
        fits, first = self._fit_path(matrix, partition, weight_steps, search, progress)
        places = np.argsort(order)
        ordered = [fits[place] for place in places]
        return SparsityPath.from_fits(sparsities, ordered, search, first[places])

    def check(self, X) -> None:
        """Refuse data and parameters that `fit` would refuse.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        matrix, partition = self._prepare(X)
        self._effort()
        self._weight_step(self._sparsity(), matrix.n_features)
        self._init(matrix.n_samples, partition.n_clusters)

    def adopt(self, X, path: SparsityPath, index: int):
        """Learn a fit of a path as it stands, without searching again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data of the path.
        path : SparsityPath
        index : int
            Which of its fits.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the path is one of other data, or of more clusters.
        """
        matrix, partition = self._prepare(X)
        fitted = (path.labels.shape[1], path.weights.shape[1], int(path.labels.max()) + 1)
        own = (matrix.n_samples, matrix.n_features, partition.n_clusters)
        if fitted[:2] != own[:2] or fitted[2] > own[2]:
            raise ValueError(
                f"path has (n_samples, n_features, n_clusters)={fitted}; should be those of X and "
                f"of the estimator, {own}."
            )
        fit = Fit(
            path.labels[index],
            path.weights[index],
            path.scores[index],
            float(path.objectives[index]),
            int(path.n_iter[index]),
            converged=path.converged is None or bool(path.converged[index]),
        )
        return self._learn(X, matrix, fit, path.search)

    def predict(self, X):
        """Label samples by their nearest centre under the feature weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int32
            On the training data these are `labels_`, except where `fit` warns that clusters have
            the same centre in the kept features or that it did not converge, and where
            ``min_cluster_size > 1`` keeps samples in a cluster whose centre is not the nearest.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        features = WeightedFeatures.from_dense(self.feature_weights_)
        shift = self._means[features.support]
        kept = np.ascontiguousarray((X[:, features.support] - shift).T, dtype=X.dtype)
        centers = self._centred_centers[:, features.support].T
        everyone = np.zeros(X.shape[0], np.int32)
        features = WeightedFeatures(np.arange(len(features.support)), features.values)
        return nearest_centers(kept, features, centers, everyone, count_threads(self.n_jobs))

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.feature_weights_ > 0

    def _weight_step(self, sparsity, n_features: int) -> WeightStep:
        raise NotImplementedError

    def _sparsity(self):
        return self.sparsity

    def _grid(self, sparsities, n_features: int) -> np.ndarray:
        return resolve_sparsities(self.penalty, sparsities, n_features)

    def _init(self, n_samples: int, n_clusters: int) -> str | np.ndarray | None:
        return check_start(self.init, n_samples, n_clusters, STARTS)

    def _resolve_search(self, matrix: Matrix) -> str:
        search = check_choice("search", self.search, ["auto", "alternate", "global"])
        if search == "auto":
            if self._init(matrix.n_samples, int(self.n_clusters)) is not None:
                return "alternate"
            return "global" if matrix.n_samples <= GLOBAL_LIMIT else "alternate"
        if search == "global" and isinstance(matrix, StreamedMatrix):
            raise ValueError(
                f"search='global' should have a matrix in memory; {matrix.n_samples} samples are "
                f"read in blocks, which is possible up to {SEEDING_SAMPLE}."
            )
        return search

    def _prepare(self, X) -> tuple[CentredMatrix, KMeansPartition]:
        matrix = self._read(X)
        n_clusters = check_count("n_clusters", self.n_clusters)
        min_size = check_count("min_cluster_size", self.min_cluster_size)
        check_matrix(matrix, n_clusters, min_size)
        partition = KMeansPartition(
            n_clusters, min_size, roughness=SMALL_GAIN, n_threads=count_threads(self.n_jobs)
        )
        return matrix, partition

    def _effort(self) -> SearchEffort:
        return SearchEffort(
            n_init=check_count("n_init", self.n_init),
            max_iter=check_count("max_iter", self.max_iter),
            tol=check_nonnegative("tol", self.tol),
            n_sweeps=check_count("n_sweeps", self.n_sweeps, 0),
        )

    def _read(self, X) -> Matrix:
        if isinstance(X, CentredMatrix | StreamedMatrix):
            # A search starts from a sample of this size anyway: so few samples are read once.
            few = isinstance(X, StreamedMatrix) and X.n_samples <= SEEDING_SAMPLE
            return X.take(np.arange(X.n_samples)) if few else X
        return CentredMatrix(read_array(self, X))

    def _fit_path(
        self, matrix, partition, weight_steps, search, progress=None
    ) -> tuple[list[Fit], np.ndarray]:
        effort, seeds = self._effort(), seed_sequence(self.random_state)
        init = self._init(matrix.n_samples, partition.n_clusters)
        return fit_path(
            matrix,
            partition,
            weight_steps,
            search=search,
            effort=effort,
            seeds=seeds,
            start=make_start(init, matrix, effort.n_init, seeds, partition.n_threads),
            progress=progress if progress is not None else self._print_progress,
        )

    def _print_progress(self, done: int, total: int) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: step {done} of {total}", flush=True)  # noqa: T201 (asked for by `verbose`)

    def _learn(self, X, matrix: Matrix, fit: Fit, search: str):
        if not fit.converged:
            warn_unconverged(self, "labels and weights still changed")
        remember_features(self, X)
        n_threads = count_threads(self.n_jobs)
        n_clusters = int(self.n_clusters)
        sums = matrix_sums(matrix, fit.labels, n_clusters, n_threads)
        centers = (sums / cluster_sizes(fit.labels, n_clusters)).T
        warn_of_coinciding(centers[:, fit.weights > 0], matrix.dtype)
        self._means = matrix.means
        self._centred_centers = centers
        self.labels_ = fit.labels
        self.cluster_centers_ = (centers + matrix.means).astype(matrix.dtype)
        self.feature_weights_ = fit.weights
        self.feature_scores_ = fit.scores
        self.objective_ = fit.objective
        self.n_iter_ = fit.n_iter
        self.search_ = search
        return self
