"""Which features random maps of the tissue would keep: a null that keeps their autocorrelation.

Genes of one category are often patterned alike in space, and then many categories are
over-represented among the genes that follow any smooth map, whatever it shows [1]_. A random map
has as many clusters as the one found, each of the samples nearest to one of some random samples; as
many features are kept, those of the highest score under the map.

References
----------
.. [1] B. D. Fulcher, A. Arnatkeviciute, A. Fornito (2021). doi:10.1038/s41467-021-22862-1
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.pipeline.seeds import derive_seed

N_MAPS = 199


def random_map(positions: np.ndarray, n_clusters: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a partition of n samples, int32, into compact clusters; no cluster is empty."""
    seeds = rng.choice(len(positions), n_clusters, replace=False)
    labels = cKDTree(positions[seeds]).query(positions)[1].astype(np.int32)
    # Samples at one place could leave a later seed without any.
    labels[seeds] = np.arange(n_clusters, dtype=np.int32)
    return labels


def keep_by_chance(
    X: np.ndarray,
    positions: np.ndarray,
    n_clusters: int,
    n_kept: int,
    *,
    seed: int,
    n_maps: int = N_MAPS,
) -> np.ndarray:
    """Say of each random map which features it keeps, a mask of shape (n_maps, n_features)."""
    matrix = as_matrix(X)
    keep = TopFeatures(float(n_kept))
    kept = np.zeros((n_maps, X.shape[1]), dtype=bool)
    for number in range(n_maps):
        rng = np.random.default_rng(derive_seed(seed, "map", number))
        labels = random_map(positions, n_clusters, rng)
        kept[number] = keep.weigh(feature_scores(matrix, labels, n_clusters)) > 0
    return kept
