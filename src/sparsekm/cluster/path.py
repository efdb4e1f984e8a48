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
    settle,
    weigh_partition,
    weigh_scores,
)
from sparsekm.cluster.enumeration import ENUMERATION_LIMIT, best_partitions, count_partitions
from sparsekm.cluster.memetic import MemeticSearch
from sparsekm.cluster.partition_sharing import best_fit, share_partitions
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.scatter import Matrix
from sparsekm.cluster.starts import Start
from sparsekm.cluster.sweeps import search_along
from sparsekm.cluster.weight_step import WeightStep

# Beyond this many samples only the first k-means is restarted.
RESTART_LIMIT = 300

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SearchEffort:
    """How hard to search.

    Attributes
    ----------
    n_init : int
        Restarts of the alternation; starts and children of the global search in proportion.
    max_iter : int
        Rounds of one alternation. The global search runs at most twice as many generations for
        one sparsity, and fewer on a path.
    tol : float
        Relative change of the weights that ends an alternation.
    n_sweeps : int
        Sweeps of an alternating search along a path of many samples.
    """

    n_init: int
    max_iter: int
    tol: float
    n_sweeps: int = 0


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
) -> tuple[list[Fit], np.ndarray]:
    """Fit every weight step of a path.

    Parameters
    ----------
    X : CentredMatrix or StreamedMatrix
    partition : KMeansPartition
    weight_steps : sequence of WeightStep
        In ascending order of sparsity.
    search : {"alternate", "global"}
    effort : SearchEffort
    seeds : numpy.random.SeedSequence
    start : Start, optional
        The alternation starts from what it proposes and from nothing else, without restarts, at
        every sparsity; the global search takes that in among its own starts.
    progress : callable, optional
        Called with the number of steps done and their total.

    Returns
    -------
    fits : list of Fit
        In the order of `weight_steps`.
    first_objectives : ndarray of shape (n_sparsities,)
        The objectives before any sweep.
    """
    exact = partition.exact
    if search == "global":
        labels = None if start is None else start.propose(X, exact, weight_steps[-1])[0]
        fits = _search_globally(X, exact, weight_steps, effort, seeds, labels, progress)
    elif start is not None:
        fits = _alternate_from(X, exact, weight_steps, effort, start, progress)
    elif X.n_samples <= RESTART_LIMIT:
        fits = _restart_everywhere(X, exact, weight_steps, effort, seeds, progress)
    else:
        fits, first = search_along(X, partition, weight_steps, effort, seeds, progress)
        return fits, np.array([fit.objective for fit in first])
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


def _restart_everywhere(X, partition, weight_steps, effort, seeds, progress):
    """Run Algorithm 1 at every sparsity, from the largest down, each also from the last one's end.

    Its first k-means weighs all features alike, so it is the same for every sparsity and done
    once per restart. Every sparsity restarts the whole algorithm, and so does every partition step
    within it.
    """
    generators = [np.random.default_rng(seed) for seed in seeds.spawn(effort.n_init)]
    equal = np.ones(X.n_features)
    starts = [partition.start(X, equal, rng) for rng in generators]
    fits: list[Fit] = []
    for done, weight_step in enumerate(reversed(weight_steps), start=1):
        weighed = [weigh_partition(X, partition, weight_step, labels) for labels in starts]
        if fits:
            weighed.append(weigh_scores(weight_step, fits[-1].labels, fits[-1].scores))
        tried = [
            alternate(
                X,
                partition,
                weight_step,
                X.n_features,
                rng=generators[r % len(generators)],
                start=start,
                max_iter=effort.max_iter,
                tol=effort.tol,
            )
            for r, start in enumerate(weighed)
        ]
        fits.append(best_fit(tried))
        if progress is not None:
            progress(done, len(weight_steps))
    return fits[::-1]


def _search_globally(X, partition, weight_steps, effort, seeds, labels, progress):
    code = weight_steps[0].code
    bounds = np.array([step.bound for step in weight_steps], dtype=np.float64)
    n_clusters = partition.n_clusters
    if count_partitions(X.n_samples, n_clusters) <= ENUMERATION_LIMIT:
        found = best_partitions(X.rows, n_clusters, code, bounds, partition.min_size)
        generations, settled = 1, [True] * len(bounds)
    else:
        search = MemeticSearch(
            X.rows,
            n_clusters,
            code,
            bounds,
            partition.min_size,
            effort.n_init,
            np.random.default_rng(seeds),
            partition.n_threads,
        )
        # The sparsities of a path help each other, so each needs fewer generations.
        max_generations = max(1, round(2 * effort.max_iter / np.sqrt(len(bounds))))
        found, generations, settled = search.run(max_generations, labels, progress)
    fits = []
    for weight_step, best, ended in zip(weight_steps, found, settled, strict=True):
        fit = weigh_partition(X, partition, weight_step, best, generations)
        fit = settle(X, partition, weight_step, fit)
        fits.append(replace(fit, converged=fit.converged and bool(ended)))
    return fits
