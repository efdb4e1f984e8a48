"""Search along the path of many samples.

A first pass goes from the largest sparsity down, then sweeps go up and down by turns, in which
every sparsity also starts from its neighbour's partition: what a partition has learnt of few
features helps at more of them, and the other way round. Where that ends, and where a fresh start
on the features kept does, clusters are merged and split.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsekm.cluster.alternation import Fit, alternate
from sparsekm.cluster.merge_and_split import merge_and_split
from sparsekm.cluster.partition_sharing import best_fit, best_weighed, share_partitions
from sparsekm.cluster.principal_subspace import reduce_features
from sparsekm.cluster.racing import race_starts
from sparsekm.cluster.threads import run_in_slices

# A round that gains no more than this share of the objective ends a fit of a path.
SMALL_GAIN = 3e-5


def search_along(X, partition, weight_steps, effort, seeds, labels, progress):
    """Pass down the path and sweep it; return the fits, and those of the first pass."""
    n_sweeps = effort.n_sweeps if len(weight_steps) > 1 else 0
    report = _count_calls(progress, len(weight_steps) + n_sweeps * (len(weight_steps) - 1))
    if labels is None:
        labels = _find_start(X, partition, effort, seeds)
    fits = _pass_down(X, partition, weight_steps, effort, labels, report)
    first = [best_weighed(step, fits, i) for i, step in enumerate(weight_steps)]
    if n_sweeps == 0:
        return first, first
    draws = [np.random.default_rng(seed) for seed in seeds.spawn(n_sweeps)]
    fits = _sweep(X, partition, weight_steps, first, effort, draws, report)
    return share_partitions(X, partition, weight_steps, fits, SMALL_GAIN), first


def _find_start(X, partition, effort, seeds) -> np.ndarray:
    """Return a partition by all features.

    With many samples a restart of everything costs far more than it gains: the starts race in the
    first k-means, and the winner alone is carried on.
    """
    axes_seed = seeds.spawn(1)[0]
    starts = [np.random.default_rng(seed) for seed in seeds.spawn(effort.n_init)]
    return race_starts(X, partition, np.random.default_rng(axes_seed), starts)


def _pass_down(X, partition, weight_steps, effort, labels, report):
    """Run Algorithm 1 from the largest sparsity down, each from the last one's end."""
    fits: list[Fit] = []
    for weight_step in reversed(weight_steps):
        if not fits:
            fits.append(_settle_roughly(X, partition, weight_step, effort, labels))
        else:
            fits.append(_carry_on(X, partition, weight_step, effort, fits[-1]))
        report()
    return fits[::-1]


def _sweep(X, partition, weight_steps, fits, effort, draws, report) -> list[Fit]:
    """Start every sparsity from its neighbour's partition: up the path, down, and so on.

    Every sweep has a generator of its own in `draws`: further sweeps leave the first ones as they
    are.
    """
    fits = list(fits)
    m = len(weight_steps)
    # The neighbours a sparsity has started from: holding them, no other fit has their identity.
    tried: dict[tuple[int, int], Fit] = {}
    for sweep, rng in enumerate(draws):
        step = 1 if sweep % 2 == 0 else -1
        for i in range(1, m) if step == 1 else range(m - 2, -1, -1):
            neighbour = fits[i - step]
            if (i, id(neighbour)) not in tried:
                tried[i, id(neighbour)] = neighbour
                found = _advance(X, partition, weight_steps[i], effort, neighbour, rng)
                fits[i] = best_fit([fits[i], found])
            report()
    return fits


def _advance(X, partition, weight_step, effort, neighbour, rng) -> Fit:
    """Carry a neighbour's fit on, and from there look for a better one in the principal subspace.

    There clusters are merged and split, those carried on and those of a fresh start.
    """
    carried = _carry_on(X, partition, weight_step, effort, neighbour)
    labels = _better_labels(X, partition, carried, rng)
    return best_fit([carried, _settle_roughly(X, partition, weight_step, effort, labels)])


def _better_labels(X, partition, fit, rng) -> np.ndarray:
    reduced = reduce_features(X, partition, fit.weights, rng)
    # A k-means in few dimensions is too little to share among threads: each does one of the two.
    alone = replace(partition, n_threads=1)
    generators = rng.spawn(2)
    ends = [fit.labels, fit.labels]

    def search(first: int, last: int) -> None:
        for i in range(first, last):
            if i > 0:
                ends[i] = alone.start(reduced, np.ones(reduced.n_features), generators[i])
            ends[i] = merge_and_split(reduced, alone, ends[i], generators[i])

    run_in_slices(search, len(ends), partition.n_threads)
    return max(ends, key=lambda labels: np.sum(partition.scores(reduced, labels)))


def _carry_on(X, partition, weight_step, effort, fit) -> Fit:
    """Start from a neighbour's fit, which stays as it is where the weights stay the same."""
    if np.array_equal(weight_step.weigh(fit.scores), fit.weights):
        return fit
    return _settle_roughly(X, partition, weight_step, effort, fit.labels)


def _settle_roughly(X, partition, weight_step, effort, labels) -> Fit:
    """Run Algorithm 1 from `labels`, without restarts, until a round gains little."""
    return alternate(
        X,
        partition,
        weight_step,
        X.n_features,
        labels=labels,
        max_iter=effort.max_iter,
        tol=effort.tol,
        restart=False,
        gain=SMALL_GAIN,
    )


def _count_calls(progress: Callable[[int, int], None] | None, total: int) -> Callable[[], None]:
    """Give a function that tells `progress` of one more step with each call."""
    done = itertools.count(1)

    def report() -> None:
        if progress is not None:
            progress(next(done), total)

    return report
