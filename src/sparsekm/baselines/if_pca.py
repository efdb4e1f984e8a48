"""IF-PCA: features with a non-Gaussian marginal distribution, then k-means on singular vectors."""

from __future__ import annotations

import numpy as np

from sparsekm.baselines.singular_vector_clustering import SingularVectorClustering
from sparsekm.cluster.matrices.scatter import MatrixInMemory
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.cluster.screening import (
    higher_criticism_threshold,
    marginal_p_values,
    marginal_scores,
)


class IFPCA(SingularVectorClustering):
    """Influential features PCA (Jin and Wang 2016).

    Features are ranked by the Kolmogorov-Smirnov distance of the standardised feature from a
    Gaussian, with p-values from Efron's empirical null. Higher Criticism says how many are kept.
    The samples are clustered by k-means on the K - 1 leading left singular vectors of the kept
    standardised features. The paper truncates the entries of these vectors for its proofs; the
    authors' programs do not, nor does this one.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    n_init, max_iter, tol, random_state, n_jobs, verbose
        As in `KMeans`.

    Attributes
    ----------
    labels_, cluster_centers_, feature_scores_, n_iter_, search_, n_features_in_, feature_names_in_
        As in `KMeans`; centres and scores are those of all features.
    feature_weights_ : ndarray of shape (n_features,)
        1 for a kept feature, 0 for a dropped one.
    marginal_scores_ : ndarray of shape (n_features,)
        Kolmogorov-Smirnov distances; 0 for a constant feature.
    p_values_ : ndarray of shape (n_features,)
        p-values of these; 1 for a constant feature, which has no part in the threshold.
    objective_ : float
        Between-cluster sum of squares of the singular vectors.

    References
    ----------
    .. [1] J. Jin and W. Wang (2016). Influential features PCA for high dimensional clustering.
       Annals of Statistics 44(6), 2323-2359. https://doi.org/10.1214/15-AOS1423

    Examples
    --------
    >>> import numpy as np
    >>> from sparsekm import IFPCA
    >>> X = np.random.default_rng(0).standard_normal((60, 200))
    >>> X[:30, :10] += 5.0
    >>> IFPCA(2, random_state=0).fit(X).labels_.tolist() == [0] * 30 + [1] * 30
    True
    """

    def _choose_features(self, matrix: MatrixInMemory, deviations: np.ndarray):
        block = matrix.block
        rows = block.rows if isinstance(block, SparseBlock) else block.T
        scores = marginal_scores(rows, n_jobs=self.n_jobs)
        p_values = marginal_p_values(scores, matrix.n_samples)
        varying = np.flatnonzero(deviations)
        compared = p_values[varying]
        count = higher_criticism_threshold(compared, matrix.n_samples)
        kept = varying[compared <= np.sort(compared)[count - 1]]
        return kept, {"marginal_scores_": scores, "p_values_": p_values}

    def _count_vectors(self) -> int:
        return max(1, int(self.n_clusters) - 1)
