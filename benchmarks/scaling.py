"""How the cost of a path grows with samples, features and sparsities."""

from __future__ import annotations

from functools import partial

import pandas as pd
from sklearn.cluster import KMeans as ScikitKMeans

from benchmarks.many_samples import simulate
from benchmarks.measure import measure, one_thread
from sparsekm import L0KMeans, L1KMeans
from sparsekm.tuning.grid import default_sparsities

N_CLUSTERS, SEED = 10, 1
BASE = {"n_samples": 8_000, "n_features": 400, "n_sparsities": 10}
SERIES = {
    "n_samples": [2_000, 4_000, 8_000, 16_000, 32_000],
    "n_features": [100, 200, 400, 800, 1_600],
    "n_sparsities": [1, 5, 10, 20, 40],
}


@one_thread()
def benchmark() -> pd.DataFrame:
    """Measure CPU seconds of paths on one thread, one dimension varied at a time."""
    rows = []
    for varied, values in SERIES.items():
        for value in values:
            setting = BASE | {varied: value}
            X = simulate(setting["n_samples"], setting["n_features"], N_CLUSTERS)
            rival = ScikitKMeans(N_CLUSTERS, n_init=10, random_state=SEED)
            calls = {"scikit-learn KMeans(n_init=10)": partial(rival.fit, X)}
            for penalty, estimator in (("l0", L0KMeans), ("l1", L1KMeans)):
                grid = default_sparsities(penalty, setting["n_features"], 40)
                # Fewer sparsities are a part of the longest grid, always with its last.
                step = 40 // setting["n_sparsities"]
                path = estimator(N_CLUSTERS, random_state=SEED).path
                calls[f"{estimator.__name__}.path"] = partial(path, X, grid[::-1][::step][::-1])
            for name, call in calls.items():
                rows.append((varied, value, name, measure(call).cpu))
    return pd.DataFrame(rows, columns=["varied", "value", "fit", "cpu"])
