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
from dataclasses import dataclass, replace

import numpy as np

from sparsekm.cluster.alternation import Fit, refine_until_fixed_point, weigh_partition
from sparsekm.cluster.kmeans.many_samples import (
    WeightedFeatures,
    nearest_centers,
    square_distances,
)
from sparsekm.cluster.matrices.scatter import (
    MatrixInMemory,
    cluster_sizes,
    matrix_sums,
)
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.validation import check_share
from sparsekm.cluster.weight_step import WeightStep
from sparsekm.runtime.random_state import draw_samples

# Steps of every start of trimmed k-means, and of the best of them.
FEW_STEPS = 2
MOST_STEPS = 20

# A better sum of squares must be better by more than rounding.
RELATIVE_GAIN = 1e-9

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


def first_kept(
    X: MatrixInMemory, n_clusters: int, n_trimmed: int, *, n_starts: int = 10, seed: int
) -> np.ndarray:
    """Return the samples, ascending, that trimmed k-means on all features keeps."""
    starts = TrimmedStarts(n_starts, np.random.SeedSequence(seed))
    return starts.best(X, KMeansPartition(n_clusters), np.ones(X.n_features), n_trimmed)[1]


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
    starts: TrimmedStarts,
    fit_kept: FitKept,
) -> tuple[list[Fit], np.ndarray]:
    """Fit all but the samples that are farthest from their centres, whose labels are -1.

    `fit_kept` searches some of the samples, given their numbers, and returns a fit per weight step
    and the first objectives; these are handed on.
    """
    kept = starts.best(X, partition, np.ones(X.n_features), n_trimmed)[1]
    fits, first = fit_kept(X.take(kept), kept)
    exact = partition.exact
    settled = []
    for weight_step, fit in zip(weight_steps, fits, strict=False):
        found = _settle(X, exact, weight_step, fit, kept, n_trimmed, starts)
        everyone = np.full(X.n_samples, -1, np.int32)
        everyone[found[1]] = found[0].labels
        settled.append(replace(found[0], labels=everyone))
    return settled, first


def _settle(X, partition, weight_step, fit: Fit, kept, n_trimmed: int, starts):
    """Set aside and refine in turn until the samples set aside were so before.

    Where that ends, trimmed k-means is started anew under the weights; what is better goes on.
    """
    seen = {kept.tobytes()}
    while True:
        features = WeightedFeatures.from_dense(fit.weights)
        centers = _centers(X.take(kept).select(features.support), fit.labels, partition)
        labels, following, distances = _set_aside(X, features, partition, n_trimmed, centers)
        if following.tobytes() in seen:
            labels, following, others = starts.best(X, partition, fit.weights, n_trimmed)
            better = np.sum(others) < np.sum(distances) * (1 - RELATIVE_GAIN)
            if not better or following.tobytes() in seen:
                return fit, kept
        seen.add(following.tobytes())
        kept = following
        sample = X.take(kept)
        start = partition.admit(sample, labels[kept])
        start = weigh_partition(sample, partition, weight_step, start, fit.n_iter)
        refined = refine_until_fixed_point(sample, partition, weight_step, start)
        fit = replace(refined, converged=refined.converged and fit.converged)


@dataclass(frozen=True)
class TrimmedStarts:
    """Trimmed k-means from drawn centres."""

    n_starts: int
    seeds: np.random.SeedSequence

    def best(self, X: MatrixInMemory, partition: KMeansPartition, weights, n_trimmed: int):
        """Run every start a few steps and the best to its end; of many samples, on some of them.

        Returns the nearest centre of every sample, the samples kept, ascending, and their squared
        distances.
        """
        rng = np.random.default_rng(self.seeds)
        features = WeightedFeatures.from_dense(weights)
        some = X.take(draw_samples(X.n_samples, partition.sample_size, rng))
        rest = some, features, partition, n_trimmed * some.n_samples // X.n_samples
        tried = [
            _concentrate(*rest, _draw_centers(*rest, rng), FEW_STEPS) for _ in range(self.n_starts)
        ]
        centers = min(tried, key=lambda found: found[1])[0]
        centers, _ = _concentrate(*rest, centers, MOST_STEPS)
        return _set_aside(X, features, partition, n_trimmed, centers)


def _set_aside(X, features, partition, n_trimmed: int, centers):
    """Return the nearest of `centers` for every sample, the samples kept, and their distances.

    `centers` (n_kept_features, n_clusters) are of centred data. Among equals the first are kept.
    """
    kept_features = X.select(features.support)
    own = features.alone
    labels = np.zeros(X.n_samples, np.int32)
    for start, columns in kept_features.blocks():
        here = slice(start, start + columns.shape[1])
        labels[here] = nearest_centers(columns, own, centers, labels[here], partition.n_threads)
    distances = square_distances(kept_features, own, centers, labels)
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
