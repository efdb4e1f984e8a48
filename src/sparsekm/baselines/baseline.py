"""What the baselines share: the interface of estimators, and standardised features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin, clone

from sparsekm.cluster.alternation import Fit
from sparsekm.cluster.estimator_input import read_data, remember_features
from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.inputs import Seed, compute
from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.matrices.sparse_matrix import Block, SparseBlock, as_matrix, centred_block
from sparsekm.cluster.matrices.streamed_matrix import Data
from sparsekm.cluster.mixins import FeatureSelector, LabelPredictor
from sparsekm.cluster.partition_step import dense_if_few
from sparsekm.cluster.path_estimator import Progress
from sparsekm.cluster.sparsity_path import SparsityPath


@dataclass(eq=False, repr=False)
class BaselineEstimator(LabelPredictor, FeatureSelector, ClusterMixin, BaseEstimator):
    """The base class of methods that have no sparsity to choose.

    A subclass implements `_learn` and `_predict`, and names its search in `_search`.
    """

    n_clusters: int = 8
    _: KW_ONLY
    n_init: int = 10
    max_iter: int = 10_000
    tol: float = 0.0
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0

    _search = "alternate"

    def fit(self, X: Data, y: object = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data to cluster. Every feature is standardised, except in `PCAKMeans`, which clusters X
            on its own scale.
        y : None
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X holds NaN or infinity, has fewer distinct samples than clusters (in X or in the
            components that are clustered), or only constant features; if a parameter is out of its
            range.
        """
        X = compute(X)
        matrix = dense_if_few(as_matrix(read_data(self, X)))
        self._make_kmeans().check(matrix)
        self._learn(matrix)
        remember_features(self, X)
        return self

    def path(
        self, X: Data, sparsities: ArrayLike | None = None, *, progress: Progress | None = None
    ) -> SparsityPath:
        """Return the single fit as a path whose sparsity is the number of features kept.

        Nothing is set on the estimator.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data to cluster.
        sparsities : None
            Ignored, because there is no sparsity to choose.
        progress : callable, optional
            Called with the number of steps done and the total number of steps.

        Returns
        -------
        SparsityPath
            A path with one fit, whose objective is `objective_`.

        Raises
        ------
        TypeError, ValueError
            If `fit` would raise it.
        """
        fitted = clone(self).fit(X)
        weights, scores = fitted.feature_weights_, fitted.feature_scores_
        fit = Fit(fitted.labels_, weights, scores, fitted.objective_, fitted.n_iter_)
        if progress is not None:
            progress(1, 1)
        return SparsityPath.from_fits(np.array([np.count_nonzero(weights)]), [fit], self._search)

    @abstractmethod
    def _learn(self, matrix: FeatureMatrix) -> None:
        """Set the learned attributes."""

    @abstractmethod
    def _predict(self, block: Block) -> np.ndarray:
        """Label samples by their kept features, which are centred and scaled."""

    def _label(self, values) -> np.ndarray:
        return self._predict(self._standardise_new(values))

    def _standardise_new(self, values) -> Block:
        kept = np.flatnonzero(self.feature_weights_)
        block = centred_block(values[:, kept], self._means[kept])
        return standardise(block, self._scales[kept])

    def _make_kmeans(self) -> KMeans:
        """Make a k-means with the parameters that it shares with this estimator."""
        kmeans, own = KMeans(), self.get_params()
        return kmeans.set_params(**{name: own[name] for name in kmeans.get_params() if name in own})


def feature_totals(
    block: Block, function: Callable[[np.ndarray], np.ndarray] = np.square
) -> np.ndarray:
    """Sum a function of the centred values of every feature: (n_features,), float64."""
    if not isinstance(block, SparseBlock):
        return np.array([np.sum(function(column.astype(np.float64))) for column in block])
    rows, (n_features, n_samples) = block.rows, block.shape
    stored = function(rows.data - block.means[rows.indices])
    n_zeros = n_samples - np.bincount(rows.indices, minlength=n_features)
    zeros = n_zeros * function(block.means)
    return zeros + np.bincount(rows.indices, stored, minlength=n_features)


def standard_deviations(matrix: FeatureMatrix, ddof: int) -> np.ndarray:
    """Return the standard deviation of every feature, (n_features,), of at least two samples."""
    if matrix.n_samples < 2:
        raise ValueError("n_samples=1 should be >= 2; one sample has no standard deviation.")
    return np.sqrt(feature_totals(matrix.block) / (matrix.n_samples - ddof))


def standardise(block: Block, scales: np.ndarray) -> Block:
    """Divide centred features by their scales; the dtype stays."""
    if isinstance(block, SparseBlock):
        return block.divide(scales)
    return block / scales.astype(block.dtype)[:, None]
