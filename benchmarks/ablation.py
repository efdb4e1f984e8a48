"""The search with and without each of its mechanisms and constants, at equal CPU time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from unittest.mock import patch

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.measure import measure
from benchmarks.search_designs import DESIGNS
from sparsekm import L0KMeans, classification_error_rate
from sparsekm.cluster import partition_step, path
from sparsekm.cluster.search import generations as search
from sparsekm.cluster.search import local_search
from sparsekm.tuning.grid import default_sparsities

N_INIT, SEEDS = 10, 3
# CPU times of which one is at most so much larger are equal.
ALIKE = 1.15


def _copy_mother(mother, father, n_clusters, mutation, draws, child) -> None:
    search_cross(mother, mother, n_clusters, mutation, draws, child)


def _offer_to_empty_pools(self) -> Iterator[tuple[np.ndarray, int]]:
    for labels, place in search_offers(self):
        if not len(self.pools[place]):
            yield labels, place


def _one_sample(n_samples: int, smallest: int) -> list[int]:
    return [size for size in (smallest,) if size < n_samples] + [n_samples]


search_cross, search_offers = search.cross, search.Search._offers

# What is changed in each variant: (object, attribute, value). Those of the second table act on
# many samples alone or cost little there, and are tried at the size of an atlas too.
FEW = {
    "no crossing": [(search, "cross", _copy_mother)],
    "no children relabelled at random": [(search, "MUTATION", 0.0)],
    "starts on all features": [(local_search, "NEIGHBOURHOOD", 10**6)],
    "starts on 5 features": [(local_search, "NEIGHBOURHOOD", 5)],
    "starts 5 % of the climbs": [(search, "START_SHARE", 0.05)],
    "starts 40 % of the climbs": [(search, "START_SHARE", 0.4)],
    "pools of 3": [(search, "CAPACITY", 3)],
    "pools of 30": [(search, "CAPACITY", 30)],
    "10 generations": [(search, "GENERATIONS", 10)],
    "40 generations": [(search, "GENERATIONS", 40)],
}
MANY = {
    "as it is": [],
    "clusters never merge and split": [(local_search, "REGROUPING_GAIN", np.inf)],
    "no fresh starts on other features": [(search, "RESTARTED", 0.0)],
    "twice as many fresh starts": [(search, "RESTARTED", 0.6)],
    "no second sample": [(path, "_sample_sizes", _one_sample)],
    "one partition handed on": [(path, "HANDED_ON", 1)],
    "a third of the climbs on larger samples": [(search, "LATER_SHARE", 0.05)],
    "no partition offered to neighbours": [(search.Search, "_offers", _offer_to_empty_pools)],
    "climbs to the end": [(local_search, "CLIMB_GAIN", 0.0)],
    "samples of 1,024": [(partition_step, "SEEDING_SAMPLE", 1024)],
    "samples of 4,096": [(partition_step, "SEEDING_SAMPLE", 4096)],
}
# Those that change nothing where all samples are searched at once.
FOR_SAMPLES = {
    "no second sample",
    "one partition handed on",
    "a third of the climbs on larger samples",
    "samples of 1,024",
    "samples of 4,096",
}


@threadpool_limits.wrap(limits=1)
def benchmark(names: tuple[str, ...] = tuple(DESIGNS), seeds: int = SEEDS) -> pd.DataFrame:
    """Compare objectives (mean over the path, in per cent of the whole search's) and CER.

    A variant of another CPU time is run again with as much more or less `n_init`.
    """
    rows = []
    for name in names:
        atlas = name.startswith("28,455")
        variants = MANY if atlas else MANY | FEW
        if DESIGNS[name].draw(0)[0].shape[0] <= partition_step.SEEDING_SAMPLE:
            variants = {key: variants[key] for key in variants if key not in FOR_SAMPLES}
        for seed in range(1 if atlas else seeds):
            X, labels = DESIGNS[name].draw(seed)
            _run(X[:200], labels[:200], DESIGNS[name], seed, [], 1)
            reached, cpu, error = _run(X, labels, DESIGNS[name], seed, [], N_INIT)
            for variant, changes in variants.items():
                found = reached, cpu, error
                if changes:
                    found = _run_as_long(X, labels, DESIGNS[name], seed, changes, cpu)
                gain = 100 * float(np.mean(found[0] / reached - 1))
                rows.append((name, seed, variant, gain, found[2] - error, found[1]))
                print(rows[-1], flush=True)
    table = pd.DataFrame(rows, columns=["design", "seed", "variant", "objective", "cer", "cpu"])
    return (
        table.groupby(["variant", "design"], sort=False).mean().drop(columns="seed").reset_index()
    )


def _run_as_long(X, labels, design, seed, changes, cpu):
    """Run a variant for about `cpu` seconds."""
    found = _run(X, labels, design, seed, changes, N_INIT)
    ratio = cpu / found[1]
    if max(ratio, 1 / ratio) > ALIKE:
        found = _run(X, labels, design, seed, changes, max(1, round(N_INIT * ratio)))
    return found


def _run(X, labels, design, seed, changes, n_init):
    grid = default_sparsities("l0", X.shape[1], design.n_sparsities)
    estimator = L0KMeans(design.n_clusters, n_init=n_init, random_state=seed, n_jobs=1)
    with ExitStack() as stack:
        for target, attribute, value in changes:
            stack.enter_context(patch.object(target, attribute, value))
        measured = measure(partial(estimator.path, X, grid))
    errors = [classification_error_rate(labels, found) for found in measured.result.labels]
    return measured.result.objectives, measured.cpu, float(np.mean(errors))
