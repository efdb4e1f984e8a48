"""Experiment 2 (60 x 1,000): the objective reached against the time spent, search by search."""

from __future__ import annotations

from functools import partial

import pandas as pd

from benchmarks.few_samples import N_FEATURES, SEED, SPARSITY
from benchmarks.measure import measure, one_thread
from sparsekm import L0KMeans
from sparsekm.simulation.designs import draw_replicate

REPLICATES = 10
EFFORTS = {"alternate": [1, 3, 10, 30, 100, 300], "global": [1, 3, 10, 30]}


@one_thread()
def benchmark(mu: float = 0.6) -> pd.DataFrame:
    """Average CPU seconds and objectives, relative to the best that any search found."""
    rows = []
    for replicate in range(REPLICATES + 1):
        # The first round only compiles.
        setting = {"n_features": N_FEATURES, "mu": mu}
        X = draw_replicate("experiment_2", setting, root=SEED, replicate=replicate).X
        for search, efforts in EFFORTS.items():
            for n_init in efforts:
                estimator = L0KMeans(
                    3, sparsity=SPARSITY, search=search, n_init=n_init, random_state=replicate
                )
                measured = measure(partial(estimator.fit, X))
                found = (measured.cpu, measured.result.objective_)
                rows.append((replicate, search, n_init, *found))
    table = pd.DataFrame(rows, columns=["replicate", "search", "n_init", "cpu", "objective"])
    table = table[table["replicate"] > 0]
    best = table.groupby("replicate")["objective"].transform("max")
    table["shortfall"] = 1 - table["objective"] / best
    means = table.groupby(["search", "n_init"])[["cpu", "shortfall"]].mean()
    means["shortfall_se"] = table.groupby(["search", "n_init"])["shortfall"].sem()
    return means.reset_index()
