"""The local search: weights and partition improved together until a round gains little.

Few samples move one at a time (`sparsekm.cluster.kmeans.climb`), many all at once
(`sparsekm.cluster.kmeans.batch_exchange`). Independent climbs share the threads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsekm.cluster.kmeans.climb import climb
from sparsekm.cluster.kmeans.seeding import nearest_seeds, restart
from sparsekm.cluster.matrices.embedding import embed_samples
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.partition_step import SMALL_GAIN, KMeansPartition
from sparsekm.cluster.weight_step import CompiledStep, TopFeatures
from sparsekm.runtime.threads import take_turns


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
