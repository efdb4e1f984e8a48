r"""k-means on principal components or singular vectors: PCA-k-means, IF-PCA and SC-FS.

With the centred data :math:`X = U S V^\top`, the columns of U are eigenvectors of :math:`X X^\top`,
and the columns of V are eigenvectors of :math:`X^\top X`. The smaller of the two matrices is
decomposed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from sparsekm.baselines.baseline import BaselineEstimator, standard_deviations, standardise
from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.matrix import (
    FeatureMatrix,
    cluster_sizes,
    feature_scores,
    matrix_sums,
    scores_from_sums,
)
from sparsekm.cluster.matrices.sparse_matrix import Block, SparseBlock
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.screening import (
    higher_criticism_threshold,
    marginal_p_values,
    marginal_scores,
)
from sparsekm.cluster.validation import check_count
from sparsekm.runtime.threads import count_threads, one_blas_thread

# The number of features, or samples, that are converted to float64 at once.
BLOCK = 256


def principal_axes(columns: Block, n_components: int) -> np.ndarray:
    """Compute the directions of largest variance, float64 of shape (n_components, n_features).

    The axes of centred `columns`, (n_features, n_samples), are orthonormal, by descending variance.
    The entry with the largest absolute value is positive (the first one, if several tie). An axis
    beyond the rank is zero.
    """
    n_features, n_samples = columns.shape
    wide = n_samples < n_features
    with one_blas_thread:
        gram = _gram(columns, of_features=not wide)
        values, vectors = eigh(gram, subset_by_index=[len(gram) - n_components, len(gram) - 1])
        values, axes = values[::-1], vectors.T[::-1].copy()
        if wide:
            axes = np.array([_combine(columns, vector) for vector in axes])
    beyond_rank = values <= max(columns.shape) * np.finfo(columns.dtype).eps * values[0]
    axes[beyond_rank] = 0.0
    lengths = np.sqrt((axes**2).sum(axis=1))
    largest = axes[np.arange(n_components), np.abs(axes).argmax(axis=1)]
    scales = np.where(largest < 0, -1.0, 1.0) / np.where(beyond_rank, 1.0, lengths)
    return axes * scales[:, None]


def _gram(columns: Block, *, of_features: bool) -> np.ndarray:
    """Return the inner products of samples, or of features, summed block by block."""
    if isinstance(columns, SparseBlock):
        rows, means = columns.rows.astype(np.float64), columns.means
        if of_features:
            return (rows.T @ rows).toarray() - columns.shape[1] * np.outer(means, means)
        along = rows @ means
        return (rows @ rows.T).toarray() - along[:, None] - along + means @ means
    items = columns.T if of_features else columns
    total = np.zeros((items.shape[1], items.shape[1]))
    for block in _float64_blocks(items):
        total += block.T @ block
    return total


def _combine(columns: Block, vector: np.ndarray) -> np.ndarray:
    """Sum the samples with these weights."""
    if isinstance(columns, SparseBlock):
        return columns.rows.T @ vector - columns.means * vector.sum()
    return np.concatenate([block @ vector for block in _float64_blocks(columns)])


def _float64_blocks(items: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(items), BLOCK):
        yield items[start : start + BLOCK].astype(np.float64)


def project(columns: Block, axes: np.ndarray) -> np.ndarray:
    """Project centred data of shape (n_features, n_samples) onto axes: (n_samples, n_components).

    Each sample is summed separately, so that its bits do not depend on the other samples.
    """
    if isinstance(columns, SparseBlock):
        return columns.rows @ axes.T - axes @ columns.means
    scores = np.zeros((columns.shape[1], len(axes)))
    for column, loadings in zip(columns, axes.T, strict=True):
        scores += column.astype(np.float64)[:, None] * loadings
    return scores


class ProjectedKMeans(BaselineEstimator):
    """Choose features and scale them, and cluster the samples' projections on a few axes."""

    _fewer_axes = 0  # than clusters

    def _learn(self, matrix: FeatureMatrix) -> None:
        kept, scales = self._choose_features(matrix)
        self._kmeans, self._axes = self._cluster(matrix, kept, scales)
        self._means, self._scales = matrix.means, scales
        self.feature_weights_ = np.zeros(matrix.n_features)
        self.feature_weights_[kept] = 1.0
        labels, n_clusters = self._kmeans.labels_, int(self.n_clusters)
        sizes = cluster_sizes(labels, n_clusters)
        sums = matrix_sums(matrix, labels, n_clusters, count_threads(self.n_jobs))
        self.labels_ = labels
        self.cluster_centers_ = ((sums / sizes).T + matrix.means).astype(matrix.dtype)
        self.feature_scores_ = scores_from_sums(sums, sizes)
        self.objective_, self.n_iter_ = self._kmeans.objective_, self._kmeans.n_iter_
        self.search_ = self._kmeans.search_

    def _predict(self, block):
        return self._kmeans.predict(project(block, self._axes))

    @abstractmethod
    def _choose_features(self, matrix: FeatureMatrix) -> tuple[np.ndarray, np.ndarray]:
        """Return the features to keep, ascending, and the scale of each; set why, as attributes."""

    def _cluster(self, matrix, features, scales) -> tuple[KMeans, np.ndarray]:
        """Cluster the samples' projections; return also the axes."""
        columns = standardise(matrix.select(features).block, scales[features])
        axes = self._find_axes(columns)
        return self._make_kmeans().fit(project(columns, axes)), axes

    def _find_axes(self, columns: Block) -> np.ndarray:
        """Return axes on which data project to their left singular vectors."""
        count = max(1, int(self.n_clusters) - self._fewer_axes)
        axes = principal_axes(columns, min(count, *columns.shape))
        values = np.sqrt((project(columns, axes) ** 2).sum(axis=0))
        # An axis beyond the rank of the data is zero and stays zero.
        return axes / np.where(values > 0, values, 1.0)[:, None]


@dataclass(eq=False, repr=False, kw_only=True)
class PCAKMeans(ProjectedKMeans):
    """Plain k-means on the first principal components of the centred data.

    Every feature loads on the components, so no feature is dropped (Chang 1983,
    doi:10.2307/2347949).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_init : int, default=10
        Number of starts. The best result is kept.
    max_iter : int, default=10000
        Largest number of rounds of refining the best start. In each round, every sample may move.
    tol : float, default=0
        The refinement stops after a round that raises the objective by no more than this share.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.
    n_components : int, default=1
        Number of components to cluster on, at most min(n_samples, n_features).
    min_cluster_size : int, default=1
        Smallest number of samples that a cluster may have.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal axes by descending variance. The largest loading in absolute value is positive.
    feature_weights_ : ndarray of shape (n_features,)
        1 for every feature that varies, because all of them load on the components; 0 for a
        constant feature.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature.
    objective_ : float
        Between-cluster sum of squares of the components, which k-means maximises.
    n_iter_ : int
        Rounds of the final refinement.
    search_ : str
        The search that ran: "alternate".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    Examples
    --------
    >>> from sparsekm import PCAKMeans
    >>> X = [[0.0, 3.0], [1.0, 3.0], [10.0, 3.0], [11.0, 3.0]]
    >>> PCAKMeans(2, random_state=0).fit(X).objective_
    100.0
    """

    n_components: int = 1
    min_cluster_size: int = 1

    def _learn(self, matrix):
        super()._learn(matrix)
        self.components_ = np.zeros((len(self._axes), matrix.n_features))
        self.components_[:, self.feature_weights_ > 0] = self._axes

    def _choose_features(self, matrix):
        kept = np.flatnonzero(VaryingFeatures.of_matrix(matrix).varies)
        return kept, np.ones(matrix.n_features)

    def _find_axes(self, columns):
        count, largest = check_count("n_components", self.n_components), min(columns.shape)
        if count > largest:
            raise ValueError(
                f"n_components={count} should be <= min(n_samples, n_features)={largest}."
            )
        return principal_axes(columns, count)


class IFPCA(ProjectedKMeans):
    """Influential features PCA (Jin & Wang 2016, doi:10.1214/15-AOS1423).

    Features are ranked by the Kolmogorov-Smirnov distance of the standardised feature from a
    Gaussian. Efron's empirical null turns these distances into p-values, and Higher Criticism
    decides how many features are kept. The kept features are standardised, and k-means clusters the
    samples by the K - 1 leading left singular vectors.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_init : int, default=10
        Number of starts. The best result is kept.
    max_iter : int, default=10000
        Largest number of rounds of refining the best start. In each round, every sample may move.
    tol : float, default=0
        The refinement stops after a round that raises the objective by no more than this share.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
        1 for a kept feature, 0 for a dropped one.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature.
    marginal_scores_ : ndarray of shape (n_features,)
        Kolmogorov-Smirnov distances; 0 for a constant feature.
    p_values_ : ndarray of shape (n_features,)
        p-values of the distances; 1 for a constant feature.
    objective_ : float
        Between-cluster sum of squares of the singular vectors, which k-means maximises.
    n_iter_ : int
        Rounds of the final refinement.
    search_ : str
        The search that ran: "alternate".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import IFPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 200))
    >>> X[:30, :10] += 5.0
    >>> IFPCA(2, random_state=0).fit(X).labels_.tolist() == [0] * 30 + [1] * 30
    True
    """

    _fewer_axes = 1

    def _choose_features(self, matrix):
        deviations = standard_deviations(matrix, ddof=1)
        block = matrix.block
        rows = block.rows if isinstance(block, SparseBlock) else block.T
        self.marginal_scores_ = marginal_scores(rows, n_jobs=self.n_jobs)
        self.p_values_ = marginal_p_values(self.marginal_scores_, matrix.n_samples)
        varying = np.flatnonzero(deviations)
        compared = self.p_values_[varying]
        count = higher_criticism_threshold(compared, matrix.n_samples)
        return varying[compared <= np.sort(compared)[count - 1]], deviations


# A feature is kept if its sum of squares within the first clusters, per sample, is less than this
# multiple of its variance. If there are fewer than K such features, the 10 K features with the
# largest R squared are kept. These are the constants of the authors' program.
LARGEST_UNEXPLAINED = 0.9
FEWEST_PER_CLUSTER = 10


class SCFS(ProjectedKMeans):
    r"""Spectral clustering with feature selection (Liu et al. 2023, doi:10.1111/biom.13665).

    Samples are first clustered by k-means on the K leading left singular vectors of all
    standardised features. A feature is kept if these clusters explain more than about a tenth of
    its variation (:math:`(n - 1) (1 - R_j^2) < 0.9 \, n`, where :math:`R_j^2` is the share that
    they explain). The samples are then clustered in the same way by the kept features. This is the
    method SC-FS1 of the authors' program.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_init : int, default=10
        Number of starts. The best result is kept.
    max_iter : int, default=10000
        Largest number of rounds of refining the best start. In each round, every sample may move.
    tol : float, default=0
        The refinement stops after a round that raises the objective by no more than this share.
    random_state : None, int, RandomState or Generator, default=None
        Controls the randomness. None draws fresh entropy; NumPy's global generator is never used.
    n_jobs : int, default=None
        Number of threads, which does not change results. None and -1 use all cores that the process
        may use.
    verbose : int, default=0
        If positive, progress is printed.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        Cluster of each sample.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters in all features, in the units and the dtype of X.
    feature_weights_ : ndarray of shape (n_features,)
        1 for a kept feature, 0 for a dropped one.
    feature_scores_ : ndarray of shape (n_features,)
        Between-cluster sum of squares a_j of each feature.
    r_squared_ : ndarray of shape (n_features,)
        Share of each feature's variation that lies between the first clusters; 0 for a constant
        feature.
    objective_ : float
        Between-cluster sum of squares of the singular vectors, which k-means maximises.
    n_iter_ : int
        Rounds of the final refinement.
    search_ : str
        The search that ran: "alternate".
    n_features_in_ : int
        Number of features in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if the columns of X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import SCFS
    >>> X = np.random.default_rng(0).standard_normal((60, 200))
    >>> X[:30, :10] += 3.0
    >>> SCFS(2, random_state=0).fit(X).labels_.tolist() == [0] * 30 + [1] * 30
    True
    """

    def _choose_features(self, matrix):
        deviations = standard_deviations(matrix, ddof=1)
        n_clusters, freedom = int(self.n_clusters), matrix.n_samples - 1
        varying = np.flatnonzero(deviations)
        first, _ = self._cluster(matrix, varying, deviations)
        between = feature_scores(matrix, first.labels_, n_clusters, count_threads(self.n_jobs))
        explained = between[varying] / (freedom * deviations[varying] ** 2)
        self.r_squared_ = np.zeros(matrix.n_features)
        self.r_squared_[varying] = explained
        kept = varying[freedom * (1 - explained) < LARGEST_UNEXPLAINED * matrix.n_samples]
        if len(kept) < n_clusters:
            best = np.argsort(-explained, kind="stable")[: FEWEST_PER_CLUSTER * n_clusters]
            kept = varying[np.sort(best)]
        return kept, deviations
