"""The search along a path: pools of partitions, improved by crossing and climbing.

Algorithm 1 of the paper ends in poor local optima. Here every sparsity has a pool of partitions.
Two partitions of one sparsity or of neighbouring ones are crossed, or a new one starts on other
features or at random. All are improved, and the best of every pool is offered to its neighbours.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count, islice

import numpy as np

from sparsekm.cluster.alternation import (
    RELATIVE_GAIN,
    best_fit,
    refine_until_fixed_point,
    share_partitions,
    weigh_partition,
)
from sparsekm.cluster.kmeans.few_samples import (
    FEW_SWEEPS,
    climb,
    exchange_until_stable,
    sum_clusters,
)
from sparsekm.cluster.matrices.matrix import CentredMatrix, FeatureMatrix, embed_samples
from sparsekm.cluster.matrices.sample_rows import pack
from sparsekm.cluster.partition_step import (
    SMALL_GAIN,
    KMeansPartition,
    canonical_labels,
    dense_if_few,
    nearest_seeds,
)
from sparsekm.cluster.path_estimator import Progress, SearchEffort
from sparsekm.cluster.sparsity_path import Fit, Found
from sparsekm.cluster.weight_step import TopFeatures, WeightStep
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import MOST_BYTES_OF_COPIES, count_at_once, take_turns


@compiled
def cross(mother, father, n_clusters, draws, child):
    """Write a child of two partitions, which takes each cluster as a whole from one of them.

    This is the inheritance of centres of HG-means (Gribel & Vidal 2019,
    doi:10.1016/j.patcog.2018.12.022) in terms of labels: clusters are matched by their overlap.
    Samples that are claimed by both parents or by neither are assigned at random. `draws`
    (n_samples + n_clusters,) are uniform in [0, 1).
    """
    n = mother.shape[0]
    overlap = np.zeros((n_clusters, n_clusters), np.int64)
    for i in range(n):
        overlap[mother[i], father[i]] += 1
    # The clusters of the father get the names of those of the mother, largest overlap first.
    names = np.zeros(n_clusters, np.int64)
    for _ in range(n_clusters):
        a, b = divmod(overlap.argmax(), n_clusters)
        names[b] = a
        overlap[a] = overlap[:, b] = -1
    for i in range(n):
        a, b = np.int64(mother[i]), names[father[i]]
        claimed_by_mother = draws[n + a] < 0.5
        claimed_by_father = draws[n + b] >= 0.5
        take_a = claimed_by_mother
        if claimed_by_mother == claimed_by_father:
            take_a = draws[i] < 0.5
        child[i] = a if take_a else b


@compiled
def pack_apart(rows, labels, n_clusters, weight_step, min_size, a, b):
    """Pack the features that separate clusters `a` and `b`: a climb rarely leaves its features."""
    sums, sizes = sum_clusters(rows, labels, n_clusters, min_size)
    apart = sums[a] / sizes[a] - sums[b] / sizes[b]
    kept, values = weight_step.choose(apart * apart)
    return pack(rows, kept, np.sqrt(values).astype(np.float32))


class Pool:
    """The best distinct partitions found at one sparsity, at most `CAPACITY` of them."""

    def __init__(self, n_clusters: int) -> None:
        self.n_clusters = n_clusters
        # Best first, by objective and key.
        self.ranked: list[tuple[float, bytes, np.ndarray]] = []
        # Keys of the partitions that were climbed from.
        self._starts: set[bytes] = set()

    def add(self, labels: np.ndarray, objective: float) -> None:
        """Add a partition, unless it is known."""
        labels = canonical_labels(labels, self.n_clusters)
        key = self._key(labels)
        if not any(key == known for _, known, _ in self.ranked):
            insort(self.ranked, (-objective, key, labels), key=lambda member: member[:2])
            del self.ranked[CAPACITY:]

    def is_new_start(self, labels: np.ndarray, *, remember: bool = False) -> bool:
        """Return whether nothing climbed from these labels before."""
        key = self._key(canonical_labels(labels, self.n_clusters))
        is_new = key not in self._starts
        if remember:
            self._starts.add(key)
        return is_new

    def _key(self, labels: np.ndarray) -> bytes:
        # Labels may have any integer width. The digest tells partitions apart in little memory.
        return sha256(labels.astype(np.int32).tobytes()).digest()

    @property
    def members(self) -> list[np.ndarray]:
        """The partitions, best first."""
        return [labels for _, _, labels in self.ranked]


# The number of climbs of a search with n_init = 1 is this number over the square root of n_samples
# * n_clusters * n_features, times the fourth root of the number of sparsities, because sparsities
# help each other.
EFFORT = 32_000
# The number of generations, and for n_init = 1 the largest number of climbs in each.
GENERATIONS = 20
# Partitions kept at every sparsity.
CAPACITY = 5
# The share of children that start on other features instead of being crossed.
RESTARTED = 0.5
# The share of these children that start from a random partition instead of one of a pool.
RANDOM = 0.2


class Search:
    """Search the best partition at every sparsity of a path; `n_init` scales the climbs.

    Samples are exchanged one at a time, which is thorough but needs few samples in memory. The
    first climbs start from k-means++ seeds, and their results are offered along the path.
    """

    def __init__(self, X: FeatureMatrix, partition: KMeansPartition, weight_steps, n_init, rng):
        # Kernels compute in float32.
        X, self._unit = X.in_unit()
        self.partition, self.rng = partition, rng
        self.n_clusters, self.n_places = partition.n_clusters, len(weight_steps)
        self.n_samples, p = X.shape
        dense = isinstance(X, CentredMatrix)
        if dense and X.dtype != np.float32:
            X = X.from_columns(X.columns.astype(np.float32), X.means)
        self.rows = rows = X.rows
        columns = X.block if dense else rows
        # If all features have the same weight, the search uses as few dimensions as the samples
        # span.
        wide = dense and self.n_samples < p
        alike = [wide and step.keeps_all(p) for step in weight_steps]
        embedded = embed_samples(columns) if any(alike) else rows
        everything = embedded, columns, TopFeatures(embedded.shape[1])
        self._spaces = [
            everything if same else (rows, columns, step)
            for same, step in zip(alike, weight_steps, strict=True)
        ]
        per_init = min(
            EFFORT / np.sqrt(float(self.n_samples) * p * self.n_clusters), GENERATIONS**2
        )
        self.n_climbs = n_init * per_init * self.n_places**0.25
        self.n_children = int(np.ceil(self.n_climbs / GENERATIONS))
        self.pools = [Pool(self.n_clusters) for _ in weight_steps]
        self.climbed = 0

    def begin(self) -> None:
        """Climb from k-means++ seeds, and offer the results along the path."""
        starts = np.empty((max(2, self.n_children), self.n_samples), np.int32)
        draws = self.rng.random((len(starts), self.n_clusters))

        def seed(b: int) -> None:
            nearest_seeds(self.rows, self.n_clusters, draws[b], starts[b])

        take_turns(seed, len(starts), self.partition.n_threads)
        # The seeds are spread evenly over the path if there are fewer of them than sparsities.
        places = np.arange(len(starts)) * max(1, self.n_places // len(starts)) % self.n_places
        self.climb(zip(starts, places, strict=True))
        while not all(pool.ranked for pool in self.pools):
            self.climb(self._offers())

    def climb(self, pairs: Iterable[tuple[np.ndarray, int]]) -> None:
        """Climb from partitions that are new at their sparsity; add the results to the pools."""
        pairs = list(pairs)
        self.climbed += len(pairs)
        new = [
            (labels.astype(np.int32), place)
            for labels, place in pairs
            if self.pools[place].is_new_start(labels, remember=True)
        ]
        objectives = np.empty(len(new))
        k, min_size = self.n_clusters, self.partition.min_size

        def work(b: int) -> None:
            labels, place = new[b]
            rows, columns, weight_step = self._spaces[place]
            objectives[b] = climb(rows, columns, labels, k, weight_step, min_size, SMALL_GAIN)

        take_turns(work, len(new), self.partition.n_threads)
        for (labels, place), objective in zip(new, objectives, strict=True):
            self.pools[place].add(labels, objective)

    def evolve(self, max_generations: int, report: Callable[[int], None]) -> int:
        """Make generations until the climbs are used up; return how many there were.

        `report` is called for each, and at the end for the generations that were left out. `ended`
        is False if the last generation still improved a fit and climbs were left.
        """
        generation, before = 0, self.best_objectives
        while generation < max_generations and (generation == 0 or self.climbed < self.n_climbs):
            before = self.best_objectives
            self.climb([*self._children(), *self._offers()])
            generation += 1
            report(1)
        report(max_generations - generation)
        cut = self.climbed < self.n_climbs
        self.ended = ~(cut & (self.best_objectives > before * (1 + RELATIVE_GAIN)))
        return generation

    @property
    def best(self) -> list[np.ndarray]:
        """The best partition at every sparsity."""
        return [pool.members[0] for pool in self.pools]

    @property
    def best_objectives(self) -> np.ndarray:
        """Their objectives."""
        return self._unit**2 * np.array([-pool.ranked[0][0] for pool in self.pools])

    def _children(self) -> Iterator[tuple[np.ndarray, int]]:
        """Yield crossed partitions of one pool or of neighbouring ones, sparsity after sparsity."""
        first = int(self.rng.integers(self.n_places))
        places = (first + np.arange(self.n_children)) % self.n_places
        others = places + self.rng.integers(-1, 2, size=len(places))
        others = np.clip(others, 0, self.n_places - 1)
        children = np.empty((len(places), self.n_samples), np.int32)
        restarted = self.rng.random(len(places)) < RESTARTED
        ranks = self.rng.random((len(places), 2))
        for b, child in enumerate(children):
            child[:] = father = self._draw(others[b], ranks[b, 0])
            if not restarted[b]:
                mother = self._draw(places[b], ranks[b, 1])
                draws = self.rng.random(len(child) + self.n_clusters)
                cross(mother, father, self.n_clusters, draws, child)
        at_random = restarted & (self.rng.random(len(places)) < RANDOM)
        size = np.count_nonzero(at_random), children.shape[1]
        children[at_random] = self.rng.integers(self.n_clusters, size=size, dtype=np.int32)
        fresh = np.flatnonzero(restarted)
        draws = self.rng.random((len(fresh), 2 * self.n_clusters))
        k, min_size = self.n_clusters, self.partition.min_size

        def work(b: int) -> None:
            # The draws choose the two clusters and the seeds.
            order = np.argsort(draws[b, :k])
            two = order[0], order[min(1, k - 1)]
            started, (rows, _, weight_step) = children[fresh[b]], self._spaces[places[fresh[b]]]
            packed = pack_apart(rows, started, k, weight_step, min_size, *two)
            nearest_seeds(packed, k, draws[b, k:], started)
            exchange_until_stable(packed, started, k, min_size, FEW_SWEEPS, 0.0)

        take_turns(work, len(fresh), self.partition.n_threads)
        yield from zip(children, places, strict=True)

    def _draw(self, place: int, uniform: float) -> np.ndarray:
        members = self.pools[place].members
        return members[int(uniform * len(members))]

    def _offers(self) -> Iterator[tuple[np.ndarray, int]]:
        """Yield the best of every pool for each neighbour that has not had it."""
        for place in range(self.n_places):
            for other in (place - 1, place + 1):
                if 0 <= other < self.n_places and self.pools[other].ranked:
                    best = self.pools[other].members[0]
                    if self.pools[place].is_new_start(best):
                        yield best, place


def search_path(
    X: FeatureMatrix,
    partition: KMeansPartition,
    weight_steps: Sequence[WeightStep],
    effort: SearchEffort,
    rng: np.random.Generator,
    progress: Progress,
    proposed: Sequence[np.ndarray],
    objectives_only: bool,
) -> Found:
    """Search every sparsity of a path, in ascending order: all samples, or a sample of many.

    Partitions `proposed`, one per sparsity, are added to the search's own. Returns the fits (none
    with `objectives_only`) and the objectives that the search reached with its stated effort.
    """
    n_places, rows = len(weight_steps), np.arange(X.n_samples)
    sample, own, continued, hidden = X, partition, [], False

    def evolve(X, weight_steps, proposed, report):
        search = Search(X, own, weight_steps, effort.n_init, rng)
        search.begin()
        search.climb((labels[rows], place) for place, labels in enumerate(proposed))
        return search, search.evolve(effort.max_iter, report)

    # Do not subsample more than half.
    if X.n_samples > 2 * partition.sample_size:
        rows, sample, own = partition.draw(X, rng)
        # The search on a sample, which is cheap, goes beyond the sparsities asked for. There it
        # uses the partition proposed for the densest of these.
        weight_steps = [*weight_steps, *weight_steps[-1].denser(X.n_features)]
        proposed = [*proposed, *proposed[-1:] * (len(weight_steps) - n_places)]
        # Clusters that all samples show may be hidden in a sample that is smaller than the number
        # of features. Then the search continues with all samples at the denser sparsities too, and
        # compares the results.
        hidden = X.n_features > len(rows)
        continued = weight_steps if hidden else weight_steps[:n_places]
    numbers, total = count(1), effort.max_iter + len(continued)

    def report(steps: int) -> None:
        for done in islice(numbers, steps):
            progress(done, total)

    search, n_iter = evolve(sample, weight_steps, proposed, report)
    weight_steps = weight_steps[:n_places]
    objectives = np.maximum.accumulate(search.best_objectives)[:n_places]
    if objectives_only and not hidden:
        return [], objectives

    def search_among(features, weight_step, labels):
        narrow = dense_if_few(sample.select(features))
        search_of_few, _ = evolve(narrow, [weight_step], [labels], lambda steps: None)
        best = search_of_few.best[0]
        return best, weight_step.weigh(own.scores(narrow, best))

    if continued:
        known = search, proposed, n_iter, search_among if hidden else None
        fits = _go_on_with_all(X, sample, partition, continued, *known)[:n_places]
        report(len(continued))
    else:
        pairs = zip(weight_steps, search.best, strict=True)
        fits = [weigh_partition(X, partition, step, labels, n_iter) for step, labels in pairs]
    if hidden:
        objectives = np.array([fit.objective for fit in fits])
    if objectives_only:
        return [], objectives
    return _refine(X, partition.exact, weight_steps, fits, search.ended), objectives


def _refine(X, partition, weight_steps, fits, ended) -> list[Fit]:
    """Run the alternation from fits to fixed points, and share the results along the path."""
    n_workers, alone = _divide(X, partition, len(weight_steps))
    refined = list(fits)

    def refine(place: int) -> None:
        fit = refine_until_fixed_point(X, alone, weight_steps[place], fits[place])
        refined[place] = replace(fit, converged=fit.converged and bool(ended[place]))

    take_turns(refine, len(weight_steps), n_workers)
    return share_partitions(X, partition, weight_steps, refined)


def _divide(X, partition, n_places) -> tuple[int, KMeansPartition]:
    """Return how many sparsities are refined at the same time, and the partition of each."""
    # Several fits of a matrix larger than memory would hold its blocks several times.
    copy_bytes = X.columns.nbytes if isinstance(X, CentredMatrix) else MOST_BYTES_OF_COPIES
    n_workers = count_at_once(partition.n_threads, n_places, copy_bytes)
    return n_workers, replace(partition, n_threads=max(1, partition.n_threads // n_workers))


def _go_on_with_all(
    X, sample, partition, weight_steps, search, proposed, n_iter, search_among
) -> list[Fit]:
    """Extend the pools of a sample to all samples, and improve the best fit at every sparsity.

    With `search_among`, one sparsity is treated after the other. Each also continues from the fit
    at the next denser sparsity, and from a search of the sample among the features with the largest
    scores in all samples. There are many such climbs, because with few features they are cheap.
    """
    in_turn = search_among is not None
    scores = search.partition.scores
    n_workers, alone = _divide(X, partition, 1 if in_turn else len(weight_steps))
    fits: dict[int, Fit] = {}

    def go_on(weight_step, starts) -> Fit:
        admitted = (alone.admit(X, start) for start in starts)
        start = best_fit([weigh_partition(X, alone, weight_step, one, n_iter) for one in admitted])
        return refine_until_fixed_point(X, alone, weight_step, start, SMALL_GAIN)

    def improve(place: int) -> None:
        weight_step = weight_steps[place]
        starts = [*proposed[place : place + 1]]
        members = search.pools[place].members
        for found in members[:1] if in_turn else members:
            starts.append(alone.extend(X, weight_step.weigh(scores(sample, found)), sample, found))
        if in_turn and place + 1 in fits:
            starts.append(fits[place + 1].labels)
        fits[place] = go_on(weight_step, starts)
        leading = weight_step.leading(fits[place].scores) if in_turn else ()
        # Do not choose more than half of the features.
        if 0 < 2 * len(leading) <= X.n_features:
            step, weights = weight_step.among(leading), np.zeros(X.n_features)
            found, weights[leading] = search_among(leading, step, fits[place].labels)
            again = go_on(weight_step, [alone.extend(X, weights, sample, found)])
            fits[place] = best_fit([fits[place], again])

    take_turns(improve, len(weight_steps), n_workers)
    in_order = [fits[place] for place in range(len(weight_steps))]
    return share_partitions(X, partition, weight_steps, in_order, SMALL_GAIN)
