"""k-means on the leading left singular vectors of a few standardised features.

What IF-PCA and SC-FS have in common: they differ in how they choose the features.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np

from sparsekm.baselines.baseline_estimator import BaselineEstimator
from sparsekm.baselines.principal_components import principal_axes, project
from sparsekm.baselines.standardisation import feature_totals, standardise
from sparsekm.cluster.argument_types import Data
from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.fitted_state import remember_features
from sparsekm.cluster.matrices.scatter import Block, MatrixInMemory
from sparsekm.cluster.matrices.sparse_matrix import centred_block


class SingularVectorClustering(BaselineEstimator):
    """Choose features, then cluster the left singular vectors of the chosen ones.

    A subclass chooses features and says how many singular vectors it clusters.
    """

    def _fit(self, X: Data) -> Self:
        matrix = self._read(X)
        if matrix.n_samples < 2:
            raise ValueError("n_samples=1 should be >= 2: one sample has no standard deviation.")
        squares = feature_totals(matrix.block, np.square)
        deviations = np.sqrt(squares / (matrix.n_samples - 1))
        kept, screened = self._choose_features(matrix, deviations)
        kmeans, axes = self._cluster(standardise(matrix.select(kept).block, deviations[kept]))
        remember_features(self, X)
        for name, value in screened.items():
            setattr(self, name, value)
        self._means, self._deviations = matrix.means, deviations
        self._kmeans, self._axes = kmeans, axes
        self.feature_weights_ = np.zeros(matrix.n_features)
        self.feature_weights_[kept] = 1.0
        return self._learn_partition(matrix, kmeans)

    def _predict(self, values: np.ndarray) -> np.ndarray:
        kept = np.flatnonzero(self.feature_weights_)
        block = centred_block(values[:, kept], self._means[kept])
        return self._kmeans.predict(project(standardise(block, self._deviations[kept]), self._axes))

    @abstractmethod
    def _choose_features(
        self, matrix: MatrixInMemory, deviations: np.ndarray
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return the features to keep, and the attributes that tell why.

        The features are ascending, at least one, and none has a deviation of 0.
        """

    @abstractmethod
    def _count_vectors(self) -> int:
        """Return the number of singular vectors to cluster."""

    def _cluster(self, columns: Block) -> tuple[KMeans, np.ndarray]:
        """Cluster the singular vectors of standardised columns; return also their axes."""
        axes = singular_axes(columns, self._count_vectors())
        return self._make_kmeans().fit(project(columns, axes)), axes


def singular_axes(columns: Block, count: int) -> np.ndarray:
    """Return at most `count` axes on which data project to their left singular vectors."""
    axes = principal_axes(columns, min(count, *columns.shape))
    values = np.sqrt((project(columns, axes) ** 2).sum(axis=0))
    # An axis beyond the rank of the data is zero and stays zero.
    return axes / np.where(values > 0, values, 1.0)[:, None]
