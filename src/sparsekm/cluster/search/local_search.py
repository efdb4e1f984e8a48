"""The local search: weights and partition improved together until a round gains little.

Few samples move one at a time (`sparsekm.cluster.kmeans.climb`), many all at once
(`sparsekm.cluster.kmeans.batch_exchange`). Independent climbs share the threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparsekm.cluster.alternation import Fit, alternate, weigh_partition, weigh_scores
from sparsekm.cluster.kmeans.climb import climb
from sparsekm.cluster.kmeans.seeding import nearest_seeds, restart
from sparsekm.cluster.matrices.embedding import embed_samples
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition
from sparsekm.cluster.search.crossover import canonical_labels
from sparsekm.cluster.search.pool import partition_key
from sparsekm.cluster.weight_step import CompiledStep, TopFeatures, WeightStep
from sparsekm.runtime.threads import run_in_slices


class ExchangeClimb:
    """Exchange one sample at a time: thorough, for few samples in memory."""

    def __init__(
        self, X: CentredMatrix, partition: KMeansPartition, weight_steps: Sequence[CompiledStep]
    ) -> None:
        self.X = X
        self.rows = X.rows
        self.partition = partition
        self.weight_steps = weight_steps
        n, p = self.rows.shape
        self.shape = n, p, len(weight_steps)
        # Where all features count alike, the samples are climbed in as few dimensions as they are.
        alike = [step.keeps_all(p) and n < p for step in weight_steps]
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
        starts = np.empty((n_starts, len(self.rows)), np.int32)
        _take_turns(
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

        _take_turns(work_on, len(labels), self.partition.n_threads)
        return done


class BatchClimb:
    """Exchange many samples at once: for many samples, also where they are streamed."""

    def __init__(
        self, X: Matrix, partition: KMeansPartition, weight_steps: Sequence[WeightStep]
    ) -> None:
        self.X = X
        self.partition = partition
        self.weight_steps = weight_steps
        self.shape = X.n_samples, X.n_features, len(weight_steps)
        # Side by side, climbs of a matrix larger than memory would hold twice its blocks.
        self._n_workers = partition.n_threads if isinstance(X, CentredMatrix) else 1
        self._scores: dict[bytes, np.ndarray] = {}

    def restart(self, labels: np.ndarray, places: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return the partitions as they are: fresh starts were made on a sample."""
        return labels

    def climb(self, starts: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Climb from `starts`, each at the sparsity of its place; return labels and objectives."""
        ends, objectives = np.empty_like(starts), np.empty(len(starts))
        n_workers = min(self._n_workers, len(starts))
        alone = self.partition.sharing(n_workers)

        def work(b: int) -> None:
            fit = self._climb_from(starts[b], self.weight_steps[places[b]], alone)
            ends[b] = canonical_labels(fit.labels, alone.n_clusters)
            objectives[b] = fit.objective
            self._scores[partition_key(ends[b])] = fit.scores

        _take_turns(work, len(starts), n_workers)
        return ends, objectives

    def fit(self, labels: np.ndarray, place: int, n_iter: int) -> Fit:
        """Weigh a partition that was climbed to."""
        scores = self._scores[partition_key(labels)]
        return weigh_scores(self.weight_steps[place], labels, scores, n_iter)

    def _climb_from(self, labels, weight_step, partition):
        scores = self._scores.get(partition_key(labels))
        labels = labels.astype(np.int32)
        if scores is None:
            labels = partition.admit(self.X, labels)
            start = weigh_partition(self.X, partition, weight_step, labels)
        else:
            start = weigh_scores(weight_step, labels, scores)
        return alternate(
            self.X,
            partition,
            weight_step,
            self.X.n_features,
            start=start,
            restart=False,
            gain=SMALL_GAIN,
        )


def _take_turns(work: Callable[[int], None], n_items: int, n_workers: int) -> None:
    """Call `work` on every item; a worker that is done with one takes the next.

    The last items come first: they are those of dense sparsities, which take longest.
    """
    left = iter(range(n_items - 1, -1, -1))

    def work_through(first: int, last: int) -> None:
        # All workers take from one iterator.
        for item in left:
            work(item)

    run_in_slices(work_through, n_workers, n_workers)
