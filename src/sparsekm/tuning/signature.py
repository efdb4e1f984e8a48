"""The signature: how few features tell clusters apart, on samples that did not choose them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import (
    as_dense,
)
from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.tuning.consensus import agreement
from sparsekm.tuning.differing_features import between_scores
from sparsekm.tuning.separation import MatchedFold

# The smallest set that does nearly as well as the best is taken: within this difference.
AS_GOOD = 0.05
# Sets that agree less with the clusters are no signature of them.
LEAST_AGREEMENT = 0.5
# Sets of up to so many features are tried, each a quarter larger than the one before.
MOST_FEATURES = 2000
STEP = 1.25


@dataclass(frozen=True)
class Signature:
    """The smallest set of features that puts left-out samples where the answer puts them."""

    features: np.ndarray | None  # ascending; None if no set agrees well enough
    # Mean adjusted Rand index of left-out samples by their nearest centroid in this set, or in the
    # best where there is no signature.
    agreement: float


def find_signature(
    X: np.ndarray | csr_array, labels: np.ndarray, folds: Sequence[MatchedFold], n_repeats: int
) -> Signature:
    """Find the smallest set of features that reproduces clusters on samples that did not choose it.

    For each fold, features are ordered by their between-cluster sums of squares a_j on the samples
    drawn, in the clusters found without the others, and the left-out samples are put to the nearest
    centroid in the first few. With the clusters of all samples instead, even those of noise would
    agree: a sample left out of the choice of features would still have made the clusters.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features on one scale.
    labels : ndarray of shape (n_samples,)
    folds : sequence of MatchedFold
        The partitions found without some of the samples; repeat after repeat, each of which leaves
        out every sample once.
    n_repeats : int
    """
    n_samples, n_features = X.shape
    n_clusters = int(labels.max()) + 1
    sizes = _sizes(n_features)
    per_repeat = len(folds) // n_repeats
    placed = np.zeros((n_repeats, len(sizes), n_samples), np.int64)
    for number, fold in enumerate(folds):
        known = fold.drawn[fold.labels[fold.drawn] >= 0]
        if len(fold.left_out) and len(known):
            place = _place(X, fold.labels[known], known, fold.left_out, sizes, n_clusters)
            placed[number // per_repeat][:, fold.left_out] = place
    agreements = np.mean([agreement(labels, repeat) for repeat in placed], axis=0)
    if agreements.max() < LEAST_AGREEMENT:
        return Signature(None, float(agreements.max()))
    smallest = int((agreements >= agreements.max() - AS_GOOD).argmax())
    order = _rank(X, labels, n_clusters)
    found = float(agreements[smallest])
    features = np.sort(order[: sizes[smallest]]) if found >= LEAST_AGREEMENT else None
    return Signature(features, found)


def _sizes(n_features: int) -> np.ndarray:
    most = min(n_features, MOST_FEATURES)
    steps = STEP ** np.arange(np.log(most) / np.log(STEP))
    return np.unique(np.append(np.rint(steps), most)).astype(int)


def _rank(X, labels, n_clusters) -> np.ndarray:
    return np.argsort(-between_scores(X, labels, n_clusters), kind="stable")


def _place(X, own, others, left_out, sizes, n_clusters) -> np.ndarray:
    """Put left-out samples to the nearest centroid in sets of growing size: (n_sizes, n_out)."""
    part = X[others]
    first = _rank(part, own, n_clusters)[: sizes[-1]]
    centers = cluster_centers(part[:, first], own, n_clusters)
    values = as_dense(X[left_out][:, first])
    distances = np.empty((len(sizes), len(left_out), n_clusters))
    for cluster in range(n_clusters):
        squares = np.cumsum(np.square(values - centers[cluster]), axis=1)
        distances[:, :, cluster] = squares[:, sizes - 1].T
    # A cluster without any sample among the others is nearest to none.
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=2)
