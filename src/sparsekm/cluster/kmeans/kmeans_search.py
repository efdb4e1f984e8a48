"""Plain k-means: the best of several starts, refined to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparsekm.cluster.alternation import Fit, weigh_partition
from sparsekm.cluster.matrices.scatter import Matrix
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.weight_step import TopFeatures
from sparsekm.runtime.random_state import draw_samples


def run_kmeans(
    X: Matrix,
    partition: KMeansPartition,
    n_init: int,
    seeds: np.random.SeedSequence,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Run k-means; `max_iter` and `tol` of the partition step end the last refinement.

    `n_iter` of the fit counts the rounds of that refinement.
    """
    labels = _best_start(X, partition, n_init, seeds)
    fit = _refine(X, partition.exact, labels)
    if progress is not None:
        progress(1, 1)
    return fit


def _best_start(X, partition, n_init, seeds) -> np.ndarray:
    """Refine twice `n_init` starts, on a sample where there are many samples; return the best."""
    generators = [np.random.default_rng(seed) for seed in seeds.spawn(n_init)]
    sample, equal = X, np.ones(X.n_features)
    if X.n_samples > partition.sample_size:
        rng = np.random.default_rng(seeds.spawn(1)[0])
        sample = X.take(draw_samples(X.n_samples, partition.sample_size, rng))
        share = partition.min_size * sample.n_samples // X.n_samples
        partition = replace(partition, min_size=max(1, share))
    starts = [partition.start(sample, equal, rng) for rng in [*generators, *generators]]
    best = max(starts, key=lambda labels: float(np.sum(partition.scores(sample, labels))))
    return best if sample is X else partition.extend(X, equal, sample, best)


def _refine(X, partition, labels) -> Fit:
    """Refine until nothing moves, a round gains no more than `tol`, or the rounds run out."""
    equal, rounds, converged = np.ones(X.n_features), 0, False
    while not converged and rounds < partition.max_iter:
        rest = replace(partition, max_iter=partition.max_iter - rounds)
        refined, taken = rest.refine_counted(X, equal, labels)
        rounds += taken
        # With tol=0 a refinement that moved something is tried again from where it ended.
        ended = partition.tol > 0 and taken < rest.max_iter
        converged = ended or np.array_equal(refined, labels)
        labels = refined
    fit = weigh_partition(X, partition, TopFeatures(X.n_features), labels, rounds)
    return replace(fit, converged=converged)
