"""Labels of all samples from a partition of some."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.kmeans.many_samples import WeightedFeatures, label_samples
from sparsekm.cluster.matrices.dense_parts import feature_means
from sparsekm.cluster.matrices.scatter import cluster_centers


def label_everyone(
    X: np.ndarray | csr_array,
    part: np.ndarray | csr_array,
    labels: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Label all samples by the nearest centre of a partition of `part`, in its kept features.

    `labels` are those of `part`; every label from 0 to the largest occurs.
    """
    features = WeightedFeatures.from_dense(weights)
    kept = part[:, features.support]
    centers = cluster_centers(kept, labels, int(labels.max()) + 1)
    # Centred at the part's own means: distances do not change, and rounding stays small.
    shift = feature_means(kept)
    return label_samples(X, features, shift, (centers - shift).T)
