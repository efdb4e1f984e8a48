"""Whether references need as many starts as the data: paths of references with one and with ten."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.many_samples import N_CLUSTERS, simulate
from sparsekm import L0KMeans
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.tuning.grid import default_sparsities
from sparsekm.tuning.references import permuted_reference

N_REFERENCES, N_SPARSITIES, SEEDS = 4, 10, (1, 2)


@threadpool_limits.wrap(limits=1)
def benchmark(n_samples: int = 8_000, n_features: int = 1_724) -> pd.DataFrame:
    """Compare mean log objectives, and CPU seconds on one thread."""
    X = simulate(n_samples, n_features)
    grid = default_sparsities("l0", n_features, N_SPARSITIES)
    # The first path only compiles.
    L0KMeans(N_CLUSTERS, n_init=1, n_sweeps=0).path(X[:2000], grid[:1])
    logs: dict[int, list[np.ndarray]] = {1: [], 10: []}
    seconds = dict.fromkeys(logs, 0.0)
    for index in range(N_REFERENCES):
        matrix = CentredMatrix(permuted_reference(X, index=index, seed=0), copy=False)
        for seed in SEEDS:
            for n_init in logs:
                began = time.process_time()
                estimator = L0KMeans(N_CLUSTERS, n_init=n_init, n_sweeps=0, random_state=seed)
                path = estimator.path(matrix, grid)
                seconds[n_init] += time.process_time() - began
                logs[n_init].append(np.log(path.objectives))
    one, ten = np.array(logs[1]), np.array(logs[10])
    return pd.DataFrame(
        {
            "sparsity": grid,
            "one_less_ten": (one - ten).mean(axis=0),
            "se": (one - ten).std(axis=0, ddof=1) / np.sqrt(len(one)),
            "sd_ten": ten.std(axis=0, ddof=1),
            "cpu_one": seconds[1] / len(one),
            "cpu_ten": seconds[10] / len(ten),
        }
    )
