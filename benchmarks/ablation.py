"""The search with and without each of its mechanisms and constants, at equal CPU time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from types import FunctionType
from unittest.mock import patch

import numpy as np
import pandas as pd
from numba import njit
from threadpoolctl import threadpool_limits

from benchmarks.measure import measure
from benchmarks.search_designs import DESIGNS
from sparsekm import L0KMeans, classification_error_rate
from sparsekm.cluster import memetic_search, partition_step, path_estimator, weight_step
from sparsekm.cluster.kmeans.few_samples import climb
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.tuning.gap import default_sparsities

N_INIT = 10
# Seeds, and sparsities of the path.
EFFORTS = {
    "60 x 1,000": (10, 10),
    "85 x 456": (4, 10),
    "700 x 765": (3, 10),
    "2,000 x 400": (3, 10),
    "14,185 x 351": (3, 6),
    "28,455 x 1,724, easy": (1, 4),
    "28,455 x 1,724, hard": (1, 4),
}
# CPU times of which one is at most so much larger are equal; so many seeds are run to tell.
ALIKE = 1.12
N_TIMED = 3


def _offer_to_empty_pools(self) -> Iterator[tuple[np.ndarray, int]]:
    for labels, place in offer(self):
        if not self.pools[place].ranked:
            yield labels, place


@njit
def _keep_sizes(packed, labels, n_clusters, min_size, gain):
    return np.bincount(labels, minlength=n_clusters)


def _small_gain(gain: float) -> list[tuple]:
    return [(module, "SMALL_GAIN", gain) for module in (memetic_search, path_estimator)]


offer = memetic_search.Search._offers
_names = climb.py_func.__globals__ | {"merge_and_split": _keep_sizes}
climb_without_merging = njit(nogil=True)(FunctionType(climb.py_func.__code__, _names))

# What is changed in each variant: (object, attribute, value). Those of the second table change
# nothing where all samples are searched at once.
VARIANTS = {
    "no crossing": [(memetic_search, "RESTARTED", 1.0)],
    "no fresh starts": [(memetic_search, "RESTARTED", 0.0)],
    "no random partitions": [(memetic_search, "RANDOM", 0.0)],
    "clusters never merge and split": [(memetic_search, "climb", climb_without_merging)],
    "no partition offered to neighbours": [
        (memetic_search.Search, "_offers", _offer_to_empty_pools)
    ],
    "pools of 3": [(memetic_search, "CAPACITY", 3)],
    "pools of 10": [(memetic_search, "CAPACITY", 10)],
    "10 generations": [(memetic_search, "GENERATIONS", 10)],
    "40 generations": [(memetic_search, "GENERATIONS", 40)],
    "small gains of 1e-4": _small_gain(1e-4),
    "small gains of 1e-3": _small_gain(1e-3),
}
FOR_SAMPLES = {
    "no denser sparsities": [(TopFeatures, "denser", lambda step, n_features: [])],
    "denser by 9": [(weight_step, "STRIDE", 9)],
    "samples of 1,024": [(partition_step, "SEEDING_SAMPLE", 1024)],
    "samples of 4,096": [(partition_step, "SEEDING_SAMPLE", 4096)],
}


@threadpool_limits.wrap(limits=1)
def benchmark(names: tuple[str, ...] = tuple(DESIGNS)) -> pd.DataFrame:
    """Compare objectives (mean over the path, in per cent of the whole search's) and CER.

    A variant of another CPU time is run again with as much more or less `n_init`. Errors are
    standard errors over seeds.
    """
    rows = []
    for name in names:
        n_seeds, n_sparsities = EFFORTS[name]
        data = [DESIGNS[name].draw(seed) for seed in range(n_seeds)]
        n_samples, n_features = data[0][0].shape
        many = n_samples > partition_step.SEEDING_SAMPLE
        # Of many samples a path that ends at half of the grid, so that denser sparsities help.
        grid = default_sparsities("l0", n_features, n_sparsities * (1 + many))[:n_sparsities]
        run = partial(_run, data, grid, DESIGNS[name].n_clusters)
        _compile(data[0], grid, DESIGNS[name].n_clusters, many)
        whole = run([], N_INIT, n_seeds)
        for variant, changes in (VARIANTS | FOR_SAMPLES if many else VARIANTS).items():
            n_init, found = N_INIT, run(changes, N_INIT, min(N_TIMED, n_seeds))
            ratio = whole.cpu[: len(found)].sum() / found.cpu.sum()
            if max(ratio, 1 / ratio) > ALIKE:
                n_init = max(1, round(N_INIT * ratio))
            if n_init != N_INIT or len(found) < n_seeds:
                found = run(changes, n_init, n_seeds)
            gains = found.objectives / whole.objectives - 1
            objective = 100 * gains.map(np.mean)
            cer = found.cer - whole.cer
            rows.append(
                {
                    "design": name,
                    "variant": variant,
                    "objective": objective.mean(),
                    "objective_error": objective.sem(),
                    "lowest": 100 * np.mean(list(gains), axis=0).min(),
                    "cer": cer.mean(),
                    "cer_error": cer.sem(),
                    "n_init": n_init,
                    "cpu": found.cpu.mean(),
                    "cpu_whole": whole.cpu.mean(),
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def _compile(data, grid, n_clusters, many) -> None:
    few = slice(2 * partition_step.SEEDING_SAMPLE + 500 if many else 200)
    X, labels = data[0][few], data[1][few]
    for changes in ([], VARIANTS["clusters never merge and split"]):
        _run([(X, labels)], grid, n_clusters, changes, 1, 1)


def _run(data, grid, n_clusters, changes, n_init, n_seeds) -> pd.DataFrame:
    """Run the path on the data of each seed; return objectives, mean CER and CPU seconds."""
    rows = []
    with ExitStack() as stack:
        for target, attribute, value in changes:
            stack.enter_context(patch.object(target, attribute, value))
        for seed, (X, labels) in enumerate(data[:n_seeds]):
            estimator = L0KMeans(n_clusters, n_init=n_init, random_state=seed, n_jobs=1)
            measured = measure(partial(estimator.path, X, grid))
            errors = [classification_error_rate(labels, found) for found in measured.result.labels]
            rows.append((measured.result.objectives, np.mean(errors), measured.cpu))
    return pd.DataFrame(rows, columns=["objectives", "cer", "cpu"])
