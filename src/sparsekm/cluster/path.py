"""All sparsities of a path in one call.

Neighbouring sparsities have similar optima, so each fit is a start for the others. At the end
every partition found anywhere is tried at every sparsity: along a path the best objective never
falls with the sparsity, and no fit could be bettered by another fit's labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Protocol

import numpy as np

from sparsekm.cluster.alternation import (
    Fit,
    alternate,
    best_fit,
    refine_until_fixed_point,
    restart_everywhere,
    share_partitions,
    weigh_partition,
)
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.cluster.memetic_search import Search
from sparsekm.cluster.partition_step import SEEDING_SAMPLE, SMALL_GAIN, KMeansPartition
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.weight_step import TopFeatures, WeightStep
from sparsekm.runtime.random_state import draw_samples
from sparsekm.runtime.threads import take_turns

Progress = Callable[[int, int], None]
# What `init` may be beside labels and None.
STARTS = ["random", "screened"]


class Start(Protocol):
    """What Algorithm 1 asks of a start."""

    def propose(
        self, X: Matrix, partition: KMeansPartition, weight_step: WeightStep
    ) -> list[np.ndarray]:
        """Return partitions, each of shape (n_samples,), to run from at this sparsity."""
        ...


@dataclass(frozen=True)
class ChosenStart:
    """The start that a user's `init` stands for: labels, "random" or "screened"."""

    init: str | np.ndarray
    n_starts: int = 1
    seeds: np.random.SeedSequence | None = None
    # (n_features,): how far the distributions of features are from a Gaussian, if "screened".
    scores: np.ndarray | None = None

    def propose(self, X, partition, weight_step) -> list[np.ndarray]:
        """Return the labels, random partitions, or the best k-means on the features screened."""
        if not isinstance(self.init, str):
            return [partition.admit(X, self.init)]
        # A copy of the seeds: every sparsity draws the same.
        seeds = np.random.SeedSequence(self.seeds.entropy, spawn_key=self.seeds.spawn_key)
        generators = [np.random.default_rng(seed) for seed in seeds.spawn(self.n_starts)]
        if self.init == "random":
            k, size = partition.n_clusters, X.n_samples
            drawn = [rng.integers(k, size=size, dtype=np.int32) for rng in generators]
            return [partition.admit(X, labels) for labels in drawn]
        # Squared scores in place of a_j; a score of 0 is left out, unless all are.
        weights = weight_step.weigh(self.scores**2)
        if self.scores.any():
            weights[self.scores == 0] = 0
        found = [partition.start(X, weights, rng) for rng in generators]
        return [max(found, key=lambda labels: float(partition.scores(X, labels) @ weights))]


def make_start(init, X: Matrix, n_starts: int, seeds, n_threads: int = 1) -> Start | None:
    """Turn a checked `init` into a start, or None for the engine's own."""
    if init is None or hasattr(init, "propose"):
        return init
    if not isinstance(init, str):
        return ChosenStart(init)
    own, sampling = seeds.spawn(2)
    if init == "random":
        return ChosenStart(init, n_starts, own)
    rng = np.random.default_rng(sampling)
    block = X.take(draw_samples(X.n_samples, SEEDING_SAMPLE, rng)).block
    rows = block.rows if isinstance(block, SparseBlock) else block.T
    return ChosenStart(init, n_starts, own, marginal_scores(rows, n_jobs=n_threads))


@dataclass(frozen=True)
class SearchEffort:
    """How hard to search."""

    n_init: int  # restarts of the alternation; the climbs of the search in proportion
    max_iter: int  # rounds of one alternation; generations of the search
    tol: float  # relative change of the weights that ends an alternation


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

    From a `start` the alternation runs without restarts and from nothing else; the global search
    takes it in among its own. Returns the fits, none with `objectives_only`, and what the search
    came to at its stated effort, on a sample where there are many samples.
    """
    exact = partition.exact
    if search == "global":
        proposed = None
        if start is not None:
            proposed = [start.propose(X, exact, step)[0] for step in weight_steps]
        asked = proposed, progress, objectives_only
        return _search(X, partition, weight_steps, effort, seeds, *asked)
    problem, limits = (X, exact, weight_steps), {"max_iter": effort.max_iter, "tol": effort.tol}
    if start is not None:
        fits = _alternate_from(*problem, start, progress, restart=False, **limits)
    else:
        generators = [np.random.default_rng(seed) for seed in seeds.spawn(effort.n_init)]
        fits = restart_everywhere(*problem, generators, progress=progress, **limits)
    fits = share_partitions(X, exact, weight_steps, fits)
    return fits, np.array([fit.objective for fit in fits])


def run_kmeans(X: Matrix, partition: KMeansPartition, n_init, seeds, progress=None) -> Fit:
    """Run k-means; `max_iter` and `tol` of the partition step end the last refinement.

    Twice `n_init` starts are refined, of many samples on some. `n_iter` of the fit counts the
    rounds in which the best is refined until nothing moves, or a round gains no more than `tol`.
    """
    generators = [np.random.default_rng(seed) for seed in seeds.spawn(n_init)]
    sample, own, equal = X, partition, np.ones(X.n_features)
    if X.n_samples > partition.sample_size:
        rng = np.random.default_rng(seeds.spawn(1)[0])
        sample = X.take(draw_samples(X.n_samples, partition.sample_size, rng))
        own = partition.for_sample(sample.n_samples, X.n_samples)
    starts = [own.start(sample, equal, rng) for rng in [*generators, *generators]]
    labels = max(starts, key=lambda start: float(np.sum(own.scores(sample, start))))
    if sample is not X:
        labels = own.extend(X, equal, sample, labels)
    partition, rounds, converged = partition.exact, 0, False
    while not converged and rounds < partition.max_iter:
        rest = replace(partition, max_iter=partition.max_iter - rounds)
        refined, taken = rest.refine_counted(X, equal, labels)
        rounds += taken
        # With tol=0 a refinement that moved something is tried again from where it ended.
        ended = partition.tol > 0 and taken < rest.max_iter
        converged = ended or np.array_equal(refined, labels)
        labels = refined
    if progress is not None:
        progress(1, 1)
    fit = weigh_partition(X, partition, TopFeatures(X.n_features), labels, rounds)
    return replace(fit, converged=converged)


def _alternate_from(X, partition, weight_steps, start, progress, **limits) -> list[Fit]:
    """Run Algorithm 1 at every sparsity from what a start proposes there, and from nothing else."""
    fits = []
    for done, weight_step in enumerate(weight_steps, start=1):
        problem = X, partition, weight_step
        starts = [weigh_partition(*problem, labels) for labels in start.propose(*problem)]
        tried = [alternate(*problem, X.n_features, start=one, **limits) for one in starts]
        fits.append(best_fit(tried))
        if progress is not None:
            progress(done, len(weight_steps))
    return fits


def _search(X, partition, weight_steps, effort, seeds, proposed, progress, objectives_only):
    """Search all samples, or a sample of many."""
    rng = np.random.default_rng(seeds.spawn(1)[0])
    # More than half of the samples are no sample.
    if X.n_samples > 2 * partition.sample_size:
        asked = proposed, progress, objectives_only
        return _search_sample(X, partition, weight_steps, effort, rng, *asked)
    report = _count_steps(progress, effort.max_iter)
    search, n_iter = _evolve(X, partition, weight_steps, effort, rng, proposed, report)
    pairs = zip(weight_steps, search.best, strict=True)
    fits = [weigh_partition(X, partition, *pair, n_iter) for pair in pairs]
    fits = _refine(X, partition.exact, weight_steps, fits, search.ended)
    return fits, np.array([fit.objective for fit in fits])


def _search_sample(X, partition, weight_steps, effort, rng, proposed, progress, objectives_only):
    """Search a sample, from whose partitions all samples go on."""
    chosen = draw_samples(X.n_samples, partition.sample_size, rng)
    share = partition.for_sample(len(chosen), X.n_samples)
    # The search on a sample, which is cheap, goes beyond the sparsities asked for.
    with_denser = [*weight_steps, *weight_steps[-1].denser(X.n_features)]
    # Clusters that all samples show may be hidden in fewer samples than features: then all samples
    # go on at the denser sparsities too, and what they come to is compared.
    hidden = X.n_features > len(chosen)
    continued = with_denser if hidden else weight_steps
    report = _count_steps(progress, effort.max_iter + len(continued))
    own = proposed and [labels[chosen] for labels in proposed]
    search, n_iter = _evolve(X.take(chosen), share, with_denser, effort, rng, own, report)
    objectives = np.maximum.accumulate(search.best_objectives)[: len(weight_steps)]
    if objectives_only and not hidden:
        return [], objectives
    restarts = rng if hidden else None
    fits = _go_on_with_all(X, partition, continued, search, proposed, n_iter, restarts)
    fits = fits[: len(weight_steps)]
    report(len(continued))
    if hidden:
        objectives = np.array([fit.objective for fit in fits])
    if objectives_only:
        return [], objectives
    return _refine(X, partition.exact, weight_steps, fits, search.ended), objectives


def _evolve(X, partition, weight_steps, effort, rng, proposed, report) -> tuple[Search, int]:
    """Search from drawn starts and from those proposed; give the generations that it took."""
    search = Search(X, partition, weight_steps, effort.n_init, rng)
    search.start()
    if proposed:
        # At sparsities beyond those asked for, what was proposed for the densest of these.
        places = np.arange(len(weight_steps))
        search.climb(np.array(proposed)[np.minimum(places, len(proposed) - 1)], places)
    return search, search.evolve(effort.max_iter, report)


def _refine(X, partition, weight_steps, fits, ended) -> list[Fit]:
    """Alternate from fits to fixed points, and share these along the path."""
    refined = []
    for weight_step, fit, has_ended in zip(weight_steps, fits, ended, strict=False):
        fit = refine_until_fixed_point(X, partition, weight_step, fit)
        refined.append(replace(fit, converged=fit.converged and bool(has_ended)))
    return share_partitions(X, partition, weight_steps, refined)


def _go_on_with_all(X, partition, weight_steps, search, proposed, n_iter, rng=None) -> list[Fit]:
    """Extend what a sample's pools hold to all samples, and improve the best at every sparsity.

    They go on side by side. With a generator they take turns: each goes on from the best of its
    pool and from the fit at the next denser sparsity, and then also from k-means of the sample
    begun anew on the features that it has come to keep: on these the clusters may show.
    """
    in_turn = rng is not None
    sample, scores = search.X, search.partition.scores
    # Side by side, fits of a matrix larger than memory would hold twice its blocks.
    together = isinstance(X, CentredMatrix) and not in_turn
    n_workers = min(partition.n_threads if together else 1, len(weight_steps))
    alone = partition.sharing(n_workers)
    fits: dict[int, Fit] = {}

    def improve(place: int) -> None:
        weight_step = weight_steps[place]
        starts = [proposed[min(place, len(proposed) - 1)]] if proposed else []
        members = search.pools[place].members
        for found in members[:1] if in_turn else members:
            starts.append(alone.extend(X, weight_step.weigh(scores(sample, found)), sample, found))
        if in_turn and place + 1 in fits:
            starts.append(fits[place + 1].labels)
        admitted = (alone.admit(X, start) for start in starts)
        start = best_fit([weigh_partition(X, alone, weight_step, one, n_iter) for one in admitted])
        fits[place] = refine_until_fixed_point(X, alone, weight_step, start, SMALL_GAIN)
        if in_turn:
            kept = fits[place].weights
            found = search.partition.start(sample, kept, rng)
            anew = alone.extend(X, kept, sample, found)
            anew = weigh_partition(X, alone, weight_step, alone.admit(X, anew), n_iter)
            anew = refine_until_fixed_point(X, alone, weight_step, anew, SMALL_GAIN)
            fits[place] = best_fit([fits[place], anew])

    take_turns(improve, len(weight_steps), n_workers)
    in_order = [fits[place] for place in range(len(weight_steps))]
    return share_partitions(X, partition, weight_steps, in_order, SMALL_GAIN)


def _count_steps(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Give a function that tells `progress` of so many more steps done."""
    numbers = count(1)

    def report(steps: int) -> None:
        for done in islice(numbers, steps):
            if progress is not None:
                progress(done, total)

    return report
