"""All sparsities of a path in one call.

Neighbouring sparsities have similar optima, so each fit is a start for the others. At the end
every partition found anywhere is tried at every sparsity: along a path the best objective never
falls with the sparsity, and no fit could be bettered by another fit's labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparsekm.cluster.alternation import (
    Fit,
    alternate,
    refine_until_fixed_point,
    weigh_partition,
)
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.partition_step import KMeansPartition, draw_samples
from sparsekm.cluster.search.generations import HANDED_ON, Search
from sparsekm.cluster.search.local_search import BatchClimb, ExchangeClimb
from sparsekm.cluster.search.restarts import best_fit, restart_everywhere, share_partitions
from sparsekm.cluster.search.starts import Start
from sparsekm.cluster.weight_step import WeightStep

Progress = Callable[[int, int], None]

# Of many samples, so many times the smallest sample are searched before all are.
GROWTH = 2


@dataclass(frozen=True)
class SearchEffort:
    """How hard to search.

    Attributes
    ----------
    n_init : int
        Restarts of the alternation; the climbs of the search in proportion.
    max_iter : int
        Rounds of one alternation; generations of the search.
    tol : float
        Relative change of the weights that ends an alternation.
    """

    n_init: int
    max_iter: int
    tol: float


def fit_path(
    X: Matrix,
    partition: KMeansPartition,
    weight_steps: Sequence[WeightStep],
    *,
    search: str,
    effort: SearchEffort,
    seeds: np.random.SeedSequence,
    start: Start | None = None,
    progress: Progress | None = None,
    objectives_only: bool = False,
) -> tuple[list[Fit], np.ndarray]:
    """Fit every weight step of a path, in ascending order of sparsity.

    From a `start` the alternation runs without restarts, at every sparsity, and from nothing else;
    the global search takes it in among its own starts. Returns the fits, none with
    `objectives_only`, and the first objectives: what the search came to at its stated effort, on a
    sample where there are many samples.
    """
    exact = partition.exact
    if search == "global":
        labels = None if start is None else start.propose(X, exact, weight_steps[-1])[0]
        return _search(X, partition, weight_steps, effort, seeds, labels, progress, objectives_only)
    if start is not None:
        fits = _alternate_from(X, exact, weight_steps, effort, start, progress)
    else:
        fits = restart_everywhere(
            X,
            exact,
            weight_steps,
            X.n_features,
            [np.random.default_rng(seed) for seed in seeds.spawn(effort.n_init)],
            max_iter=effort.max_iter,
            tol=effort.tol,
            progress=progress,
        )
    fits = share_partitions(X, exact, weight_steps, fits)
    return fits, np.array([fit.objective for fit in fits])


def _alternate_from(X, partition, weight_steps, effort, start, progress):
    """Run Algorithm 1 at every sparsity from what a start proposes there, and from nothing else."""
    fits = []
    for done, weight_step in enumerate(weight_steps, start=1):
        tried = [
            alternate(
                X,
                partition,
                weight_step,
                X.n_features,
                start=weigh_partition(X, partition, weight_step, labels),
                max_iter=effort.max_iter,
                tol=effort.tol,
                restart=False,
            )
            for labels in start.propose(X, partition, weight_step)
        ]
        fits.append(best_fit(tried))
        if progress is not None:
            progress(done, len(weight_steps))
    return fits


def _search(X, partition, weight_steps, effort, seeds, labels, progress, objectives_only):
    """Search on a sample, or on all samples where they are few, and go on with all."""
    sizes = _sample_sizes(X.n_samples, partition.sample_size)
    many = len(sizes) > 1
    report = _count_generations(progress, effort.max_iter * len(sizes))
    most_exchanged = GROWTH * partition.sample_size
    n_iter, search, sample = 0, None, None
    for size, seed in zip(sizes, seeds.spawn(len(sizes)), strict=True):
        rng = np.random.default_rng(seed)
        chosen = draw_samples(X, rng, size)
        larger = X if size > most_exchanged else X.take(chosen)
        # All samples hold the guard; a share of them holds its share of it.
        step = replace(partition, min_size=max(1, partition.min_size * size // X.n_samples))
        first, handed_on = search is None, []
        if not first:
            # Climbing from several costs most on all samples.
            ranks = range(1 if larger is X else HANDED_ON)
            handed_on = [
                _extend_pools(search, sample, larger, step, len(weight_steps), rank)
                for rank in ranks
            ]
        # The search on the smallest sample, the cheapest, goes beyond the sparsities asked for.
        denser = weight_steps[-1].denser(X.n_features) if first and many else []
        climber = (BatchClimb if larger is X else ExchangeClimb)(
            larger, step, [*weight_steps, *denser]
        )
        # The sample before, and all that was kept of it, go.
        search, sample = Search(climber, effort.n_init, rng, first=first), larger
        if first:
            search.start()
        for starts, places in handed_on:
            search.climb(starts, places)
        if labels is not None:
            search.climb_everywhere(labels[chosen])
        n_iter += search.evolve(effort.max_iter, report)
        if first:
            reached = np.maximum.accumulate(search.best_objectives[: len(weight_steps)])
            if many and objectives_only:
                return [], reached
    if isinstance(search.climber, BatchClimb):
        fits = [search.climber.fit(best, i, n_iter) for i, best in enumerate(search.best)]
    else:
        pairs = zip(weight_steps, search.best, strict=True)
        fits = [weigh_partition(X, partition, *pair, n_iter) for pair in pairs]
    pairs = zip(weight_steps, fits, strict=True)
    fits = [
        refine_until_fixed_point(X, partition.exact, weight_step, fit) for weight_step, fit in pairs
    ]
    fits = [
        replace(fit, converged=fit.converged and bool(ended))
        for fit, ended in zip(fits, search.ended, strict=True)
    ]
    fits = share_partitions(X, partition.exact, weight_steps, fits)
    return fits, reached if many else np.array([fit.objective for fit in fits])


def _sample_sizes(n_samples: int, smallest: int) -> list[int]:
    """Return the sizes of the samples to search one after the other; the last is all."""
    return [size for size in (smallest, GROWTH * smallest) if size < n_samples] + [n_samples]


def _extend_pools(search, sample, X, partition, n_places, rank) -> tuple[np.ndarray, np.ndarray]:
    """Extend a partition of the first pools from a sample to X; return them and their places."""
    places = [i for i, pool in enumerate(search.pools[:n_places]) if len(pool) > rank]
    starts = np.empty((len(places), X.n_samples), search.dtype)
    for start, i in zip(starts, places, strict=True):
        labels = search.pools[i].ranked(rank).astype(np.int32)
        weights = search.climber.weight_steps[i].weigh(partition.scores(sample, labels))
        start[:] = partition.extend(X, weights, sample, labels)
    return starts, np.array(places)


def _count_generations(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Give a function that tells `progress` of so many more generations."""
    done = 0

    def report(generations: int) -> None:
        nonlocal done
        for _ in range(generations):
            done += 1
            if progress is not None:
                progress(done, total)

    return report
