"""Starts: partitions proposed to Algorithm 1, which runs from each of them and keeps the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparsekm.cluster.correlation_scores import correlation_scores
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.partition_step import SEEDING_SAMPLE, KMeansPartition
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.weight_step import WeightStep
from sparsekm.runtime.random_state import draw_samples

# What `init` may be beside labels and None.
STARTS = ["random", "screened", "correlated"]


class Start(Protocol):
    """What Algorithm 1 asks of a start."""

    def propose(
        self, X: Matrix, partition: KMeansPartition, weight_step: WeightStep
    ) -> list[np.ndarray]:
        """Return partitions, each of shape (n_samples,), to run from at this sparsity."""
        ...


@dataclass(frozen=True)
class GivenLabels:
    """The partition that the user gives.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,), int32
    """

    labels: np.ndarray

    def propose(self, X, partition, weight_step) -> list[np.ndarray]:
        """Return the given partition, with short clusters filled."""
        return [partition.admit(X, self.labels)]


@dataclass(frozen=True)
class RandomLabels:
    """Every sample in a cluster drawn at random.

    Attributes
    ----------
    n_starts : int
    seeds : numpy.random.SeedSequence
    """

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
    """k-means on the features with the highest scores.

    Attributes
    ----------
    scores : ndarray of shape (n_features,)
        How far the distribution of each is from a Gaussian, `sparsekm.cluster.screening`, or how
        much it correlates with others, `sparsekm.cluster.correlation_scores`. Features with a
        score of 0 are left out, unless all have it.
    n_starts : int
        Runs of k-means; the best of them is the start.
    seeds : numpy.random.SeedSequence
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


def screen(X: Matrix, statistic: str, rng: np.random.Generator, n_threads: int = 1) -> np.ndarray:
    """Score the features of a matrix by a sample of its samples, or by all where they are few.

    `statistic` is one of `sparsekm.cluster.screening.marginal_scores`, or "correlation".
    """
    columns = X.take(draw_samples(X.n_samples, SEEDING_SAMPLE, rng)).columns
    if statistic == "correlation":
        return np.sqrt(correlation_scores(columns, n_threads))
    return marginal_scores(columns.T, statistic, n_jobs=n_threads)


def make_start(init, X: Matrix, n_starts: int, seeds, n_threads: int = 1) -> Start | None:
    """Turn a checked `init` into a start, or None for the engine's own.

    Where no feature correlates with another, "correlated" has nothing to propose.
    """
    if init is None or hasattr(init, "propose"):
        return init
    if not isinstance(init, str):
        return GivenLabels(init)
    own, sampling = seeds.spawn(2)
    if init == "random":
        return RandomLabels(n_starts, own)
    statistic = {"screened": "mixture", "correlated": "correlation"}[init]
    scores = screen(X, statistic, np.random.default_rng(sampling), n_threads)
    if init == "correlated" and not scores.any():
        return None
    return ScreenedFeatures(scores, n_starts, own)


def _generators(start) -> list[np.random.Generator]:
    # A copy of the seeds: every sparsity draws the same.
    seeds = np.random.SeedSequence(start.seeds.entropy, spawn_key=start.seeds.spawn_key)
    return [np.random.default_rng(seed) for seed in seeds.spawn(start.n_starts)]
