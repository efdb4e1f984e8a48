"""SC-FS: spectral clustering, features that its labels explain, and spectral clustering again."""

from __future__ import annotations

import numpy as np

from sparsekm.baselines.singular_vector_clustering import SingularVectorClustering
from sparsekm.baselines.standardisation import standardise
from sparsekm.cluster.matrices.scatter import MatrixInMemory, feature_scores
from sparsekm.runtime.threads import count_threads

# A feature is kept if its sum of squares within the first clusters is less than this many of its
# variances per sample, and with fewer than K such features 10 K of the largest R squared are kept:
# the constants of the authors' program.
LARGEST_UNEXPLAINED = 0.9
FEWEST_PER_CLUSTER = 10


class SCFS(SingularVectorClustering):
    r"""Spectral clustering with feature selection (Liu, Lu, Zhu and Zhao 2023).

    All standardised features are clustered by k-means on their K leading left singular vectors.
    The features kept are those of which these labels explain enough: with :math:`R_j^2` the share
    of the variation of feature j between the clusters, those with
    :math:`(n - 1) (1 - R_j^2) < 0.9 \, n`, that is :math:`R_j^2` above about .1. The kept features
    are clustered in the same way. This is SC-FS1 of the authors' program.

    Parameters
    ----------
    n_clusters, n_init, max_iter, tol, random_state, n_jobs, verbose
        As in `KMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, feature_scores_, n_iter_, search_, n_features_in_, feature_names_in_
        As in `KMeans`; centres and scores are those of all features.
    feature_weights_, objective_
        As in `IFPCA`.
    r_squared_ : ndarray of shape (n_features,)
        Share of each feature's variation between the first clusters; 0 for a constant feature.

    References
    ----------
    .. [1] T. Liu, Y. Lu, B. Zhu and H. Zhao (2023). Clustering high-dimensional data via feature
       selection. Biometrics 79(2), 940-950. https://doi.org/10.1111/biom.13665

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import SCFS
    >>> X = np.random.default_rng(0).standard_normal((60, 200))
    >>> X[:30, :10] += 3.0
    >>> SCFS(2, random_state=0).fit(X).labels_.tolist() == [0] * 30 + [1] * 30
    True
    """

    def _choose_features(self, matrix: MatrixInMemory, deviations: np.ndarray):
        n_clusters, freedom = int(self.n_clusters), matrix.n_samples - 1
        varying = np.flatnonzero(deviations)
        first, _ = self._cluster(standardise(matrix.select(varying).block, deviations[varying]))
        between = feature_scores(matrix, first.labels_, n_clusters, count_threads(self.n_jobs))
        r_squared = np.zeros(matrix.n_features)
        r_squared[varying] = between[varying] / (freedom * deviations[varying] ** 2)
        explained = r_squared[varying]
        kept = varying[freedom * (1 - explained) < LARGEST_UNEXPLAINED * matrix.n_samples]
        if len(kept) < n_clusters:
            best = np.argsort(-explained, kind="stable")[: FEWEST_PER_CLUSTER * n_clusters]
            kept = varying[np.sort(best)]
        return kept, {"r_squared_": r_squared}

    def _count_vectors(self) -> int:
        return int(self.n_clusters)
