"""Where Algorithm 1 starts: proposed partitions, restarts, and partitions of neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sparsekm.cluster.alternation import (
    Fit,
    alternate,
    refine_until_fixed_point,
    weigh_partition,
    weigh_scores,
)
from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means, feature_variances
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.cluster.partition_step import SEEDING_SAMPLE, KMeansPartition, PartitionStep
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.weight_step import WeightStep
from sparsekm.runtime.random_state import draw_samples

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
class GivenLabels:
    """The partition that the user gives, int32 of shape (n_samples,)."""

    labels: np.ndarray

    def propose(self, X, partition, weight_step) -> list[np.ndarray]:
        """Return the given partition, with short clusters filled."""
        return [partition.admit(X, self.labels)]


@dataclass(frozen=True)
class RandomLabels:
    """Every sample in a cluster drawn at random."""

    n_starts: int
    seeds: np.random.SeedSequence

    def propose(self, X, partition, weight_step) -> list[np.ndarray]:
        """Return `n_starts` random partitions, the same at every sparsity."""
        return [
            partition.admit(X, rng.integers(partition.n_clusters, size=X.n_samples, dtype=np.int32))
            for rng in _generators(self)
        ]


@dataclass(frozen=True)
class ScreenedFeatures:
    """k-means on the features with the highest scores, the best of `n_starts` runs.

    A score is how far the distribution of a feature is from a Gaussian,
    `sparsekm.cluster.screening`. Features with a score of 0 are left out, unless all have it.
    """

    scores: np.ndarray
    n_starts: int
    seeds: np.random.SeedSequence

    def propose(self, X, partition, weight_step) -> list[np.ndarray]:
        """Weigh the features by their squared scores in place of a_j, and run k-means on them."""
        weights = weight_step.weigh(self.scores**2)
        if self.scores.any():
            weights[self.scores == 0] = 0
        found = [partition.start(X, weights, rng) for rng in _generators(self)]
        return [max(found, key=lambda labels: float(partition.scores(X, labels) @ weights))]


def screen(X: Matrix, rng: np.random.Generator, n_threads: int = 1) -> np.ndarray:
    """Score the features of a matrix by a sample of its samples, or by all where they are few."""
    block = X.take(draw_samples(X.n_samples, SEEDING_SAMPLE, rng)).block
    rows = block.rows if isinstance(block, SparseBlock) else block.T
    return marginal_scores(rows, n_jobs=n_threads)


def make_start(init, X: Matrix, n_starts: int, seeds, n_threads: int = 1) -> Start | None:
    """Turn a checked `init` into a start, or None for the engine's own."""
    if init is None or hasattr(init, "propose"):
        return init
    if not isinstance(init, str):
        return GivenLabels(init)
    own, sampling = seeds.spawn(2)
    if init == "random":
        return RandomLabels(n_starts, own)
    return ScreenedFeatures(screen(X, np.random.default_rng(sampling), n_threads), n_starts, own)


def _generators(start) -> list[np.random.Generator]:
    # A copy of the seeds: every sparsity draws the same.
    seeds = np.random.SeedSequence(start.seeds.entropy, spawn_key=start.seeds.spawn_key)
    return [np.random.default_rng(seed) for seed in seeds.spawn(start.n_starts)]


# A better objective must be better by more than rounding.
RELATIVE_GAIN = 1e-12


def restart_everywhere(
    X: Any,
    partition: PartitionStep,
    weight_steps: Sequence[WeightStep],
    n_features: int,
    generators: Sequence[np.random.Generator],
    *,
    max_iter: int,
    tol: float,
    n_fresh: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Fit]:
    """Run Algorithm 1 at every sparsity, from the largest down, each also from the last one's end.

    Its first partition step weighs all features alike, so it is the same for every sparsity and
    done once per restart. Every sparsity restarts the whole algorithm, and so does every partition
    step within it.

    There is a generator for each restart. With `n_fresh`, so many runs follow at every sparsity,
    each from a partition step on other features (`draw_scores`); X is then an array or sparse.
    """
    equal = np.ones(n_features)
    starts = [partition.start(X, equal, rng) for rng in generators]
    fits: list[Fit] = []
    for done, weight_step in enumerate(reversed(weight_steps), start=1):

        def run(start, rng, weight_step=weight_step) -> Fit:
            return alternate(
                X,
                partition,
                weight_step,
                n_features,
                rng=rng,
                start=start,
                max_iter=max_iter,
                tol=tol,
            )

        weighed = [weigh_partition(X, partition, weight_step, labels) for labels in starts]
        if fits:
            weighed.append(weigh_scores(weight_step, fits[-1].labels, fits[-1].scores))
        best = best_fit(
            [run(start, generators[r % len(generators)]) for r, start in enumerate(weighed)]
        )
        rng = generators[0]
        for fresh in range(n_fresh):
            scores = draw_scores(X, best.labels, rng, among_clusters=fresh % 2 == 0)
            labels = partition.start(X, weight_step.weigh(scores), rng)
            best = best_fit([best, run(weigh_partition(X, partition, weight_step, labels), rng)])
        fits.append(best)
        if progress is not None:
            progress(done, len(weight_steps))
    return fits[::-1]


def draw_scores(
    X: Any, labels: np.ndarray, rng: np.random.Generator, *, among_clusters: bool
) -> np.ndarray:
    """Score features afresh: by how far they tell two clusters, drawn at random, apart.

    Or, where not `among_clusters`, by how strongly they correlate with one drawn at random. X is an
    array or a sparse one, which stays so.
    """
    n_clusters = int(labels.max()) + 1
    if among_clusters and n_clusters > 2:
        a, b = rng.choice(n_clusters, 2, replace=False)
        return (feature_means(X[labels == a]) - feature_means(X[labels == b])) ** 2
    column = as_dense(X[:, [rng.integers(X.shape[1])]])[:, 0]
    # What is centred sums to zero, so the other features need not be centred.
    inner = X.T @ (column - column.mean(dtype=np.float64))
    return inner**2 / np.maximum(len(column) * feature_variances(X), np.finfo(X.dtype).tiny)


def best_fit(fits: Sequence[Fit]) -> Fit:
    """Return the fit of largest objective, the first where alike."""
    return max(fits, key=lambda fit: fit.objective)


def best_weighed(weight_step: WeightStep, fits: Sequence[Fit], own: int) -> Fit:
    """Weigh the labels of every fit by one weight step; return the best, the `own` where alike."""
    values = [np.sum(weight_step.weigh(fit.scores) * fit.scores) for fit in fits]
    best = int(np.argmax(values))
    if values[best] <= fits[own].objective * (1 + RELATIVE_GAIN):
        return fits[own]
    return weigh_scores(weight_step, fits[best].labels, fits[best].scores, fits[own].n_iter)


def share_partitions(X, partition, weight_steps, fits, gain=0.0) -> list[Fit]:
    """Start every sparsity from the best labels of all until no fit can be bettered by another.

    With a `gain`, turns that raise the objective by no more than this share end a fit.
    """
    fits = list(fits)
    improved = True
    while improved:
        improved = False
        for i, weight_step in enumerate(weight_steps):
            start = best_weighed(weight_step, fits, i)
            if start is not fits[i]:
                better = refine_until_fixed_point(X, partition, weight_step, start, gain)
                if better.objective > fits[i].objective:
                    fits[i] = better
                    improved = True
    return fits
