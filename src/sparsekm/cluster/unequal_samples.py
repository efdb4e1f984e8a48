"""Samples that do not all count alike: by weights, or because outliers are set aside.

The search is given samples as often as their weights say; rounded weights are refined in the end.
Outliers make clusters of their own, so some samples are set aside before anything is searched, by
trimmed k-means on all features (Cuesta-Albertos, Gordaliza & Matran 1997,
doi:10.1214/aos/1031833664), and in turn with refinement from the end of the search, as in RSKC
(Kondo et al. 2016, doi:10.18637/jss.v072.i05).
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.cluster.alternation import (
    RELATIVE_GAIN,
    refine_until_fixed_point,
    share_partitions,
    weigh_partition,
)
from sparsekm.cluster.kmeans.many_samples import square_distances
from sparsekm.cluster.matrices.containers import StreamedMatrix
from sparsekm.cluster.matrices.matrix import FeatureMatrix, cluster_sizes, matrix_sums
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.cluster.partition_step import (
    SEEDING_SAMPLE,
    KMeansPartition,
    canonical_labels,
    label_everyone,
)
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.cluster.validation import check_numbers, check_share
from sparsekm.runtime.random_state import draw_samples, seed_sequence
from sparsekm.runtime.threads import one_blas_thread

# The common unit is looked for among the smallest weight and its parts, up to this one.
MOST_PARTS = 10
# How often samples of other weights are given, on average.
REPEATS = 8
# Samples whose values are made float64 at once.
SAMPLES_AT_ONCE = 4096


def check_unequal(X: FeatureMatrix, trim: float, n_clusters: int, min_size: int) -> None:
    """Refuse to trim what is streamed, or beyond what the clusters need, or beside weights."""
    n_trimmed = count_trimmed(trim, X.n_samples, n_clusters, min_size)
    if n_trimmed and isinstance(X, StreamedMatrix):
        raise ValueError(f"trim={trim} should be 0 for a StreamedMatrix: give the array in memory.")
    if X.sample_weight is not None:
        refuse_counted(trim, min_size)


def fit_samples(
    X: FeatureMatrix,
    partition: KMeansPartition,
    weight_steps,
    fit_some,
    *,
    trim: float,
    n_starts: int,
    seed: Any,
) -> tuple[list[Fit], np.ndarray]:
    """Fit samples by their weights, or without those trimmed.

    `fit_some` searches samples, given their numbers, that all count alike.
    """
    if X.sample_weight is not None:
        return fit_weighted(X, partition, weight_steps, fit_some)
    n_trimmed = count_trimmed(trim, X.n_samples, partition.n_clusters, partition.min_size)
    if n_trimmed == 0:
        return fit_some(X, np.arange(X.n_samples))
    # A grandchild: the search spawns children.
    seeds = seed_sequence(seed).spawn(1)[0].spawn(1)[0]
    best_start = partial(start_trimmed, X, partition, n_trimmed, n_starts, seeds)
    kept = best_start(np.ones(X.n_features))[1]
    fits, first = fit_some(X.take(kept), kept)
    settle = partial(_settle, X, partition.exact, n_trimmed, best_start, kept)
    return [settle(step, fit) for step, fit in zip(weight_steps, fits, strict=False)], first


def check_sample_weight(weights: ArrayLike, n_samples: int) -> np.ndarray:
    """Return a user's weights as float64: one per sample, none negative, not all 0."""
    sample_weight = check_numbers("sample_weight", weights)
    if sample_weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight: shape={sample_weight.shape} should be (n_samples,)=({n_samples},)."
        )
    lowest = int(sample_weight.argmin())
    if sample_weight[lowest] < 0 or not sample_weight.any():
        raise ValueError(
            f"sample_weight[{lowest}]={sample_weight[lowest]} should be >= 0, and not all zero."
        )
    return sample_weight


def refuse_counted(trim: float, min_cluster_size: int = 1) -> None:
    """Refuse, beside weights, what counts samples."""
    for name, value, rule in (("trim", trim, 0), ("min_cluster_size", min_cluster_size, 1)):
        if value != rule:
            raise ValueError(
                f"{name}={value} should be {rule} with sample_weight: it counts samples."
            )


def with_weights(matrix: Any, sample_weight: np.ndarray | None) -> Any:
    """Return a matrix, not copied, with the weights of its samples."""
    weighted = copy(matrix)
    weighted.sample_weight = sample_weight
    return weighted


def repeat_counts(sample_weight: np.ndarray, n_samples: int) -> tuple[np.ndarray, float]:
    """Return how often each sample is given, and the weight of each time.

    Weights that are no small multiples of a common unit are rounded so that running sums are met.
    """
    most = 2 * max(SEEDING_SAMPLE, n_samples)
    for parts in range(1, MOST_PARTS + 1):
        unit = sample_weight.min() / parts
        counts = np.rint(sample_weight / unit)
        if counts.sum() <= most and _are_met(sample_weight, counts, unit):
            return counts.astype(np.int64), float(unit)
    unit = sample_weight.mean() * max(len(sample_weight) / most, 1 / REPEATS)
    ends = np.rint(np.cumsum(sample_weight / unit)).astype(np.int64)
    # Beside very large weights the others would not be given at all.
    return np.maximum(np.diff(ends, prepend=0), 1), float(unit)


def _are_met(sample_weight, counts, unit) -> bool:
    return np.allclose(counts * unit, sample_weight, rtol=1e-9, atol=0)


def repeat_samples(weights: ArrayLike, n_samples: int) -> np.ndarray:
    """Return the samples, ascending, each as often as its weight says, about."""
    sample_weight = check_sample_weight(weights, n_samples)
    given = np.flatnonzero(sample_weight)
    counts, _ = repeat_counts(sample_weight[given], n_samples)
    return np.repeat(given, counts)


def fit_weighted(
    X: FeatureMatrix, partition: KMeansPartition, weight_steps, fit_some
) -> tuple[list[Fit], np.ndarray]:
    """Fit samples by their weights, from fits of samples given as often as they count."""
    counts, unit = repeat_counts(X.sample_weight, X.n_samples)
    rows = np.repeat(np.arange(X.n_samples), counts)
    sample = with_weights(X, None)
    if not (counts == 1).all():
        sample = sample.take(rows)
    fits, first = fit_some(sample, rows)
    given, places = np.unique(rows, return_index=True)
    if _are_met(X.sample_weight, counts, unit):
        found = []
        for fit in fits:
            scaled = {"scores": fit.scores * unit, "objective": fit.objective * unit}
            found.append(replace(fit, labels=fit.labels[places], **scaled))
        return found, first * unit
    found, exact = [], WeightedPartition(partition.n_clusters, partition.n_threads)
    for weight_step, fit in zip(weight_steps, fits, strict=False):
        labels = partition.extend(X, fit.weights, sample, fit.labels)
        labels[given] = fit.labels[places]
        start = weigh_partition(X, exact, weight_step, partition.admit(X, labels), fit.n_iter)
        refined = refine_until_fixed_point(X, exact, weight_step, start)
        found.append(replace(refined, converged=refined.converged and fit.converged))
    return share_partitions(X, exact, weight_steps[: len(found)], found), first * unit


@dataclass(frozen=True)
class WeightedPartition:
    """k-means of weighted samples from a partition: Lloyd's iteration."""

    n_clusters: int
    n_threads: int = 1

    def refine(self, X: FeatureMatrix, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Move samples to their nearest centre while that gains and leaves no cluster empty."""
        support = np.flatnonzero(weights)
        X, values = with_weights(X.select(support), X.sample_weight), weights[support]
        centers, scores = describe_weighted(X, labels, self.n_clusters)
        objective, gained, moved = -np.inf, values @ scores, labels
        while gained > objective * (1 + RELATIVE_GAIN):
            labels, objective = moved, gained
            moved = label_everyone(X, values, centers, self.n_threads)
            if cluster_sizes(moved, self.n_clusters).min() == 0:
                break
            centers, scores = describe_weighted(X, moved, self.n_clusters)
            gained = values @ scores
        return canonical_labels(labels, self.n_clusters)

    def scores(self, X: FeatureMatrix, labels: np.ndarray) -> np.ndarray:
        """Return the scores a_j."""
        return describe_weighted(X, labels, self.n_clusters)[1]


@one_blas_thread
def describe_weighted(X, labels, n_clusters) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means of all clusters, (n_features, n_clusters), of centred data, and a_j."""
    shares, unit = np.zeros((X.n_samples, n_clusters)), X.sample_weight.mean()
    shares[np.arange(X.n_samples), labels] = X.sample_weight / unit
    block, masses = X.block, shares.sum(axis=0)
    if isinstance(block, SparseBlock):
        sums = block.rows.T @ shares - block.means[:, None] * masses
    else:
        sums = np.zeros((X.n_features, n_clusters))
        for start in range(0, X.n_samples, SAMPLES_AT_ONCE):
            part = slice(start, start + SAMPLES_AT_ONCE)
            sums += block[:, part].astype(np.float64) @ shares[part]
    means = sums / np.where(masses > 0, masses, 1.0)
    # Beside one very large weight a difference of squares would be rounding.
    everyone = sums.sum(axis=1, keepdims=True) / masses.sum()
    return means, unit * (np.square(means - everyone) @ masses)


# Steps of every start of trimmed k-means, and of the best of them.
FEW_STEPS = 2
MOST_STEPS = 20
# A better sum of squares must be better by more than rounding.
RELATIVE_LOSS = 1e-9
# Starts where an estimator does not say how many.
N_STARTS = 10

# Nearest centres of all samples, the samples kept, ascending, and their squared distances.
Trimmed = tuple[np.ndarray, np.ndarray, np.ndarray]


def count_trimmed(trim: float, n_samples: int, n_clusters: int, min_size: int) -> int:
    """Return how many samples are set aside; the others have to suffice for the clusters."""
    n_trimmed = int(check_share("trim", trim) * n_samples + 1e-9)
    if n_trimmed and n_samples - n_trimmed < n_clusters * min_size:
        raise ValueError(
            f"trim={trim} leaves {n_samples - n_trimmed} of n_samples={n_samples}; should leave "
            f">= n_clusters * min_cluster_size={n_clusters * min_size}."
        )
    return n_trimmed


def first_kept(X: FeatureMatrix, n_clusters: int, n_trimmed: int, seed: int) -> np.ndarray:
    """Return the samples, ascending, that trimmed k-means on all features keeps."""
    partition, seeds = KMeansPartition(n_clusters), np.random.SeedSequence(seed)
    return start_trimmed(X, partition, n_trimmed, N_STARTS, seeds, np.ones(X.n_features))[1]


def keep_nearest(X: FeatureMatrix, centers, weights, n_trimmed: int) -> np.ndarray:
    """Return all samples, ascending, but those farthest from their nearest centre.

    `centers` (n_clusters, n_features) are on the scale of the data as they came.
    """
    problem = _TrimmedKMeans(X, weights, KMeansPartition(len(centers)), n_trimmed)
    return problem.set_aside((centers - X.means)[:, weights > 0].T)[1]


def _settle(X, partition, n_trimmed, best_start, kept, weight_step, fit) -> Fit:
    """Set aside and refine in turn until the samples set aside were so before.

    Then trimmed k-means is started anew under the weights; what is better goes on.
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


def start_trimmed(
    X: FeatureMatrix, partition: KMeansPartition, n_trimmed, n_starts, seeds, weights
) -> Trimmed:
    """Run trimmed k-means from drawn centres, of many samples on some, the best to its end."""
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
        """Keep the samples nearest to their centres, of equals the first."""
        labels = label_everyone(self.X, self.values, centers, self.n_threads)
        distances = square_distances(self.X, self.values, centers, labels)
        kept = np.sort(np.argsort(distances, kind="stable")[: self.n_kept])
        return labels, kept, distances[kept]

    def average(self, kept: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the centres of the samples kept, that of all for a cluster without any."""
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
        """Draw samples by k-means++, but none of the farthest so far: these are the outliers."""
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
