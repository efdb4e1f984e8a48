"""What the k-means estimators share: validate, call the pure functions, set the attributes."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sparsekm.cluster.alternation import Fit
from sparsekm.cluster.argument_types import Data
from sparsekm.cluster.fitted_state import read_data, read_new
from sparsekm.cluster.kmeans.assignment import WeightedFeatures, label_samples
from sparsekm.cluster.kmeans.coinciding_centers import warn_of_coinciding
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.matrix_checks import check_matrix
from sparsekm.cluster.matrices.scatter import Matrix, cluster_sizes, matrix_sums
from sparsekm.cluster.matrices.sparse_matrix import SparseMatrix, as_matrix
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix
from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition, dense_if_few
from sparsekm.cluster.path import fit_path
from sparsekm.cluster.path_estimator import PathEstimator
from sparsekm.cluster.search.starts import STARTS, make_start
from sparsekm.cluster.validation import check_choice, check_count, check_start
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import count_threads


class BaseSparseKMeans(PathEstimator):
    """What the k-means estimators share: reading data, prediction, the search."""

    def predict(self, X: Data) -> np.ndarray:
        """Label samples by their nearest centre under the feature weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int32
            On the training data these are `labels_`, except where `fit` warns that clusters have
            the same centre in the kept features or that it did not converge, and where
            ``min_cluster_size > 1`` keeps samples in a cluster whose centre is not the nearest.
        """
        check_is_fitted(self)
        values = read_new(self, X)
        features = WeightedFeatures.from_dense(self.feature_weights_)
        means = self._means[features.support]
        centers = self._centred_centers[:, features.support].T
        return label_samples(values, features, means, centers, count_threads(self.n_jobs))

    def _init(self, n_samples: int, n_clusters: int) -> str | np.ndarray | None:
        return check_start(self.init, n_samples, n_clusters, STARTS)

    def _resolve_search(self, matrix: Matrix) -> str:
        search = check_choice("search", self.search, ["auto", "alternate", "global"])
        given = self._init(matrix.n_samples, int(self.n_clusters)) is not None
        if search == "auto":
            return "alternate" if given else "global"
        return search

    def _read(self, X) -> tuple[Matrix, VaryingFeatures]:
        known = isinstance(X, CentredMatrix | SparseMatrix | StreamedMatrix)
        matrix = X if known else as_matrix(read_data(self, X))
        features = VaryingFeatures.of_matrix(matrix)
        return dense_if_few(features.select(matrix)), features

    def _prepare(self, matrix: Matrix) -> tuple[Matrix, KMeansPartition]:
        n_clusters = check_count("n_clusters", self.n_clusters)
        min_size = check_count("min_cluster_size", self.min_cluster_size)
        check_matrix(matrix, n_clusters, min_size)
        partition = KMeansPartition(
            n_clusters, min_size, roughness=SMALL_GAIN, n_threads=count_threads(self.n_jobs)
        )
        return matrix, partition

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

    def _add_attributes(
        self, matrix: Matrix, features: VaryingFeatures, fit: Fit, search: str
    ) -> None:
        n_threads = count_threads(self.n_jobs)
        n_clusters = int(self.n_clusters)
        sums = matrix_sums(matrix, fit.labels, n_clusters, n_threads)
        centers = (sums / cluster_sizes(fit.labels, n_clusters)).T
        kept = fit.weights[features.varies] > 0
        warn_of_coinciding(centers[:, kept], matrix.dtype)
        self._means = features.put_back(matrix.means, features.constants)
        self._centred_centers = features.put_back(centers)
        self.cluster_centers_ = (self._centred_centers + self._means).astype(matrix.dtype)
        self.search_ = search
