"""What a smallest cluster size does to the optimum on real, correlated data.

Needs the real data of the tests: see `SPARSEKM_TEST_DATA` in the README.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.search_designs import read_real
from sparsekm import L0KMeans, classification_error_rate

SIZES = [1, 2, 3, 5, 8]
SEEDS = range(4)
SPARSITIES = [5, 10, 20, 50, 100, 200, 456]


def benchmark() -> pd.DataFrame:
    """Fit the path on the Sorlie data (85 tumours x 456 genes, 5 classes) under each guard."""
    X, labels = read_real("sorlie_85x456")
    X = X.astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    rows = []
    for size in SIZES:
        for seed in SEEDS:
            estimator = L0KMeans(
                5, min_cluster_size=size, search="global", n_init=30, random_state=seed
            )
            path = estimator.path(X, SPARSITIES)
            for s, objective, found in zip(SPARSITIES, path.objectives, path.labels, strict=True):
                error = classification_error_rate(labels, found)
                rows.append((size, s, objective, error, np.bincount(found).min()))
    columns = ["min_cluster_size", "sparsity", "objective", "cer", "smallest"]
    table = pd.DataFrame(rows, columns=columns)
    by_setting = table.groupby(["min_cluster_size", "sparsity"])
    # The best optimum that any seed found, and the mean error over the seeds.
    return by_setting.agg({"objective": "max", "cer": "mean", "smallest": "min"}).reset_index()
