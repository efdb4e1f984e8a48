"""Search along the path of many samples.

A first pass goes from the largest sparsity down, then sweeps go up and down by turns, in which
every sparsity also starts from its neighbour's partition: what a partition has learnt of few
features helps at more of them, and the other way round. At a few sparsities of each sweep whole
clusters are moved too, and a fresh start on other features goes beside.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsekm.cluster.alternation import (
    Fit,
    alternate,
    settle,
    weigh_partition,
    weigh_scores,
)
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.partition_sharing import best_fit, best_weighed, share_partitions
from sparsekm.cluster.racing import race_starts
from sparsekm.cluster.subspace_moves import regroup, start_elsewhere
from sparsekm.cluster.threads import run_in_slices

# A round that gains no more than this share of the objective ends a fit of a path: one of a sweep,
# and one of the first pass. References are passed down in the same way and have no sweeps.
SMALL_GAIN = 3e-5
FIRST_GAIN = 1e-4
# A fresh start farther below the fit beside it, as a share of its objective, seldom catches up.
PROMISING = 0.02
# Sparsities of a sweep where more is tried than a neighbour's partition.
SEARCHES = 8


def search_along(X, partition, weight_steps, effort, seeds, progress):
    """Pass down the path and sweep it; return the fits, and those of the first pass."""
    n_sweeps = effort.n_sweeps if len(weight_steps) > 1 else 0
    report = _count_calls(progress, len(weight_steps) + n_sweeps * (len(weight_steps) - 1))
    # A single sparsity has but its first pass.
    gain = FIRST_GAIN if len(weight_steps) > 1 else SMALL_GAIN
    rough = replace(partition, roughness=gain)
    labels = find_start(X, rough, effort.n_init, seeds)
    fits = _pass_down(X, rough, weight_steps, effort, labels, report, gain)
    first = [best_weighed(step, fits, i) for i, step in enumerate(weight_steps)]
    if n_sweeps == 0 and len(weight_steps) > 1:
        return first, first
    draws = [np.random.default_rng(seed) for seed in seeds.spawn(n_sweeps)]
    fits = _sweep(X, partition, weight_steps, first, effort, draws, report)
    # Rough fits are good enough to search with; what is handed out is settled to the end.
    pairs = zip(weight_steps, fits, strict=True)
    fits = [settle(X, partition.exact, weight_step, fit) for weight_step, fit in pairs]
    return share_partitions(X, partition.exact, weight_steps, fits), first


def find_start(X, partition, n_init: int, seeds) -> np.ndarray:
    """Return a partition by all features.

    With many samples a restart of everything costs far more than it gains: the starts race in the
    first k-means, and the winner alone is carried on.
    """
    axes_seed = seeds.spawn(1)[0]
    starts = [np.random.default_rng(seed) for seed in seeds.spawn(n_init)]
    return race_starts(X, partition, np.random.default_rng(axes_seed), starts)


def _pass_down(X, partition, weight_steps, effort, labels, report, gain):
    """Run Algorithm 1 from the largest sparsity down, each from the last one's end."""
    fits: list[Fit] = []
    for weight_step in reversed(weight_steps):
        if not fits:
            start = weigh_partition(X, partition, weight_step, labels)
        else:
            start = weigh_scores(weight_step, fits[-1].labels, fits[-1].scores)
        if fits and np.array_equal(start.weights, fits[-1].weights):
            fits.append(fits[-1])
        else:
            fits.append(_settle_roughly(X, partition, weight_step, effort, start, gain))
        report()
    return fits[::-1]


def _sweep(X, partition, weight_steps, fits, effort, draws, report) -> list[Fit]:
    """Start every sparsity from its neighbour's partition: up the path, down, and so on.

    At `SEARCHES` of them, drawn at random, whole clusters are moved too, and a fresh start is made:
    what is found there is carried along the path, so that more sparsities do not need more of it.
    Every sweep has a generator of its own in `draws`: further sweeps leave the first ones as they
    are.
    """
    fits = list(fits)
    m = len(weight_steps)
    # The neighbours a sparsity has started from: holding them, no other fit has their identity.
    tried: dict[tuple[int, int], Fit] = {}
    for sweep, rng in enumerate(draws):
        step = 1 if sweep % 2 == 0 else -1
        places = range(1, m) if step == 1 else range(m - 2, -1, -1)
        searched = set(rng.choice(places, min(SEARCHES, m - 1), replace=False))
        for i in places:
            neighbour = fits[i - step]
            if i in searched:
                found = _advance(X, partition, weight_steps[i], effort, neighbour, rng)
                fits[i] = best_fit([fits[i], found])
            elif (i, id(neighbour)) not in tried:
                found = _carry(X, partition, weight_steps[i], effort, neighbour)
                fits[i] = best_fit([fits[i], found])
            tried[i, id(neighbour)] = neighbour
            report()
    return fits


def _carry(X, partition, weight_step, effort, neighbour) -> Fit:
    """Go on from a neighbour's partition."""
    start = weigh_scores(weight_step, neighbour.labels, neighbour.scores)
    return _settle_roughly(X, partition, weight_step, effort, start)


def _advance(X, partition, weight_step, effort, neighbour, rng) -> Fit:
    """Go on from a neighbour's partition, and from a fresh start beside it.

    Both are brought near an optimum in few dimensions before k-means on the features kept.
    """
    near, elsewhere = _find_candidates(X, partition, weight_step, neighbour, rng)
    carried = _settle_roughly(X, partition, weight_step, effort, near)
    if elsewhere.objective < carried.objective * (1.0 - PROMISING):
        return carried
    fresh = _settle_roughly(X, partition, weight_step, effort, elsewhere)
    return best_fit([carried, fresh])


def _find_candidates(X, partition, weight_step, neighbour, rng) -> list[Fit]:
    """Regroup a neighbour's partition and a fresh start, side by side."""
    # A k-means in few dimensions is too little to share among threads: each does one of the two.
    alone = replace(partition, n_threads=1)
    generators = rng.spawn(2)
    found = [weigh_scores(weight_step, neighbour.labels, neighbour.scores)] * 2

    def search(first: int, last: int) -> None:
        for i in range(first, last):
            if i > 0:
                found[i] = start_elsewhere(X, alone, weight_step, neighbour.labels, generators[i])
            found[i] = regroup(X, alone, weight_step, found[i], generators[i])

    # Side by side they would hold twice the blocks of a matrix larger than memory.
    n_threads = partition.n_threads if isinstance(X, CentredMatrix) else 1
    run_in_slices(search, len(found), n_threads)
    return found


def _settle_roughly(X, partition, weight_step, effort, start, gain=SMALL_GAIN) -> Fit:
    """Run Algorithm 1 from `start`, without restarts, until a round gains little."""
    return alternate(
        X,
        partition,
        weight_step,
        X.n_features,
        start=start,
        max_iter=effort.max_iter,
        tol=effort.tol,
        restart=False,
        gain=gain,
    )


def _count_calls(progress: Callable[[int, int], None] | None, total: int) -> Callable[[], None]:
    """Give a function that tells `progress` of one more step with each call."""
    done = itertools.count(1)

    def report() -> None:
        if progress is not None:
            progress(next(done), total)

    return report
