"""All sparsities of a path in one call.

Neighbouring sparsities have similar optima, so each fit is a start for the others. At the end
every partition found anywhere is tried at every sparsity: along a path the best objective never
falls with the sparsity, and no fit could be bettered by another fit's labels.

Many samples are searched along the path: a first pass from the largest sparsity down, then sweeps
up and down by turns, in which every sparsity also starts from its neighbour's partition. What a
partition has learnt of few features helps at more of them, and the other way round. Several
lineages do so from different starts, and the first of them takes up what any has found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.racing import race_starts
from sparsekm.cluster.scatter import Matrix
from sparsekm.cluster.weight_step import WeightStep

# Beyond this many samples only the first k-means is restarted ...
RESTART_LIMIT = 300
# ... as many lineages are swept along a path ...
LINEAGES = 3
# ... and a round that gains no more than this share of the objective ends a fit of a path.
SMALL_GAIN = 3e-5
# A better objective must be better by more than rounding.
RELATIVE_GAIN = 1e-12

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SparsityPath:
    """Fits at several sparsities, in the order they were asked for.

    Attributes
    ----------
    sparsities : ndarray of shape (n_sparsities,)
    objectives : ndarray of shape (n_sparsities,)
    labels : ndarray of shape (n_sparsities, n_samples), int32
    weights : ndarray of shape (n_sparsities, n_features)
    scores : ndarray of shape (n_sparsities, n_features)
        The scores a_j of every feature under the labels of each sparsity.
    n_iter : ndarray of shape (n_sparsities,), int64
        Rounds of the search at each sparsity.
    search : str
        The search that ran: "alternate" or "global".
    first_objectives : ndarray of shape (n_sparsities,)
        The objectives before any sweep: what those of references, which are not swept, are
        compared with.
    """

    sparsities: np.ndarray
    objectives: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    n_iter: np.ndarray
    search: str
    first_objectives: np.ndarray

    @property
    def n_selected(self) -> np.ndarray:
        """Number of kept features at each sparsity, shape (n_sparsities,)."""
        return np.count_nonzero(self.weights, axis=1)

    @classmethod
    def from_fits(
        cls,
        sparsities: np.ndarray,
        fits: Sequence[Fit],
        search: str,
        first_objectives: np.ndarray | None = None,
    ) -> SparsityPath:
        """Stack fits, one per sparsity; by default they were not swept."""
        objectives = np.array([fit.objective for fit in fits])
        return cls(
            sparsities=np.asarray(sparsities, dtype=np.float64),
            objectives=objectives,
            first_objectives=objectives if first_objectives is None else first_objectives,
            labels=np.array([fit.labels for fit in fits], dtype=np.int32),
            weights=np.array([fit.weights for fit in fits]),
            scores=np.array([fit.scores for fit in fits]),
            n_iter=np.array([fit.n_iter for fit in fits], dtype=np.int64),
            search=search,
        )


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
    labels: np.ndarray | None = None,
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
    labels : ndarray of shape (n_samples,), optional
        A partition to start from. The alternation then starts from nothing else.
    progress : callable, optional
        Called with the number of steps done and their total.

    Returns
    -------
    fits : list of Fit
        In the order of `weight_steps`.
    first_objectives : ndarray of shape (n_sparsities,)
        The objectives before any sweep.
    """
    if search == "alternate" and X.n_samples > RESTART_LIMIT:
        fits, first = _search_along(X, partition, weight_steps, effort, seeds, labels, progress)
    else:
        find = _search_globally if search == "global" else _restart_everywhere
        fits = find(X, partition, weight_steps, effort, seeds, labels, progress)
        fits = first = _share_partitions(X, partition, weight_steps, fits)
    return fits, np.array([fit.objective for fit in first])


def _best_of(weight_step: WeightStep, fits: Sequence[Fit], own: int) -> Fit:
    """Weigh the labels of every fit by one weight step; return the best, the `own` where alike."""
    values = [np.sum(weight_step.weigh(fit.scores) * fit.scores) for fit in fits]
    best = int(np.argmax(values))
    if values[best] <= fits[own].objective * (1 + RELATIVE_GAIN):
        return fits[own]
    return weigh_scores(weight_step, fits[best].labels, fits[best].scores, fits[own].n_iter)


def _share_partitions(X, partition, weight_steps, fits, gain=0.0) -> list[Fit]:
    """Start every sparsity from the best labels of all until no fit can be bettered by another."""
    fits = list(fits)
    improved = True
    while improved:
        improved = False
        for i, weight_step in enumerate(weight_steps):
            start = _best_of(weight_step, fits, i)
            if start is not fits[i]:
                better = settle(X, partition, weight_step, start, gain)
                if better.objective > fits[i].objective:
                    fits[i] = better
                    improved = True
    return fits


def _restart_everywhere(X, partition, weight_steps, effort, seeds, labels, progress):
    """Run Algorithm 1 at every sparsity, from the largest down, each also from the last one's end.

    Its first k-means weighs all features alike, so it is the same for every sparsity and done
    once per restart. Every sparsity restarts the whole algorithm, and so does every partition step
    within it.
    """
    generators = [np.random.default_rng(seed) for seed in seeds.spawn(effort.n_init)]
    if labels is not None:
        starts = [labels]
    else:
        equal = np.ones(X.n_features)
        starts = [partition.start(X, equal, rng) for rng in generators]
    fits: list[Fit] = []
    for done, weight_step in enumerate(reversed(weight_steps), start=1):
        candidates = starts if not fits else [*starts, fits[-1].labels]
        tried = [
            alternate(
                X,
                partition,
                weight_step,
                X.n_features,
                rng=generators[r % len(generators)],
                labels=start,
                max_iter=effort.max_iter,
                tol=effort.tol,
            )
            for r, start in enumerate(candidates)
        ]
        fits.append(_best(tried))
        if progress is not None:
            progress(done, len(weight_steps))
    return fits[::-1]


def _search_along(X, partition, weight_steps, effort, seeds, labels, progress):
    """Pass down the path and sweep it; return the fits, and those of the first pass."""
    is_swept = effort.n_sweeps > 0 and len(weight_steps) > 1
    n_lineages = LINEAGES if is_swept and labels is None else 1
    report = _count_calls(progress, n_lineages * _count_steps(weight_steps, effort))
    lineages = []
    for start in _find_starts(X, partition, effort, seeds, n_lineages, labels):
        fits = _pass_down(X, partition, weight_steps, effort, start, report)
        lineages.append([_best_of(step, fits, i) for i, step in enumerate(weight_steps)])
    fits = first = lineages[0]
    if is_swept:
        fits = _sweep(X, partition, weight_steps, lineages, effort, report)
        fits = _share_partitions(X, partition, weight_steps, fits, SMALL_GAIN)
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
            neighbours[0] = _best(neighbours)
            for fits, neighbour in zip(lineages, neighbours, strict=True):
                if (i, id(neighbour)) not in known:
                    found = _carry_on(X, partition, weight_steps[i], effort, neighbour)
                    known[i, id(neighbour)] = neighbour, found
                fits[i] = _best([fits[i], known[i, id(neighbour)][1]])
                report()
    return [_best(fits) for fits in zip(*lineages, strict=True)]


def _best(fits: Sequence[Fit]) -> Fit:
    return max(fits, key=lambda fit: fit.objective)


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


def _count_calls(progress: Progress | None, total: int) -> Callable[[], None]:
    """Give a function that tells `progress` of one more step with each call."""
    done = itertools.count(1)

    def report() -> None:
        if progress is not None:
            progress(next(done), total)

    return report


def _search_globally(X, partition, weight_steps, effort, seeds, labels, progress):
    code = weight_steps[0].code
    bounds = np.array([step.bound for step in weight_steps], dtype=np.float64)
    n_clusters = partition.n_clusters
    if count_partitions(X.n_samples, n_clusters) <= ENUMERATION_LIMIT:
        found = best_partitions(X.rows, n_clusters, code, bounds, partition.min_size)
        generations = 1
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
        found, generations = search.run(max_generations, labels, progress)
    fits = []
    for weight_step, partition_found in zip(weight_steps, found, strict=True):
        fit = weigh_partition(X, partition, weight_step, partition_found, generations)
        fits.append(settle(X, partition, weight_step, fit))
    return fits
