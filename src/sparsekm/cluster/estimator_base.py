"""What the k-means estimators share: validate, call the pure functions, set the attributes."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsekm.cluster.alternation import Fit
from sparsekm.cluster.argument_types import Data
from sparsekm.cluster.fitted_state import adopt_fit, read_array, select_fit, warn_unconverged
from sparsekm.cluster.kmeans.assignment import WeightedFeatures, nearest_centers
from sparsekm.cluster.kmeans.coinciding_centers import warn_of_coinciding
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.matrix_checks import check_matrix
from sparsekm.cluster.matrices.scatter import Matrix, cluster_sizes, matrix_sums
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix
from sparsekm.cluster.partition_step import SEEDING_SAMPLE, SMALL_GAIN, KMeansPartition
from sparsekm.cluster.path import Progress, SearchEffort, fit_path
from sparsekm.cluster.search.starts import STARTS, make_start
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.cluster.validation import (
    check_choice,
    check_count,
    check_nonnegative,
    check_start,
    resolve_sparsities,
)
from sparsekm.cluster.weight_step import WeightStep
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import count_threads


class BaseSparseKMeans(SelectorMixin, ClusterMixin, BaseEstimator):
    """What the k-means estimators share: fitting, prediction, selection.

    A subclass has the parameters and says in `_weight_step` how it weighs features.
    """

    def fit(self, X: Data, y: object = None) -> Self:
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

    def path(
        self, X: Data, sparsities: ArrayLike | None, *, progress: Progress | None = None
    ) -> SparsityPath:
        """Fit all sparsities in one call, each helped by the others.

        Along a path the objective never falls with the sparsity, and no fit could be bettered by
        the labels of another: more than independent fits promise. The estimator's own `sparsity`
        is not used and nothing is set on it. Every fit is refined to the end: its labels are a
        fixed point of k-means under its weights, and these are best for the labels.

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
        values, search, fits, first = self._search_path(X, sparsities, progress)
        return SparsityPath.from_fits(values, fits, search, first)

    def search_objectives(self, X: Data, sparsities: ArrayLike) -> np.ndarray:
        """Return what the search comes to at every sparsity, before the fits are refined.

        These are the `first_objectives` of `path`, at less cost: beyond 2,048 samples the search
        runs on a sample of them. Data and references are compared by these.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or StreamedMatrix
        sparsities : array-like of shape (n_sparsities,)
            As in `path`.

        Returns
        -------
        ndarray of shape (n_sparsities,)
        """
        return self._search_path(X, sparsities, objectives_only=True)[-1]

    def _search_path(self, X, sparsities, progress=None, objectives_only=False):
        """Return sparsities, search, fits and first objectives, in the order of `sparsities`."""
        matrix, partition = self._prepare(X)
        sparsities = self._grid(sparsities, matrix.n_features)
        order = np.argsort(sparsities, kind="stable")
        weight_steps = [self._weight_step(s, matrix.n_features) for s in sparsities[order]]
        search = self._resolve_search(matrix)
        fits, first = self._fit_path(
            matrix, partition, weight_steps, search, progress, objectives_only
        )
        places = np.argsort(order)
        return sparsities, search, [fits[place] for place in places if fits], first[places]

    def check(self, X: Data) -> None:
        """Refuse data and parameters that `fit` would refuse.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        """
        matrix, partition = self._prepare(X)
        self._effort()
        self._weight_step(self._sparsity(), matrix.n_features)
        self._init(matrix.n_samples, partition.n_clusters)

    def adopt(self, X: Data, path: SparsityPath, index: int) -> Self:
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
        own = (matrix.n_samples, matrix.n_features, partition.n_clusters)
        fit = select_fit(path, index, own)
        return self._learn(X, matrix, fit, path.search)

    def predict(self, X: Data) -> np.ndarray:
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
        values = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        features = WeightedFeatures.from_dense(self.feature_weights_)
        shift = self._means[features.support]
        kept = np.ascontiguousarray((values[:, features.support] - shift).T, dtype=values.dtype)
        centers = self._centred_centers[:, features.support].T
        everyone = np.zeros(values.shape[0], np.int32)
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
            given = self._init(matrix.n_samples, int(self.n_clusters)) is not None
            return "alternate" if given else "global"
        return search

    def _prepare(self, X) -> tuple[Matrix, KMeansPartition]:
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
        )

    def _read(self, X) -> Matrix:
        if isinstance(X, CentredMatrix | StreamedMatrix):
            # A search starts from a sample of this size anyway: so few samples are read once.
            few = isinstance(X, StreamedMatrix) and X.n_samples <= SEEDING_SAMPLE
            return X.take(np.arange(X.n_samples)) if few else X
        return CentredMatrix(read_array(self, X))

    def _fit_path(
        self, matrix, partition, weight_steps, search, progress=None, objectives_only=False
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
            objectives_only=objectives_only,
        )

    def _print_progress(self, done: int, total: int) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: step {done} of {total}", flush=True)  # noqa: T201 (asked for by `verbose`)

    def _learn(self, X, matrix: Matrix, fit: Fit, search: str):
        if not fit.converged:
            warn_unconverged(self, "labels and weights still changed")
        adopt_fit(self, X, fit)
        n_threads = count_threads(self.n_jobs)
        n_clusters = int(self.n_clusters)
        sums = matrix_sums(matrix, fit.labels, n_clusters, n_threads)
        centers = (sums / cluster_sizes(fit.labels, n_clusters)).T
        warn_of_coinciding(centers[:, fit.weights > 0], matrix.dtype)
        self._means = matrix.means
        self._centred_centers = centers
        self.cluster_centers_ = (centers + matrix.means).astype(matrix.dtype)
        self.search_ = search
        return self
