"""Trimming: the samples farthest from their centres are set aside, the others are clustered.

Outliers make clusters of their own, in which they lie at no distance from the centre. So a share of
the samples is set aside before anything is searched, by trimmed k-means on all features (Cuesta-
Albertos, Gordaliza & Matran 1997, doi:10.1214/aos/1031833664). The search for clusters and features
takes the others. From its end the two go on in turn, as in RSKC (Kondo, Salibian-Barrera & Zamar
2016, doi:10.18637/jss.v072.i05): the samples farthest from their centres under the weights are set
aside, and labels and weights of the others refined, until the same samples are set aside again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sparsekm.cluster.alternation import Fit, refine_until_fixed_point, weigh_partition
from sparsekm.cluster.kmeans.many_samples import (
    WeightedFeatures,
    square_distances,
)
from sparsekm.cluster.matrices.scatter import (
    MatrixInMemory,
    cluster_sizes,
    matrix_sums,
)
from sparsekm.cluster.partition_step import KMeansPartition, label_everyone
from sparsekm.cluster.validation import check_share
from sparsekm.cluster.weight_step import WeightStep
from sparsekm.runtime.random_state import draw_samples

# Steps of every start of trimmed k-means, and of the best of them.
FEW_STEPS = 2
MOST_STEPS = 20
# Rounds of setting aside and refining: a bound that data do not reach.
MOST_ROUNDS = 100
# A better sum of squares must be better by more than rounding.
RELATIVE_GAIN = 1e-9
# Starts where an estimator does not say how many.
N_STARTS = 10

BestStart = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
FitKept = Callable[[MatrixInMemory, np.ndarray], tuple[list[Fit], np.ndarray]]


def count_trimmed(trim: float, n_samples: int, n_clusters: int, min_size: int) -> int:
    """Return how many samples are set aside; the others have to suffice for the clusters."""
    n_trimmed = int(check_share("trim", trim) * n_samples + 1e-9)
    if n_trimmed and n_samples - n_trimmed < n_clusters * min_size:
        raise ValueError(
            f"trim={trim} leaves {n_samples - n_trimmed} of n_samples={n_samples}; should leave "
            f">= n_clusters * min_cluster_size={n_clusters * min_size}."
        )
    return n_trimmed


def first_kept(X: MatrixInMemory, n_clusters: int, n_trimmed: int, seed: int) -> np.ndarray:
    """Return the samples, ascending, that trimmed k-means on all features keeps."""
    partition, seeds = KMeansPartition(n_clusters), np.random.SeedSequence(seed)
    return start_trimmed(X, partition, n_trimmed, N_STARTS, seeds, np.ones(X.n_features))[1]


def keep_nearest(
    X: MatrixInMemory, centers: np.ndarray, weights: np.ndarray, n_trimmed: int
) -> np.ndarray:
    """Return all samples, ascending, but those farthest from their nearest centre.

    `centers` (n_clusters, n_features) are on the scale of the data as they came.
    """
    features = WeightedFeatures.from_dense(weights)
    shifted = (centers - X.means)[:, features.support].T
    return _set_aside(X, features, KMeansPartition(len(centers)), n_trimmed, shifted)[1]


def fit_trimmed(
    X: MatrixInMemory,
    partition: KMeansPartition,
    weight_steps: Sequence[WeightStep],
    n_trimmed: int,
    best_start: BestStart,
    fit_kept: FitKept,
) -> tuple[list[Fit], np.ndarray]:
    """Fit all but the samples that are farthest from their centres, whose labels are -1.

    `fit_kept` searches some of the samples, given their numbers, and returns a fit per weight step
    and the first objectives; these are handed on.
    """
    kept = best_start(np.ones(X.n_features))[1]
    fits, first = fit_kept(X.take(kept), kept)
    rest = X, partition.exact, n_trimmed, best_start, kept
    return [_settle(*rest, *pair) for pair in zip(weight_steps, fits, strict=False)], first


def _settle(X, partition, n_trimmed: int, best_start: BestStart, kept, weight_step, fit) -> Fit:
    """Set aside and refine in turn until the samples set aside were so before.

    Where that ends, trimmed k-means is started anew under the weights; what is better goes on.
    """
    seen = {kept.tobytes()}
    while True:
        features = WeightedFeatures.from_dense(fit.weights)
        centers = _centers(X.take(kept).select(features.support), fit.labels, partition)
        labels, following, distances = _set_aside(X, features, partition, n_trimmed, centers)
        rounds_left = len(seen) <= MOST_ROUNDS
        if following.tobytes() in seen or not rounds_left:
            labels, following, others = best_start(fit.weights)
            better = np.sum(others) < np.sum(distances) * (1 - RELATIVE_GAIN)
            if not better or following.tobytes() in seen or not rounds_left:
                everyone = np.full(X.n_samples, -1, np.int32)
                everyone[kept] = fit.labels
                return replace(fit, labels=everyone)
        seen.add(following.tobytes())
        kept = following
        sample = X.take(kept)
        start = partition.admit(sample, labels[kept])
        start = weigh_partition(sample, partition, weight_step, start, fit.n_iter)
        refined = refine_until_fixed_point(sample, partition, weight_step, start)
        fit = replace(refined, converged=refined.converged and fit.converged)


def start_trimmed(
    X: MatrixInMemory,
    partition: KMeansPartition,
    n_trimmed: int,
    n_starts: int,
    seeds: np.random.SeedSequence,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run trimmed k-means from drawn centres, the best start to its end; of many samples, on some.

    Returns the nearest centre of every sample, the samples kept, ascending, and their squared
    distances.
    """
    rng = np.random.default_rng(seeds)
    features = WeightedFeatures.from_dense(weights)
    some = X.take(draw_samples(X.n_samples, partition.sample_size, rng))
    rest = some, features, partition, n_trimmed * some.n_samples // X.n_samples
    starts = [_draw_centers(*rest, rng) for _ in range(n_starts)]
    tried = [_concentrate(*rest, start, FEW_STEPS) for start in starts]
    best = min(tried, key=lambda found: found[1])[0]
    centers, _ = _concentrate(*rest, best, MOST_STEPS)
    return _set_aside(X, features, partition, n_trimmed, centers)


def _set_aside(X, features, partition, n_trimmed: int, centers):
    """Return the nearest of `centers` for every sample, the samples kept, and their distances.

    `centers` (n_kept_features, n_clusters) are of centred data. Among equals the first are kept.
    """
    X, features = X.select(features.support), features.alone
    labels = label_everyone(X, features, centers, partition.n_threads)
    distances = square_distances(X, features, centers, labels)
    kept = np.sort(np.argsort(distances, kind="stable")[: X.n_samples - n_trimmed])
    return labels, kept, distances[kept]


def _concentrate(X, features, partition, n_trimmed, centers, n_steps):
    """Take steps of trimmed k-means; return centres and the sum of squares within, at the end."""
    before = np.inf
    for _ in range(n_steps):
        labels, kept, distances = _set_aside(X, features, partition, n_trimmed, centers)
        within = float(np.sum(distances))
        if within >= before:
            break
        before = within
        found = _centers(X.take(kept).select(features.support), labels[kept], partition)
        # A cluster that lost all its samples stays where it is.
        there = cluster_sizes(labels[kept], partition.n_clusters) > 0
        centers = np.where(there, found, centers)
    return centers, before


def _centers(X, labels, partition) -> np.ndarray:
    sums = matrix_sums(X, labels, partition.n_clusters, partition.n_threads)
    return sums / np.maximum(cluster_sizes(labels, partition.n_clusters), 1)


def _draw_centers(X, features, partition, n_trimmed, rng) -> np.ndarray:
    """Draw samples as centres by k-means++; the farthest so far, as many as are trimmed, are none.

    They would be the outliers.
    """
    alone = np.zeros(X.n_samples, np.int32)
    X = X.select(features.support)
    features = features.alone
    centers = np.empty((X.n_features, partition.n_clusters))
    nearest = np.full(X.n_samples, np.inf)
    chances = np.ones(X.n_samples)
    for k in range(partition.n_clusters):
        place = rng.choice(X.n_samples, 1, p=chances / chances.sum())
        centers[:, [k]] = matrix_sums(X.take(place), alone[:1], 1)
        nearest = np.minimum(nearest, square_distances(X, features, centers[:, [k]], alone))
        chances = nearest.copy()
        chances[np.argsort(nearest, kind="stable")[X.n_samples - n_trimmed :]] = 0.0
        if not chances.any():
            chances[:] = 1.0
    return centers
