"""The global search on few samples: a memetic algorithm with one population per sparsity.

Algorithm 1 of the paper ends in poor local optima: with many noise features the first k-means, on
all of them, decides too much. Here populations of partitions, one per sparsity of the path, are
improved by crossing (`crossover`) and climbing (`climb`), and neighbouring sparsities exchange
their best. A single fit is a path of one sparsity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsekm.cluster.climb import climb_each
from sparsekm.cluster.crossover import canonical_labels, cross_each
from sparsekm.cluster.embedding import embed_samples
from sparsekm.cluster.seeding import seed_by_neighbourhoods
from sparsekm.cluster.threads import run_in_slices
from sparsekm.cluster.weight_step import EQUAL, SOFT

NEIGHBOURHOOD = 15
# Partitions kept per sparsity of a path; a single sparsity has no neighbours and keeps more.
POPULATION = 10
MUTATION = 0.05
PATIENCE = 8
MAX_ROUNDS = 1000
# A gain must be more than rounding.
RELATIVE_GAIN = 1e-12


class Population:
    """The best distinct partitions found at one sparsity."""

    def __init__(self, n_clusters: int, capacity: int) -> None:
        self.n_clusters = n_clusters
        self.capacity = capacity
        self._members: dict[bytes, tuple[float, np.ndarray]] = {}

    def add(self, labels: np.ndarray, objective: float) -> None:
        """Take a partition in, unless it is known; the weakest beyond the capacity leaves."""
        labels = canonical_labels(labels, self.n_clusters)
        self._members[labels.tobytes()] = (objective, labels)
        if len(self._members) > self.capacity:
            weakest = min(self._members, key=lambda key: (self._members[key][0], key))
            del self._members[weakest]

    @property
    def members(self) -> list[np.ndarray]:
        """The partitions, best first."""
        ranked = sorted(self._members.items(), key=lambda item: (-item[1][0], item[0]))
        return [labels for _, (_, labels) in ranked]

    @property
    def best_objective(self) -> float:
        """The largest objective."""
        return max(objective for objective, _ in self._members.values())


class MemeticSearch:
    """Search the best partition at every sparsity of a path.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features), float64
        Centred data.
    n_clusters : int
    code : int
        The weight step in its compiled form.
    bounds : ndarray of shape (n_sparsities,)
        The sparsities, ascending.
    min_size : int
        Smallest cluster allowed.
    n_init : int
        Scales the effort. One sparsity takes twenty times as many starts, and four times as many
        children a generation; a path of many half as many starts in all, and seven tenths as many
        children for every sparsity.
    rng : numpy.random.Generator
    n_threads : int
    """

    def __init__(self, rows, n_clusters, code, bounds, min_size, n_init, rng, n_threads=1):
        self.rows = rows
        self.n_clusters = n_clusters
        self.code = code
        self.bounds = np.asarray(bounds, dtype=np.float64)
        self.min_size = min_size
        self.n_starts = max(20 * n_init // len(bounds), 10 * n_init, 10 * len(bounds))
        self.n_children = max(4 * n_init // len(bounds), -(-7 * n_init // 10))
        self.rng = rng
        self.n_threads = n_threads
        # Where all features count alike, the samples are climbed in as few dimensions as they are.
        n, p = rows.shape
        self._alike = (self.code != SOFT) & (self.bounds >= p) & (n < p)
        self._embedded = embed_samples(rows) if self._alike.any() else rows
        capacity = max(2 * POPULATION // len(bounds), POPULATION)
        self.populations = [Population(n_clusters, capacity) for _ in self.bounds]

    def run(
        self,
        max_generations: int,
        labels: np.ndarray | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[np.ndarray, int, np.ndarray]:
        """Evolve until no population has gained for `PATIENCE` generations.

        Parameters
        ----------
        max_generations : int
        labels : ndarray of shape (n_samples,), int32, optional
            A partition to start from beside the others.
        progress : callable, optional
            Called with the number of generations done and their largest number.

        Returns
        -------
        best : ndarray of shape (n_sparsities, n_samples), int32
            The best partition found at every sparsity.
        n_generations : int
        settled : bool array of shape (n_sparsities,)
            False where the last generation still found a better partition.
        """
        starts = self._starts()
        self._climb(starts, np.arange(len(starts)) % len(self.bounds))
        if labels is not None:
            everywhere = np.arange(len(self.bounds))
            self._climb(np.repeat(labels[None], len(everywhere), axis=0), everywhere)
        best = self._best()
        since = 0
        for generation in range(1, max_generations + 1):
            self._evolve()
            improved = self._best()
            settled = improved <= best * (1 + RELATIVE_GAIN)
            since = since + 1 if settled.all() else 0
            best = improved
            if progress is not None:
                progress(generation, max_generations)
            if since >= PATIENCE:
                break
        if progress is not None:
            progress(max_generations, max_generations)
        found = np.array([population.members[0] for population in self.populations])
        return found, generation, settled

    def _best(self) -> np.ndarray:
        return np.array([population.best_objective for population in self.populations])

    def _starts(self) -> np.ndarray:
        n, p = self.rows.shape
        features = self.rng.integers(p, size=self.n_starts)
        draws = self.rng.random((self.n_starts, self.n_clusters))
        starts = np.empty((self.n_starts, n), np.int32)
        run_in_slices(
            lambda first, last: seed_by_neighbourhoods(
                self.rows, features, NEIGHBOURHOOD, self.n_clusters, draws, first, last, starts
            ),
            self.n_starts,
            self.n_threads,
        )
        return starts

    def _climb(self, starts: np.ndarray, places: np.ndarray) -> None:
        """Climb from `starts`, each at the sparsity of its place, and add what is reached."""
        objectives = np.empty(len(starts))
        alike = self._alike[places]
        for chosen, rows, code in (
            (np.flatnonzero(~alike), self.rows, self.code),
            (np.flatnonzero(alike), self._embedded, EQUAL),
        ):
            ends, reached = starts[chosen], np.empty(len(chosen))
            self._climb_on(rows, code, ends, self.bounds[places[chosen]], reached)
            starts[chosen], objectives[chosen] = ends, reached
        for labels, place, objective in zip(starts, places, objectives, strict=True):
            self.populations[place].add(labels, objective)

    def _climb_on(self, rows, code, starts, bounds, objectives) -> None:
        run_in_slices(
            lambda first, last: climb_each(
                rows,
                starts,
                self.n_clusters,
                code,
                bounds,
                self.min_size,
                MAX_ROUNDS,
                first,
                last,
                objectives,
            ),
            len(starts),
            self.n_threads,
        )

    def _evolve(self) -> None:
        members = [population.members for population in self.populations]
        m = len(members)
        mothers, fathers, places = [], [], []
        for place in range(m):
            for _ in range(self.n_children):
                other = min(max(place + int(self.rng.integers(-1, 2)), 0), m - 1)
                mothers.append(self._draw(members[place]))
                fathers.append(self._draw(members[other]))
                places.append(place)
        children = np.empty((len(mothers), self.rows.shape[0]), np.int32)
        draws = self.rng.random((len(mothers), 3 * children.shape[1] + self.n_clusters))
        cross_each(np.array(mothers), np.array(fathers), self.n_clusters, MUTATION, draws, children)
        migrants = [(members[o][0], i) for i in range(m) for o in (i - 1, i + 1) if 0 <= o < m]
        if migrants:
            children = np.concatenate([children, [labels for labels, _ in migrants]])
            places += [place for _, place in migrants]
        self._climb(np.ascontiguousarray(children), np.array(places))

    def _draw(self, members: list[np.ndarray]) -> np.ndarray:
        return members[int(self.rng.integers(len(members)))]
