"""The features whose means differ between clusters."""

from __future__ import annotations

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control

from sparsekm.cluster.matrices.scatter import MatrixInMemory

# Share of features without any difference between the clusters among those that are counted.
FALSE_DISCOVERIES = 0.1
# Of many samples every difference is beyond chance: one that counts explains at least this share of
# a feature's variance, a medium effect by the convention of Cohen (1988), f = .25.
MEDIUM_EFFECT = 0.25**2 / (1 + 0.25**2)


def count_differing(matrix: MatrixInMemory, labels: np.ndarray, between: np.ndarray) -> int:
    """Count the features, at least 1, whose means differ clearly between clusters.

    `between` (n_features,) are the scores a_j of the labels. This describes the clusters and tests
    nothing: the data that made them are used again. A one-way analysis of variance of each feature
    at a false discovery rate of 10 % gives the threshold (Benjamini & Hochberg 1995,
    doi:10.1111/j.2517-6161.1995.tb02031.x). The clusters must also explain at least 5.9 % of the
    feature's variance.
    """
    n_samples, n_clusters = len(labels), int(labels.max()) + 1
    if n_clusters < 2 or n_samples <= n_clusters:
        return len(between)
    total = matrix.squares
    within = np.maximum(total - between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (between / (n_clusters - 1)) / (within / (n_samples - n_clusters))
    p_values = fisher.sf(
        np.nan_to_num(ratio, nan=0.0, posinf=np.inf), n_clusters - 1, n_samples - n_clusters
    )
    found = false_discovery_control(p_values) <= FALSE_DISCOVERIES
    found &= between >= MEDIUM_EFFECT * total
    return max(1, int(np.count_nonzero(found)))
