"""k-means on the first principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sparsekm.baselines.baseline_estimator import BaselineEstimator
from sparsekm.baselines.principal_components import principal_axes, project
from sparsekm.cluster.argument_types import Data
from sparsekm.cluster.fitted_state import remember_features
from sparsekm.cluster.matrices.sparse_matrix import centred_block
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.validation import check_count


@dataclass(eq=False, repr=False, kw_only=True)
class PCAKMeans(BaselineEstimator):
    """k-means on the first principal components of the centred data (Chang 1983).

    Every feature loads on the components, so none is dropped. The components are exact; the
    clustering is that of `KMeans`.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_components : int, default=1
        Number of components to cluster on, at most the smaller of n_samples and the number of
        features that vary.
    n_init, max_iter, tol, min_cluster_size, random_state, n_jobs, verbose
        As in `KMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, feature_scores_, n_iter_, search_, n_features_in_, feature_names_in_
        As in `KMeans`; centres and scores are those of all features.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal axes by descending variance; the loading largest in absolute value is positive.
    feature_weights_ : ndarray of shape (n_features,)
        Ones: all features weigh in through the components. Constant ones, which do not, have 0.
    objective_ : float
        Between-cluster sum of squares of the components, which is what was maximised.

    References
    ----------
    .. [1] W.-C. Chang (1983). On using principal components before separating a mixture of two
       multivariate normal distributions. Applied Statistics 32(3), 267-275.
       https://doi.org/10.2307/2347949

    Examples
    --------
    >>> from sparsekm import PCAKMeans
    >>> X = [[0.0, 3.0], [1.0, 3.0], [10.0, 3.0], [11.0, 3.0]]
    >>> PCAKMeans(2, random_state=0).fit(X).objective_
    100.0
    """

    n_components: int = 1
    min_cluster_size: int = 1

    def _fit(self, X: Data) -> Self:
        matrix = self._read(X)
        features = VaryingFeatures.of_matrix(matrix)
        varying = features.select(matrix)
        largest = min(varying.shape)
        count = check_count("n_components", self.n_components)
        if count > largest:
            raise ValueError(
                f"n_components={count} should be <= min(n_samples, n_features)={largest}."
            )
        components = principal_axes(varying.block, count)
        kmeans = self._make_kmeans().fit(project(varying.block, components))
        remember_features(self, X)
        self._means = matrix.means
        self.components_ = features.put_back(components)
        self._kmeans = kmeans
        self.feature_weights_ = features.put_back(np.ones(varying.n_features))
        return self._learn_partition(matrix, kmeans)

    def _predict(self, values: np.ndarray) -> np.ndarray:
        columns = centred_block(values, self._means)
        return self._kmeans.predict(project(columns, self.components_))
