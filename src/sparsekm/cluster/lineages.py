"""Search along the path of many samples.

A first pass goes from the largest sparsity down, then sweeps go up and down by turns, in which
every sparsity also starts from its neighbour's partition. What a partition has learnt of few
features helps at more of them, and the other way round. Several lineages do so from different
starts, and the first of them takes up what any has found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from sparsekm.cluster.alternation import Fit, alternate
from sparsekm.cluster.partition_sharing import best_fit, best_weighed, share_partitions
from sparsekm.cluster.racing import race_starts

# How many lineages are swept.
LINEAGES = 3
# A round that gains no more than this share of the objective ends a fit of a path.
SMALL_GAIN = 3e-5


def search_along(X, partition, weight_steps, effort, seeds, labels, progress):
    """Pass down the path and sweep it; return the fits, and those of the first pass."""
    is_swept = effort.n_sweeps > 0 and len(weight_steps) > 1
    n_lineages = LINEAGES if is_swept and labels is None else 1
    report = _count_calls(progress, n_lineages * _count_steps(weight_steps, effort))
    lineages = []
    for start in _find_starts(X, partition, effort, seeds, n_lineages, labels):
        fits = _pass_down(X, partition, weight_steps, effort, start, report)
        lineages.append([best_weighed(step, fits, i) for i, step in enumerate(weight_steps)])
    fits = first = lineages[0]
    if is_swept:
        fits = _sweep(X, partition, weight_steps, lineages, effort, report)
        fits = share_partitions(X, partition, weight_steps, fits, SMALL_GAIN)
    return fits, first


def _find_starts(X, partition, effort, seeds, n_lineages, labels) -> list[np.ndarray]:
    """Return a partition by all features for every lineage, or the given labels.

    With many samples a restart of everything costs far more than it gains: the starts race in the
    first k-means, and the winner alone is carried on.
    """
    if labels is not None:
        return [labels]
    axes_seed = seeds.spawn(1)[0]
    races = [
        [np.random.default_rng(seed) for seed in seeds.spawn(effort.n_init)]
        for _ in range(n_lineages)
    ]
    return race_starts(X, partition, np.random.default_rng(axes_seed), races)


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


def _sweep(X, partition, weight_steps, lineages, effort, report):
    """Start every sparsity from its neighbour's partition: up the path, down, and so on.

    The first lineage starts from the best neighbour in any lineage, the others from their own:
    what one of them finds is carried on, and yet they stay different. Return the best fits.
    """
    lineages = [list(fits) for fits in lineages]
    m = len(weight_steps)
    # What every start led to at a sparsity, and the start, which so keeps its identity.
    known: dict[tuple[int, int], tuple[Fit, Fit]] = {}
    for sweep in range(effort.n_sweeps):
        step = 1 if sweep % 2 == 0 else -1
        for i in range(1, m) if step == 1 else range(m - 2, -1, -1):
            neighbours = [fits[i - step] for fits in lineages]
            neighbours[0] = best_fit(neighbours)
            for fits, neighbour in zip(lineages, neighbours, strict=True):
                if (i, id(neighbour)) not in known:
                    found = _carry_on(X, partition, weight_steps[i], effort, neighbour)
                    known[i, id(neighbour)] = neighbour, found
                fits[i] = best_fit([fits[i], known[i, id(neighbour)][1]])
                report()
    return [best_fit(fits) for fits in zip(*lineages, strict=True)]


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


def _count_steps(weight_steps, effort) -> int:
    """Count the steps of one lineage."""
    m = len(weight_steps)
    return m + (m - 1) * effort.n_sweeps


def _count_calls(progress: Callable[[int, int], None] | None, total: int) -> Callable[[], None]:
    """Give a function that tells `progress` of one more step with each call."""
    done = itertools.count(1)

    def report() -> None:
        if progress is not None:
            progress(next(done), total)

    return report
