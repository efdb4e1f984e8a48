"""What estimators with any partition step share: `fit`, `path` and the methods that use them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from sparsekm.cluster.batches import check_batch, compare_batches
from sparsekm.cluster.estimator_input import (
    imputes,
    label_observed,
    read_data,
    remember_features,
    warn_unconverged,
)
from sparsekm.cluster.kmeans.many_samples import label_samples, warn_of_coinciding
from sparsekm.cluster.matrices.inputs import compute
from sparsekm.cluster.matrices.matrix import FeatureMatrix, cluster_sizes, matrix_sums
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.matrices.streamed_matrix import Data, StreamedMatrix
from sparsekm.cluster.matrices.varying_features import VaryingFeatures, check_matrix
from sparsekm.cluster.mixins import FeatureSelector, LabelPredictor
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition, dense_if_few
from sparsekm.cluster.sample_weights import check_sample_weight, describe_weighted, with_weights
from sparsekm.cluster.sparsity_path import Fit, Found, SparsityPath
from sparsekm.cluster.trimming import check_unequal, fit_samples
from sparsekm.cluster.validation import check_count, check_nonnegative, check_searchable
from sparsekm.cluster.weight_step import (
    FeatureGroups,
    WeighedGroups,
    WeightStep,
    check_sparsity,
    make_step,
    resolve_sparsities,
)
from sparsekm.runtime.random_state import check_random_state
from sparsekm.runtime.threads import count_threads

Progress = Callable[[int, int], None]


class SearchEffort(NamedTuple):
    """How hard to search."""

    n_init: int  # restarts of the alternation; the climbs of the search in proportion
    max_iter: int  # rounds of one alternation; generations of the search
    tol: float  # relative change of the weights that ends an alternation


class PathEstimator(FeatureSelector, ClusterMixin, BaseEstimator):
    """The base class of estimators that fit one sparsity, or a path, with any partition step.

    A subclass defines the methods that are declared here. `_read` leaves out constant features;
    they are added to the results again.
    """

    penalty: str

    # Takes X; returns the checked data of the features that vary (with a `shape`), these features,
    # and the partition step.
    _read: Callable[[Any], tuple[Any, VaryingFeatures, Any]]
    # Takes data, partition step, ascending weight steps, search, progress and whether only
    # objectives are needed; returns the fits, and the objectives that a gap compares.
    _fit_path: Callable[..., Found]
    # Takes data, features, fit and search; sets the centres and the other learned attributes.
    _add_attributes: Callable[[Any, VaryingFeatures, Fit, str], None]

    # They are stored, because reading them from the signature took longer than a small fit.
    @classmethod
    @cache
    def _get_param_names(cls):
        return super()._get_param_names()

    def _fit(self, X) -> None:
        data, features, partition = self._read(X)
        weight_step = self._weight_step(getattr(self, "sparsity", None), features)
        search = self._resolve_search(data)
        problem = data, partition, [weight_step]
        (fit,), _ = self._fit_path(*problem, search, self._print_progress, False)
        self._learn(X, data, features, _put_back(fit, weight_step, features), search)

    def check(self, X: Data, *, searched: bool = False) -> None:
        """Raise the errors that `fit` would raise for these data and parameters, without fitting.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
            Data to cluster. `SparseClustering` does not read a StreamedMatrix.
        searched : bool, default=False
            Whether a sparsity will be chosen. If so, ``n_clusters=1`` is refused, and the
            estimator's own sparsity is not checked.

        Raises
        ------
        TypeError, ValueError
            If `fit` would raise it.
        """
        data, features, partition = self._read(X)
        if searched:
            check_searchable(partition.n_clusters)
        else:
            self._weight_step(getattr(self, "sparsity", None), features)
        self._effort()
        self._resolve_search(data)
        check_random_state(self.random_state)

    def path(
        self, X: Data, sparsities: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> SparsityPath:
        """Fit all sparsities in one call, with fits that start from each other's labels.

        Along a path, the objective never falls as `sparsity` increases, and no fit can be improved
        by starting it from the labels of another. Independent fits do not guarantee this. The
        estimator's own `sparsity` is not used, and the estimator does not change. The labels of
        every fit are a fixed point of the clustering step under its weights, and the weights are
        the best for the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
            Data to cluster. `SparseClustering` does not read a StreamedMatrix.
        sparsities : array-like of shape (n_sparsities,)
            Values of the parameter `sparsity`, in any order. A count of 1 may be written 1.0 here,
            unlike in the parameter `sparsity`. `KMeans` ignores these values: its path has one fit,
            at the number of features that vary.
        progress : callable, optional
            Called with the number of steps done and the total number of steps.

        Returns
        -------
        SparsityPath
            The fits, in the order of `sparsities`. A share of the features becomes their number.

        Raises
        ------
        TypeError, ValueError
            If `fit` would raise it; if `sparsities` is not a vector of values in their range.
        """
        values, search, fits, first = self._search_path(X, sparsities, progress)
        return SparsityPath.from_fits(values, fits, search, first)

    def search_objectives(self, X: Data, sparsities: ArrayLike) -> np.ndarray:
        """Return the objective that the search reaches at each sparsity.

        The gap statistic compares these objectives with those of reference data. `path` also
        returns them, as `first_objectives`, but takes longer, because it refines the fits.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
            Data to cluster. `SparseClustering` does not read a StreamedMatrix.
        sparsities : array-like of shape (n_sparsities,)
            Values of the parameter `sparsity`, in any order. A count of 1 may be written 1.0 here,
            unlike in the parameter `sparsity`.

        Returns
        -------
        ndarray of shape (n_sparsities,)
            The objectives, in the order of `sparsities`.

        Raises
        ------
        TypeError, ValueError
            If `path` would raise it.
        """
        return self._search_path(X, sparsities, None, objectives_only=True)[-1]

    def _search_path(self, X, sparsities, progress, objectives_only=False):
        """Return sparsities, search, fits and first objectives, in the order of `sparsities`."""
        data, features, partition = self._read(X)
        sparsities = self._grid(sparsities, features)
        order = np.argsort(sparsities, kind="stable")
        weight_steps = [self._weight_step(s, features) for s in sparsities[order]]
        search = self._resolve_search(data)
        problem, progress = (data, partition, weight_steps), progress or self._print_progress
        fits, first = self._fit_path(*problem, search, progress, objectives_only)
        # There are no fits if only objectives are needed.
        pairs = zip(fits, weight_steps, strict=False)
        fits = [_put_back(fit, step, features) for fit, step in pairs]
        places = np.argsort(order)
        return sparsities, search, [fits[place] for place in places if fits], first[places]

    def adopt(self, X: Data, path: SparsityPath, index: int) -> Self:
        """Set the fitted attributes from one fit of a path, without searching again.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data of the path.
        path : SparsityPath
            The path.
        index : int
            Position of the fit in the path.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X has another number of samples or features than the path, or the path has more
            clusters than `n_clusters`.
        """
        data, features, partition = self._read(X)
        fitted = path.labels.shape[1], path.weights.shape[1], int(path.labels.max()) + 1
        own = data.shape[0], features.n_features, partition.n_clusters
        if fitted[:2] != own[:2] or fitted[2] > own[2]:
            raise ValueError(
                f"path: (n_samples, n_features, n_clusters)={fitted} should be {own}, the numbers "
                "of X and the estimator."
            )
        return self._learn(X, data, features, path.fit_at(index), path.search)

    def _learn(self, X, data, features: VaryingFeatures, fit: Fit, search: str) -> Self:
        if not fit.converged:
            warn_unconverged(self, "labels and weights still changed")
        remember_features(self, X)
        self.labels_, self.feature_weights_ = fit.labels, fit.weights
        self.feature_scores_, self.objective_ = fit.scores, fit.objective
        self.n_iter_ = fit.n_iter
        self._add_attributes(data, features, fit, search)
        return self

    def _resolve_search(self, data) -> str:
        return "alternate"

    def _weight_step(self, sparsity, features: VaryingFeatures) -> WeightStep:
        groups = self._feature_groups(features)
        bound = check_sparsity(self.penalty, sparsity, *(groups or features).counts)
        return make_step(self.penalty, bound, None if groups is None else groups.groups)

    def _grid(self, sparsities, features: VaryingFeatures) -> np.ndarray:
        counts = (self._feature_groups(features) or features).counts
        return resolve_sparsities(self.penalty, sparsities, *counts)

    def _feature_groups(self, features: VaryingFeatures) -> FeatureGroups | None:
        groups = getattr(self, "feature_groups", None)
        return None if groups is None else FeatureGroups.of_labels(groups, features)

    def _effort(self) -> SearchEffort:
        return SearchEffort(
            n_init=check_count("n_init", self.n_init),
            max_iter=check_count("max_iter", self.max_iter),
            tol=check_nonnegative("tol", self.tol),
        )


def _put_back(fit: Fit, weight_step: WeightStep, features: VaryingFeatures) -> Fit:
    """Return a fit of all features; constant features score 0 and are chosen last."""
    last = np.zeros(features.n_constant)
    if last.size and not isinstance(weight_step, WeighedGroups):
        last = weight_step.weigh(np.append(fit.scores, last))[len(fit.scores) :]
    weights, scores = (features.put_back(values) for values in (fit.weights, fit.scores))
    weights[~features.varies] = last
    return replace(fit, weights=weights, scores=scores)


class BaseSparseKMeans(LabelPredictor, PathEstimator):
    """What the k-means estimators share: reading data, predicting, and weighting samples."""

    # As `_fit_path`, for samples of equal weight; the second argument is where to start.
    _fit_alike: Callable[..., Found]

    def fit(
        self,
        X: Data,
        y: object = None,
        *,
        sample_weight: ArrayLike | None = None,
        batch: ArrayLike | None = None,
    ) -> Self:
        """Cluster the samples and weigh the features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or StreamedMatrix
            CSR and CSC matrices are not made dense; float32 stays float32; arrays of dask are
            computed. Data are never rescaled: standardise first if units differ.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts. A sample of weight 2 counts as if it were given twice; a
            sample of weight 0 is not used, and is labelled like new data. Scores and objective are
            proportional to the weights; nothing else depends on their scale.
        batch : array-like of shape (n_samples,), default=None
            The batch of each sample. The attributes describe the fit to X as given; a second fit to
            X centred within batches is stored as `batch_centred_`, see `SparseKMeans.fit`.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If NumPy cannot read X (an AnnData, for example); if X contains NaN or infinity, has
            indices outside its shape, fewer distinct samples than clusters, or only constant
            features; if a parameter is out of its range; if there is not one weight per sample, or
            weights are negative, all 0, or combined with a StreamedMatrix, `trim` or
            ``min_cluster_size > 1``; if there is not one batch per sample, a batch has only one
            sample, or batches are combined with a sparse X or a StreamedMatrix.
        """
        X = compute(X)
        if batch is not None:
            check_batch(batch, X)
        if sample_weight is None:
            self._fit(X)
        else:
            self._fit_weighted(X, sample_weight)
        if batch is not None:
            compare_batches(self, X, batch, sample_weight=sample_weight)
        return self

    def _fit_weighted(self, X, sample_weight) -> None:
        if isinstance(X, StreamedMatrix):
            raise ValueError(
                "sample_weight should be None for a StreamedMatrix. Give the array in memory."
            )
        values: Any = read_data(self, X)
        weights = check_sample_weight(sample_weight, values.shape[0])
        counts = weights > 0
        if self._start_labels() is not None and not counts.all():
            raise ValueError(
                "sample_weight of 0 should not be combined with labels as init. Drop the samples "
                "of weight 0."
            )
        given = as_matrix(values if counts.all() else values[counts])
        self._fit(with_weights(given, weights[counts]))
        if not counts.all():
            everyone = np.empty(len(counts), np.int32)
            everyone[counts], everyone[~counts] = self.labels_, self._label(values[~counts])
            self.labels_ = everyone
        remember_features(self, X)

    def _label(self, values) -> np.ndarray:
        support = self.feature_weights_ > 0
        label = label_observed if imputes(self) else label_samples
        means, centers = self._means[support], self._centred_centers[:, support].T
        n_threads = count_threads(self.n_jobs)
        return label(values, self.feature_weights_, means, centers, n_threads)

    def _start_labels(self) -> np.ndarray | None:
        init = getattr(self, "init", None)
        return None if init is None or isinstance(init, str) else np.asarray(init)

    def _read(self, X) -> tuple[FeatureMatrix, VaryingFeatures, KMeansPartition]:
        whole: Any = X if isinstance(X, FeatureMatrix) else as_matrix(read_data(self, X))
        features = VaryingFeatures.of_matrix(whole)
        matrix = dense_if_few(features.select(whole))
        matrix.sample_weight = whole.sample_weight
        n_clusters = check_count("n_clusters", self.n_clusters)
        min_size = check_count("min_cluster_size", self.min_cluster_size)
        check_matrix(matrix, n_clusters, min_size)
        check_unequal(matrix, self.trim, n_clusters, min_size)
        n_threads = count_threads(self.n_jobs)
        partition = KMeansPartition(n_clusters, min_size, roughness=SMALL_GAIN, n_threads=n_threads)
        return matrix, features, partition

    def _fit_path(self, matrix, partition, weight_steps, *options) -> Found:
        init, labels = getattr(self, "init", None), self._start_labels()

        def fit_some(sample, rows):
            start = init if labels is None else labels[rows]
            return self._fit_alike((sample, partition, weight_steps), start, *options)

        problem, n_starts = (matrix, partition, weight_steps), self._effort().n_init
        return fit_samples(problem, fit_some, self.trim, n_starts, self.random_state)

    def _add_attributes(self, matrix, features: VaryingFeatures, fit: Fit, search: str) -> None:
        n_clusters, labels = int(self.n_clusters), fit.labels
        if labels.min() < 0:
            matrix, labels = matrix.take(np.flatnonzero(labels >= 0)), labels[labels >= 0]
        if matrix.sample_weight is None:
            sums = matrix_sums(matrix, labels, n_clusters, count_threads(self.n_jobs))
            centers = (sums / cluster_sizes(labels, n_clusters)).T
        else:
            centers = describe_weighted(matrix, labels, n_clusters)[0].T
        kept = fit.weights[features.varies] > 0
        warn_of_coinciding(centers[:, kept], matrix.dtype)
        self._means = features.put_back(matrix.means, features.constants)
        self._centred_centers = features.put_back(centers)
        self.cluster_centers_ = (self._centred_centers + self._means).astype(matrix.dtype)
        self.search_ = search
