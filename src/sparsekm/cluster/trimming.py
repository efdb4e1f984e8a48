"""Set aside outliers, which would otherwise form clusters.

Before the search, trimmed k-means on all features sets aside some samples (Cuesta-Albertos,
Gordaliza & Matran 1997, doi:10.1214/aos/1031833664). After the search, trimming and refinement
alternate, as in RSKC (Kondo et al. 2016, doi:10.18637/jss.v072.i05).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sparsekm.cluster.alternation import refine_until_fixed_point, weigh_partition
from sparsekm.cluster.kmeans.many_samples import square_distances
from sparsekm.cluster.matrices.matrix import FeatureMatrix, cluster_sizes, matrix_sums
from sparsekm.cluster.matrices.streamed_matrix import StreamedMatrix
from sparsekm.cluster.partition_step import KMeansPartition, label_in_blocks
from sparsekm.cluster.sample_weights import fit_weighted, refuse_counted
from sparsekm.cluster.sparsity_path import Fit, Found
from sparsekm.cluster.validation import check_share
from sparsekm.runtime.random_state import draw_samples, seed_sequence


def check_unequal(X: FeatureMatrix, trim: float, n_clusters: int, min_size: int) -> None:
    """Refuse to trim streamed or weighted data, or to leave too few samples for the clusters."""
    n_trimmed = count_trimmed(trim, X.n_samples, n_clusters, min_size)
    if n_trimmed and isinstance(X, StreamedMatrix):
        raise ValueError(f"trim={trim} should be 0 for a StreamedMatrix. Give the array in memory.")
    if X.sample_weight is not None:
        refuse_counted(trim, min_size)


def fit_samples(problem, fit_some, trim, n_starts, seed) -> Found:
    """Fit weighted samples, or trimmed ones.

    `fit_some` searches samples of equal weight, which are given by their numbers.
    """
    X, partition, weight_steps = problem
    if X.sample_weight is not None:
        return fit_weighted(*problem, fit_some)
    n_trimmed = count_trimmed(trim, X.n_samples, partition.n_clusters, partition.min_size)
    if n_trimmed == 0:
        return fit_some(X, np.arange(X.n_samples))
    # This is a grandchild, because the search spawns children.
    seeds = seed_sequence(seed).spawn(1)[0].spawn(1)[0]
    best_start = partial(start_trimmed, X, partition, n_trimmed, n_starts, seeds)
    kept = best_start(np.ones(X.n_features))[1]
    fits, first = fit_some(X.take(kept), kept)
    settle = partial(_settle, X, partition.exact, n_trimmed, best_start, kept)
    return [settle(step, fit) for step, fit in zip(weight_steps, fits, strict=False)], first


# Steps of every start of trimmed k-means, and of the best start.
FEW_STEPS = 2
MOST_STEPS = 20
# A better sum of squares must be better by more than rounding.
RELATIVE_LOSS = 1e-9
# The number of starts if an estimator does not set it.
N_STARTS = 10

# The nearest centres of all samples; the kept samples, ascending; and their squared distances.
Trimmed = tuple[np.ndarray, np.ndarray, np.ndarray]


def count_trimmed(trim: float, n_samples: int, n_clusters: int, min_size: int) -> int:
    """Return how many samples are set aside; check that the others suffice for the clusters."""
    n_trimmed = int(check_share("trim", trim) * n_samples + 1e-9)
    if n_trimmed and n_samples - n_trimmed < n_clusters * min_size:
        raise ValueError(
            f"trim={trim} leaves {n_samples - n_trimmed} of n_samples={n_samples}; should leave "
            f">= n_clusters * min_cluster_size = {n_clusters * min_size}."
        )
    return n_trimmed


def first_kept(X: FeatureMatrix, n_clusters: int, n_trimmed: int, seed: int) -> np.ndarray:
    """Return, ascending, the samples that trimmed k-means on all features keeps."""
    partition, seeds = KMeansPartition(n_clusters), np.random.SeedSequence(seed)
    return start_trimmed(X, partition, n_trimmed, N_STARTS, seeds, np.ones(X.n_features))[1]


def keep_nearest(X: FeatureMatrix, centers, weights, n_trimmed: int) -> np.ndarray:
    """Return all samples, ascending, except those farthest from their nearest centre.

    `centers` (n_clusters, n_features) are on the original scale of the data.
    """
    problem = _TrimmedKMeans(X, weights, KMeansPartition(len(centers)), n_trimmed)
    return problem.set_aside((centers - X.means)[:, weights > 0].T)[1]


def _settle(X, partition, n_trimmed, best_start, kept, weight_step, fit) -> Fit:
    """Alternate trimming and refinement until the same samples are set aside again.

    Then start trimmed k-means anew with the weights, and continue from the better result.
    """
    seen = {kept.tobytes()}
    while True:
        problem = _TrimmedKMeans(X, fit.weights, partition, n_trimmed)
        labels, following, distances = problem.set_aside(problem.average(kept, fit.labels))
        if following.tobytes() in seen:
            labels, following, others = best_start(fit.weights)
            better = np.sum(others) < np.sum(distances) * (1 - RELATIVE_LOSS)
            if not better or following.tobytes() in seen:
                everyone = np.full(X.n_samples, -1, np.int32)
                everyone[kept] = fit.labels
                return replace(fit, labels=everyone)
        seen.add(following.tobytes())
        kept = following
        own = X.take(kept)
        start = partition.admit(own, labels[kept])
        start = weigh_partition(own, partition, weight_step, start, fit.n_iter)
        refined = refine_until_fixed_point(own, partition, weight_step, start)
        fit = replace(refined, converged=refined.converged and fit.converged)


def start_trimmed(X, partition, n_trimmed, n_starts, seeds, weights) -> Trimmed:
    """Run trimmed k-means from drawn centres, on a part of many samples; finish the best run."""
    rng = np.random.default_rng(seeds)
    some = X.take(draw_samples(X.n_samples, partition.sample_size, rng))
    share = n_trimmed * some.n_samples // X.n_samples
    problem = _TrimmedKMeans(some, weights, partition, share)
    starts = [problem.draw_centers(rng) for _ in range(n_starts)]
    tried = [problem.concentrate(start, FEW_STEPS) for start in starts]
    best, _ = min(tried, key=lambda found: found[1])
    centers, _ = problem.concentrate(best, MOST_STEPS)
    return _TrimmedKMeans(X, weights, partition, n_trimmed).set_aside(centers)


class _TrimmedKMeans:
    """k-means of weighted features that sets some samples aside.

    Centres (n_kept_features, n_clusters) are of centred data.
    """

    def __init__(self, X, weights, partition: KMeansPartition, n_trimmed: int) -> None:
        support = np.flatnonzero(weights)
        self.X, self.values = X.select(support), weights[support]
        self.n_clusters, self.n_threads = partition.n_clusters, partition.n_threads
        self.n_kept = X.n_samples - n_trimmed

    def set_aside(self, centers: np.ndarray) -> Trimmed:
        """Keep the samples nearest to their centres; ties go to the first samples."""
        labels = label_in_blocks(self.X, self.values, centers, self.n_threads)
        distances = square_distances(self.X, self.values, centers, labels)
        kept = np.sort(np.argsort(distances, kind="stable")[: self.n_kept])
        return labels, kept, distances[kept]

    def average(self, kept: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the centres of the kept samples; an empty cluster gets the overall centre."""
        sums = matrix_sums(self.X.take(kept), labels, self.n_clusters, self.n_threads)
        return sums / np.maximum(cluster_sizes(labels, self.n_clusters), 1)

    def concentrate(self, centers: np.ndarray, n_steps: int) -> tuple[np.ndarray, float]:
        """Take steps; return centres and the sum of squares within clusters, at the end."""
        before = np.inf
        for _ in range(n_steps):
            labels, kept, distances = self.set_aside(centers)
            within = float(np.sum(distances))
            if within >= before:
                break
            before = within
            centers = self.average(kept, labels[kept])
        return centers, before

    def draw_centers(self, rng: np.random.Generator) -> np.ndarray:
        """Draw samples by k-means++, except the farthest ones, which are the outliers."""
        n_samples = self.X.n_samples
        alone = np.zeros(n_samples, np.int32)
        centers = np.empty((self.X.n_features, self.n_clusters))
        nearest = np.full(n_samples, np.inf)
        chances = np.ones(n_samples)
        for k in range(self.n_clusters):
            place = rng.choice(n_samples, 1, p=chances / chances.sum())
            centers[:, [k]] = matrix_sums(self.X.take(place), alone[:1], 1)
            own = square_distances(self.X, self.values, centers[:, [k]], alone)
            nearest = np.minimum(nearest, own)
            chances = nearest.copy()
            chances[np.argsort(nearest, kind="stable")[self.n_kept :]] = 0.0
            if not chances.any():
                chances[:] = 1.0
        return centers
