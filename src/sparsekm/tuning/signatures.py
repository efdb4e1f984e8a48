"""The smallest sets of features that assign held-out samples to the clusters of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.feature_ranking import (
    count_units,
    first_features,
    number_units,
    order_features,
)
from sparsekm.tuning.partitions import FoldFit, agreement

# The signature is the smallest set whose agreement is within this difference of the best.
AS_GOOD = 0.05
# A smaller set, which is also reported, is within this difference.
NEARLY_AS_GOOD = 0.15
# A set with a lower agreement is not a signature.
LEAST_AGREEMENT = 0.5
# Sets of up to this number of features are tried, each a quarter larger than the previous one.
LARGEST_SET = 2000
STEP = 1.25


class Signature(NamedTuple):
    """The smallest set of features that assigns held-out samples as the result does."""

    features: np.ndarray | None  # ascending; None if no set agrees well enough
    agreement: float  # mean adjusted Rand index on held-out samples, of this or the best set
    n_nearly: int = 0  # how many features, or groups, do nearly as well
    nearly: float = 0.0  # their agreement


def find_signatures(
    X: np.ndarray | csr_array,
    labels: np.ndarray,
    folds: Sequence[FoldFit],
    n_repeats: int,
    groups: np.ndarray | None = None,
) -> list[Signature]:
    """Find the smallest sets of features that reproduce clusters on held-out samples.

    In each fold, features, or groups by their means, are ordered by a_j on the drawn samples, in
    the clusters that were found without the others. The held-out samples are assigned to the
    nearest centroid in the first few features. For one cluster, features are ordered by the terms
    of a_j that involve it, and it only counts whether a sample is assigned to it. Features of `X`
    are on one scale; `folds` come
    repeat after repeat. The first signature is for all clusters, the others for one cluster each.
    """
    n_samples = X.shape[0]
    n_clusters = int(labels.max()) + 1
    most = min(count_units(np.arange(X.shape[1]), groups), LARGEST_SET)
    steps = STEP ** np.arange(np.log(most) / np.log(STEP))
    sizes = np.unique(np.append(np.rint(steps), most)).astype(int)
    per_repeat = len(folds) // n_repeats
    placed = np.zeros((1 + n_clusters, n_repeats, len(sizes), n_samples), np.int16)
    for number, fold in enumerate(folds):
        known = fold.drawn[fold.labels[fold.drawn] >= 0]
        if len(fold.left_out) and len(known):
            part, own = X[known], fold.labels[known]
            left_out, centers = X[fold.left_out], cluster_centers(part, own, n_clusters)
            for target, order in enumerate(_orders(part, own, centers, groups)):
                first = first_features(order, most, groups)
                ends = np.searchsorted(number_units(first, groups), sizes)
                place = _place(as_dense(left_out[:, first]), centers[:, first], ends)
                placed[target, number // per_repeat][:, fold.left_out] = place
    # Samples that are set aside are not in any fold.
    judged = np.unique(np.concatenate([fold.left_out for fold in folds]))
    if 0 < len(judged) < n_samples:
        X, labels, placed = X[judged], labels[judged], placed[..., judged]
    orders = _orders(X, labels, cluster_centers(X, labels, n_clusters), groups)
    signatures = [_smallest(labels, placed[0], sizes, next(orders), groups)]
    for cluster, order in enumerate(orders):
        is_own, is_put = labels == cluster, placed[1 + cluster] == cluster
        signatures.append(_smallest(is_own.astype(int), is_put.astype(int), sizes, order, groups))
    return signatures


def _smallest(labels, placed, sizes, order, groups) -> Signature:
    """Take the smallest set that is nearly as good as the best."""
    agreements = np.mean([agreement(labels, repeat) for repeat in placed], axis=0)
    best = agreements.max()
    if best < LEAST_AGREEMENT:
        return Signature(None, float(best))
    smallest = int((agreements >= best - AS_GOOD).argmax())
    reached = float(agreements[smallest])
    features = np.sort(first_features(order, sizes[smallest], groups))
    nearly = int((agreements >= best - NEARLY_AS_GOOD).argmax())
    features = features if reached >= LEAST_AGREEMENT else None
    return Signature(features, reached, int(sizes[nearly]), float(agreements[nearly]))


def _orders(X, labels, centers, groups) -> Iterator[np.ndarray]:
    """Yield the features by a_j, then for each cluster k by the sum over l of n_l (c_k - c_l)^2."""
    sizes = np.bincount(labels, minlength=len(centers))
    squares = np.where(sizes[:, None] > 0, centers - feature_means(X), 0.0) ** 2
    scores = (sizes[:, None] * squares).sum(axis=0)
    yield order_features(scores, groups)
    for own in squares:
        yield order_features(scores + len(labels) * own, groups)


@one_blas_thread
def _place(values, centers, sizes) -> np.ndarray:
    """Assign samples to the nearest centroid in sets of growing size: (n_sizes, n_samples)."""
    # These are squared distances minus the square of the sample, which is the same for all
    # clusters.
    distances = np.zeros((len(sizes), len(values), len(centers)))
    for step, (start, stop) in enumerate(pairwise([0, *sizes])):
        own = centers[:, start:stop]
        distances[step] = np.square(own).sum(axis=1) - 2 * (values[:, start:stop] @ own.T)
    distances = distances.cumsum(axis=0)
    # A cluster without samples among the others is nearest to none.
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=2)
