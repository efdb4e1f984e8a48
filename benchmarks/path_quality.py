"""The path at atlas size against long independent fits of every sparsity."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.many_samples import N_CLUSTERS, N_SPARSITIES, SEED, simulate
from sparsekm import L0KMeans
from sparsekm.tuning.grid import default_sparsities

RIVALS = 3


def benchmark(n_samples: int = 28_455, n_features: int = 1_724) -> pd.DataFrame:
    """Compare objectives: the path's, and the best of three fits that each run to their end."""
    X = simulate(n_samples, n_features)
    grid = default_sparsities("l0", n_features, N_SPARSITIES)
    path = L0KMeans(N_CLUSTERS, random_state=SEED, n_jobs=-1).path(X, grid)
    rows = []
    for sparsity, objective in zip(grid, path.objectives, strict=True):
        rivals = [
            L0KMeans(N_CLUSTERS, sparsity=sparsity, random_state=100 + r, n_jobs=-1)
            .fit(X)
            .objective_
            for r in range(RIVALS)
        ]
        rows.append((int(sparsity), objective, max(rivals), objective / max(rivals) - 1))
    columns = ["sparsity", "path", "best_of_three", "relative_difference"]
    return pd.DataFrame(rows, columns=columns).astype({"path": np.float64})
