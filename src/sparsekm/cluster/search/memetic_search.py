"""The search along a path: pools of partitions, improved by crossing and climbing.

Algorithm 1 of the paper ends in poor local optima: with many noise features the first k-means, on
all of them, decides too much. Here every sparsity of the path has a pool of partitions. Two of
them, of one sparsity or of neighbouring ones, are crossed, every second child instead starts
afresh on other features (`restart`), all are improved by the local search (`ExchangeClimb`), in
which clusters also merge and split, and the best of every pool is offered to its neighbours. A
single fit is a path of one sparsity.

In a climb few samples move one at a time (`sparsekm.cluster.kmeans.climb`), many all at once
(`sparsekm.cluster.kmeans.many_samples`). Independent climbs share the threads.

The members of a pool become alike: a factor that many features share can fill it with partitions
along it, from which no child leads away. So some children come from a random partition instead, in
the time that is saved where a child is one that was climbed from before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sparsekm.cluster.kmeans.climb import climb, nearest_seeds, restart
from sparsekm.cluster.matrices.matrix import embed_samples
from sparsekm.cluster.matrices.scatter import MatrixInMemory
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition
from sparsekm.cluster.search.pool import Pool, cross
from sparsekm.cluster.weight_step import CompiledStep, TopFeatures
from sparsekm.runtime.threads import take_turns


class ExchangeClimb:
    """Exchange one sample at a time: thorough, for few samples in memory."""

    def __init__(
        self, X: MatrixInMemory, partition: KMeansPartition, weight_steps: Sequence[CompiledStep]
    ) -> None:
        self.X = X
        self.rows = X.rows
        self.partition = partition
        self.weight_steps = weight_steps
        n, p = self.rows.shape
        self.shape = n, p, len(weight_steps)
        # Where all features count alike, the samples are climbed in as few dimensions as they are.
        wide = n < p and isinstance(self.rows, np.ndarray)
        alike = [wide and step.keeps_all(p) for step in weight_steps]
        embedded = embed_samples(self.rows) if any(alike) else self.rows
        everything = (embedded, TopFeatures(embedded.shape[1]))
        self._spaces = [
            everything if same else (self.rows, step)
            for same, step in zip(alike, weight_steps, strict=True)
        ]

    def draw_starts(self, n_starts: int, rng: np.random.Generator) -> np.ndarray:
        """Return partitions by k-means++ on all features."""
        n_clusters = self.partition.n_clusters
        draws = rng.random((n_starts, n_clusters))
        starts = np.empty((n_starts, self.shape[0]), np.int32)
        take_turns(
            lambda b: nearest_seeds(self.rows, n_clusters, draws[b], starts[b]),
            n_starts,
            self.partition.n_threads,
        )
        return starts

    def restart(self, labels: np.ndarray, places: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return fresh starts on the features that tell some clusters of partitions apart."""
        n_clusters, min_size = self.partition.n_clusters, self.partition.min_size

        def work(rows, weight_step, started, b) -> None:
            restart(rows, started, n_clusters, weight_step, min_size, draws[b])

        return self._each(work, labels, places)

    def climb(self, starts: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Climb from `starts`, each at the sparsity of its place; return labels and objectives."""
        objectives = np.empty(len(starts))
        n_clusters, min_size = self.partition.n_clusters, self.partition.min_size

        def work(rows, weight_step, labels, b) -> None:
            objectives[b] = climb(rows, labels, n_clusters, weight_step, min_size, SMALL_GAIN)

        return self._each(work, starts, places), objectives

    def _each(self, work, labels, places) -> np.ndarray:
        """Return what `work` makes of each partition, at the sparsity of its place."""
        done = np.empty_like(labels)

        def work_on(b: int) -> None:
            changed = labels[b].astype(np.int32)
            work(*self._spaces[places[b]], changed, b)
            done[b] = changed

        take_turns(work_on, len(labels), self.partition.n_threads)
        return done


# Climbs of a search with n_init = 1 are this number over the square root of n_samples * n_clusters
# * n_features, times the fourth root of the number of sparsities: they help each other.
EFFORT = 32_000
# The generations they are divided into, each for n_init = 1 of at most so many: on tiny data more
# climbs find nothing more. The starts are as many climbs as a generation.
GENERATIONS = 20
# Partitions kept at every sparsity.
CAPACITY = 5
# The share of children that start afresh on other features, in place of being crossed.
RESTARTED = 0.5
# The share of these that do so from a random partition, in place of a pool's.
RANDOM = 0.2
# A gain must be more than rounding.
RELATIVE_GAIN = 1e-12


class Search:
    """Search the best partition at every sparsity of a path.

    The climber has the data, the sparsities and the local search; `n_init` scales the number of
    climbs.
    """

    def __init__(self, climber: ExchangeClimb, n_init: int, rng: np.random.Generator) -> None:
        self.climber = climber
        self.n_clusters = climber.partition.n_clusters
        self.rng = rng
        n_samples, n_features, self.n_places = climber.shape
        size = float(n_samples) * n_features * self.n_clusters
        per_init = min(EFFORT / np.sqrt(size), GENERATIONS**2)
        self.n_climbs = n_init * per_init * self.n_places**0.25
        self.n_children = int(np.ceil(self.n_climbs / GENERATIONS))
        self.pools = [Pool(self.n_clusters, CAPACITY) for _ in range(self.n_places)]
        self.climbed = 0

    def start(self) -> None:
        """Climb from k-means++ seeds, and offer the ends along the path."""
        starts = self.climber.draw_starts(max(2, self.n_children), self.rng)
        # Spread over the path; where they are fewer than sparsities, evenly.
        places = np.arange(len(starts)) * max(1, self.n_places // len(starts)) % self.n_places
        self.climb(starts, places)
        while not all(len(pool) for pool in self.pools):
            self._climb_pairs(self._offers())

    def climb(self, starts: np.ndarray, places: np.ndarray) -> None:
        """Climb from partitions, each at the sparsity of its place, and take in what is reached.

        To climb from one again would reach the same; it counts nevertheless.
        """
        self.climbed += len(starts)
        pairs = zip(starts, places, strict=True)
        is_new = [self.pools[place].remember_start(labels) for labels, place in pairs]
        starts, places = starts[is_new], places[is_new]
        if not len(starts):
            return
        ends, objectives = self.climber.climb(starts, places)
        for labels, place, objective in zip(ends, places, objectives, strict=True):
            self.pools[place].add(labels, objective)

    def evolve(self, max_generations: int, report: Callable[[int], None]) -> int:
        """Make generations until the climbs are used up; return how many there were.

        `report` is called with the number of generations done since it was called last; those
        left out count as done. `ended` is False where the last generation
        still gained and more climbs were left.
        """
        generation, before = 0, self.best_objectives
        while generation < max_generations and (generation == 0 or self.climbed < self.n_climbs):
            before = self.best_objectives
            self._climb_pairs([*self._children(), *self._offers()])
            generation += 1
            report(1)
        report(max_generations - generation)
        cut = self.climbed < self.n_climbs
        self.ended = ~(cut & (self.best_objectives > before * (1 + RELATIVE_GAIN)))
        return generation

    @property
    def best(self) -> list[np.ndarray]:
        """The best partition at every sparsity."""
        return [pool.best for pool in self.pools]

    @property
    def best_objectives(self) -> np.ndarray:
        """Their objectives."""
        return np.array([pool.best_objective for pool in self.pools])

    def _climb_pairs(self, pairs) -> None:
        pairs = list(pairs)
        if pairs:
            self.climb(np.array([labels for labels, _ in pairs]), np.array([i for _, i in pairs]))

    def _children(self) -> Iterator[tuple[np.ndarray, int]]:
        """Yield crossed partitions of one pool or of neighbouring ones, at places by turns."""
        first = int(self.rng.integers(self.n_places))
        places = (first + np.arange(self.n_children)) % self.n_places
        others = places + self.rng.integers(-1, 2, size=len(places))
        others = np.clip(others, 0, self.n_places - 1)
        children = np.empty((len(places), self.climber.shape[0]), np.int32)
        restarted = self.rng.random(len(places)) < RESTARTED
        ranks = self.rng.random((len(places), 2))
        for child, place, other, rank, fresh in zip(
            children, places, others, ranks, restarted, strict=True
        ):
            father = self.pools[other].draw(rank[0])
            if fresh:
                child[:] = father
                continue
            mother = self.pools[place].draw(rank[1])
            draws = self.rng.random(len(child) + self.n_clusters)
            cross(mother, father, self.n_clusters, draws, child)
        at_random = restarted & (self.rng.random(len(places)) < RANDOM)
        size = np.count_nonzero(at_random), children.shape[1]
        children[at_random] = self.rng.integers(self.n_clusters, size=size, dtype=np.int32)
        draws = self.rng.random((np.count_nonzero(restarted), 2 * self.n_clusters))
        children[restarted] = self.climber.restart(children[restarted], places[restarted], draws)
        yield from zip(children, places, strict=True)

    def _offers(self) -> Iterator[tuple[np.ndarray, int]]:
        """Yield the best of every pool for each neighbour that has not had it."""
        for place in range(self.n_places):
            for other in (place - 1, place + 1):
                if 0 <= other < self.n_places and len(self.pools[other]):
                    best = self.pools[other].best
                    if self.pools[place].is_new_start(best):
                        yield best, place
