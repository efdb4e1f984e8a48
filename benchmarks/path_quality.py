"""The path at atlas size against the paper's algorithm, run long and alone at every sparsity."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.many_samples import N_CLUSTERS, N_SPARSITIES, SEED, simulate
from sparsekm import L0KMeans
from sparsekm.cluster.alternation import alternate
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.tuning.grid import default_sparsities

RIVALS = 3


def benchmark(n_samples: int = 28_455, n_features: int = 1_724) -> pd.DataFrame:
    """Compare objectives: the path's, and the best of three runs of Algorithm 1 of the paper.

    Each of these starts with a k-means on all features and starts another one in every round, until
    the weights have settled or after 20 rounds.
    """
    X = simulate(n_samples, n_features)
    grid = default_sparsities("l0", n_features, N_SPARSITIES)
    path = L0KMeans(N_CLUSTERS, random_state=SEED, n_jobs=-1).path(X, grid)
    matrix, partition = CentredMatrix(X), KMeansPartition(N_CLUSTERS, n_threads=2)
    rows = []
    for sparsity, objective in zip(grid, path.objectives, strict=True):
        rivals = [
            alternate(
                matrix,
                partition,
                TopFeatures(int(sparsity)),
                n_features,
                rng=np.random.default_rng(100 + r),
            ).objective
            for r in range(RIVALS)
        ]
        rows.append((int(sparsity), objective, max(rivals), objective / max(rivals) - 1))
    columns = ["sparsity", "path", "best_of_three", "relative_difference"]
    return pd.DataFrame(rows, columns=columns).astype({"path": np.float64})
