"""Moves of whole clusters: regrouping them, and starting on other features than those kept.

Both are made in the principal subspace of some features, where k-means costs little; what they
find is then weighed on all features. The rounds of Algorithm 1 alone rarely leave the features they
keep: the partition is the best for these, and these are the best for the partition.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.alternation import Fit, weigh_partition
from sparsekm.cluster.merge_and_split import merge_and_split
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.principal_subspace import reduce_features
from sparsekm.cluster.scatter import Matrix, cluster_sizes, matrix_sums, scores_from_sums
from sparsekm.cluster.weight_step import WeightStep

# A fresh start uses the features that tell this share of the clusters apart.
SHARE_OF_CLUSTERS = 1 / 3


def regroup(
    X: Matrix,
    partition: KMeansPartition,
    weight_step: WeightStep,
    fit: Fit,
    rng: np.random.Generator,
) -> Fit:
    """Merge and split clusters in the principal subspace of the features kept.

    Parameters
    ----------
    X : CentredMatrix or StreamedMatrix
    partition : KMeansPartition
    weight_step : WeightStep
    fit : Fit
    rng : numpy.random.Generator

    Returns
    -------
    Fit
        `fit` itself where that gains nothing. Its labels are no fixed point of k-means on the
        features: they were found in fewer dimensions.
    """
    reduced = reduce_features(X, partition, fit.weights, rng)
    labels = merge_and_split(reduced, partition, fit.labels, rng)
    found = weigh_partition(X, partition, weight_step, labels)
    return found if found.objective > fit.objective else fit


def start_elsewhere(
    X: Matrix,
    partition: KMeansPartition,
    weight_step: WeightStep,
    labels: np.ndarray,
    rng: np.random.Generator,
) -> Fit:
    """Start afresh on the features that tell a random third of the clusters apart.

    Parameters
    ----------
    X, partition, weight_step, rng
        As for `regroup`.
    labels : ndarray of shape (n_samples,), int32
        The clusters to draw from.

    Returns
    -------
    Fit
        With the weights that its own partition asks for, regrouped once by these.
    """
    fresh = _start_on_few(X, partition, weight_step, labels, rng)
    found = weigh_partition(X, partition, weight_step, fresh)
    return regroup(X, partition, weight_step, found, rng)


def _start_on_few(X, partition, weight_step, labels, rng) -> np.ndarray:
    """Return the labels of a fresh start on the features that tell a few clusters apart."""
    sums = matrix_sums(X, labels, partition.n_clusters, partition.n_threads)
    sizes = cluster_sizes(labels, partition.n_clusters)
    n_drawn = max(2, round(SHARE_OF_CLUSTERS * partition.n_clusters))
    drawn = rng.choice(partition.n_clusters, n_drawn, replace=False)
    scores = scores_from_sums(np.ascontiguousarray(sums[:, drawn]), sizes[drawn])
    reduced = reduce_features(X, partition, weight_step.weigh(scores), rng)
    fresh = partition.start(reduced, np.ones(reduced.n_features), rng)
    return merge_and_split(reduced, partition, fresh, rng)
