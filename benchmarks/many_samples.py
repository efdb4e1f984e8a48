"""A matrix of the size of an atlas age: a tuned l0 path against scikit-learn's k-means."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans as ScikitKMeans

from benchmarks.measure import measure
from sparsekm import GapSearch, L0KMeans, L1KMeans
from sparsekm.tuning.gap import default_sparsities

N_CLUSTERS, N_SPARSITIES, N_REFERENCES, SEED = 19, 15, 10, 1


def simulate(n_samples: int, n_features: int, n_clusters: int = N_CLUSTERS, *, with_labels=False):
    """Draw unequal clusters with a quarter of the features marking some of them, float32."""
    rng = np.random.default_rng(SEED)
    shares = rng.dirichlet(np.full(n_clusters, 2.0))
    labels = rng.choice(n_clusters, n_samples, p=shares)
    X = rng.standard_normal((n_samples, n_features), dtype=np.float32)
    means = np.zeros((n_clusters, n_features), np.float32)
    marks = rng.random((n_clusters, n_features // 4)) < 0.2
    means[:, : n_features // 4] = 1.5 * marks
    # Modules of correlated features that have nothing to do with the clusters.
    loadings = rng.standard_normal((5, n_features), dtype=np.float32) * 0.4
    X += means[labels] + rng.standard_normal((n_samples, 5), dtype=np.float32) @ loadings
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)
    return (X, labels) if with_labels else X


def benchmark(n_samples: int = 28_455, n_features: int = 1_724) -> pd.DataFrame:
    """Measure wall seconds on all cores, and peak memory beside the matrix itself."""
    X = simulate(n_samples, n_features)
    few = np.ascontiguousarray(X[:2000])
    tuning = {"n_references": N_REFERENCES, "n_jobs": -1, "random_state": SEED}
    rival = ScikitKMeans(N_CLUSTERS, n_init=10, random_state=0)
    calls = {"scikit-learn KMeans(n_init=10)": partial(rival.fit, X)}
    for penalty, estimator in (("l0", L0KMeans(N_CLUSTERS)), ("l1", L1KMeans(N_CLUSTERS))):
        grid = default_sparsities(penalty, n_features, N_SPARSITIES)
        name = type(estimator).__name__
        # The first call only compiles.
        estimator.path(few, grid)
        estimator.set_params(n_jobs=-1, random_state=SEED)
        calls[f"{name}.path, {N_SPARSITIES} sparsities"] = partial(estimator.path, X, grid)
        search = GapSearch(type(estimator)(N_CLUSTERS), sparsities=grid, **tuning)
        calls[f"GapSearch({name}), {N_SPARSITIES} x {N_REFERENCES}"] = partial(search.fit, X)
    rows = []
    for name, call in calls.items():
        measured = measure(call)
        found = (measured.wall, measured.cpu, measured.memory, measured.peak)
        rows.append((n_samples, n_features, name, *found))
        print(rows[-1], flush=True)
    columns = ["n_samples", "n_features", "fit", "wall", "cpu", "memory_mb", "peak_mb"]
    table = pd.DataFrame(rows, columns=columns)
    table.insert(4, "ratio", table["wall"] / table["wall"].iloc[0])
    return table
