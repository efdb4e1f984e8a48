"""Fits to weighted samples.

The search gets each sample as often as its weight says. If weights are rounded for this, the result
is refined with the exact weights.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sparsekm.cluster.alternation import (
    RELATIVE_GAIN,
    refine_until_fixed_point,
    share_partitions,
    weigh_partition,
)
from sparsekm.cluster.matrices.matrix import FeatureMatrix, cluster_sizes
from sparsekm.cluster.matrices.sparse_matrix import SAMPLES_AT_ONCE, SparseBlock
from sparsekm.cluster.partition_step import (
    SEEDING_SAMPLE,
    canonical_labels,
    label_in_blocks,
)
from sparsekm.cluster.sparsity_path import Found
from sparsekm.cluster.validation import check_numbers
from sparsekm.runtime.threads import one_blas_thread

# The common unit is sought among the smallest weight and its fractions, down to this one.
MOST_PARTS = 10
# The average number of copies of a sample if the weights have no common unit.
REPEATS = 8


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
    """Refuse parameters that count samples, if there are weights."""
    for name, value, rule in (("trim", trim, 0), ("min_cluster_size", min_cluster_size, 1)):
        if value != rule:
            raise ValueError(
                f"{name}={value} should be {rule} with sample_weight, because {name} counts "
                "samples and not their weights."
            )


def with_weights(matrix: Any, sample_weight: np.ndarray | None) -> Any:
    """Return a matrix with the weights of its samples, without copying its values."""
    weighted = copy(matrix)
    weighted.sample_weight = sample_weight
    return weighted


def repeat_counts(sample_weight: np.ndarray, n_samples: int) -> tuple[np.ndarray, float]:
    """Return the number of copies of each sample, and the weight of each copy.

    Weights that are not small multiples of a common unit are rounded so that running sums are kept.
    """
    most = 2 * max(SEEDING_SAMPLE, n_samples)
    for parts in range(1, MOST_PARTS + 1):
        unit = sample_weight.min() / parts
        counts = np.rint(sample_weight / unit)
        if counts.sum() <= most and _are_met(sample_weight, counts, unit):
            return counts.astype(np.int64), float(unit)
    unit = sample_weight.mean() * max(len(sample_weight) / most, 1 / REPEATS)
    ends = np.rint(np.cumsum(sample_weight / unit)).astype(np.int64)
    # Without this, very large weights would leave no copies of the other samples.
    return np.maximum(np.diff(ends, prepend=0), 1), float(unit)


def _are_met(sample_weight, counts, unit) -> bool:
    return np.allclose(counts * unit, sample_weight, rtol=1e-9, atol=0)


def repeat_samples(weights: ArrayLike, n_samples: int) -> np.ndarray:
    """Return the samples, ascending, each about as often as its weight says."""
    sample_weight = check_sample_weight(weights, n_samples)
    samples = np.flatnonzero(sample_weight)
    counts, _ = repeat_counts(sample_weight[samples], n_samples)
    return np.repeat(samples, counts)


def fit_weighted(X: FeatureMatrix, partition, weight_steps, fit_some) -> Found:
    """Fit weighted samples, starting from fits to repeated samples."""
    counts, unit = repeat_counts(X.sample_weight, X.n_samples)
    rows = np.repeat(np.arange(X.n_samples), counts)
    sample = with_weights(X, None)
    if not (counts == 1).all():
        sample = sample.take(rows)
    fits, first = fit_some(sample, rows)
    samples, places = np.unique(rows, return_index=True)
    if _are_met(X.sample_weight, counts, unit):
        found = []
        for fit in fits:
            scaled = {"scores": fit.scores * unit, "objective": fit.objective * unit}
            found.append(replace(fit, labels=fit.labels[places], **scaled))
        return found, first * unit
    found, exact = [], WeightedPartition(partition.n_clusters, partition.n_threads)
    for weight_step, fit in zip(weight_steps, fits, strict=False):
        labels = partition.extend(X, fit.weights, sample, fit.labels)
        labels[samples] = fit.labels[places]
        start = weigh_partition(X, exact, weight_step, partition.admit(X, labels), fit.n_iter)
        refined = refine_until_fixed_point(X, exact, weight_step, start)
        found.append(replace(refined, converged=refined.converged and fit.converged))
    return share_partitions(X, exact, weight_steps[: len(found)], found), first * unit


@dataclass(frozen=True)
class WeightedPartition:
    """k-means of weighted samples by Lloyd's iteration from a partition."""

    n_clusters: int
    n_threads: int = 1

    def refine(self, X: FeatureMatrix, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Move samples to their nearest centre while that gains and no cluster becomes empty."""
        support = np.flatnonzero(weights)
        X, values = with_weights(X.select(support), X.sample_weight), weights[support]
        centers, scores = describe_weighted(X, labels, self.n_clusters)
        objective, gained, moved = -np.inf, values @ scores, labels
        while gained > objective * (1 + RELATIVE_GAIN):
            labels, objective = moved, gained
            moved = label_in_blocks(X, values, centers, self.n_threads)
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
    # With one very large weight, a difference of squares would consist of rounding errors.
    everyone = sums.sum(axis=1, keepdims=True) / masses.sum()
    return means, unit * (np.square(means - everyone) @ masses)
