"""Which features differ between clusters, and how few of them tell the clusters apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control

from sparsekm.cluster.matrices.dense_parts import (
    as_dense,
    feature_means,
    feature_variances,
    varying_features,
)
from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.tuning.consensus import agreement
from sparsekm.tuning.separation import MatchedFold

# Share of features without any difference between the clusters among those that are counted.
FALSE_DISCOVERIES = 0.1
# Of many samples every difference is beyond chance: one that counts explains at least this share of
# a feature's variance, a medium effect by the convention of Cohen (1988), f = .25.
MEDIUM_EFFECT = 0.25**2 / (1 + 0.25**2)
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


def count_differing(X: np.ndarray | csr_array, labels: np.ndarray) -> int:
    """Count the features, at least 1, whose means differ clearly between clusters.

    This describes the clusters and tests nothing: the data that made them are used again. A one-way
    analysis of variance of each feature at a false discovery rate of 10 % gives the threshold
    (Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x). The clusters must also
    explain at least 5.9 % of the feature's variance.
    """
    n_samples, n_clusters = X.shape[0], int(labels.max()) + 1
    if n_clusters < 2 or n_samples <= n_clusters:
        return X.shape[1]
    between = _between(X, labels, n_clusters)
    total = feature_variances(X) * n_samples
    # A constant feature's sums of squares are rounding, and their ratio can be anything.
    between[~varying_features(X)] = 0.0
    within = np.maximum(total - between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (between / (n_clusters - 1)) / (within / (n_samples - n_clusters))
    p_values = fisher.sf(
        np.nan_to_num(ratio, nan=0.0, posinf=np.inf), n_clusters - 1, n_samples - n_clusters
    )
    found = false_discovery_control(p_values) <= FALSE_DISCOVERIES
    found &= between >= MEDIUM_EFFECT * total
    return max(1, int(np.count_nonzero(found)))


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
        if len(fold.left_out):
            known = fold.drawn[fold.labels[fold.drawn] >= 0]
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


def _between(X, labels, n_clusters) -> np.ndarray:
    """Return the between-cluster sums of squares of all features."""
    centers = cluster_centers(X, labels, n_clusters)
    sizes = np.bincount(labels, minlength=n_clusters)
    centers = np.where(sizes[:, None] > 0, centers - feature_means(X), 0.0)
    return (sizes[:, None] * centers**2).sum(axis=0)


def _rank(X, labels, n_clusters) -> np.ndarray:
    return np.argsort(-_between(X, labels, n_clusters), kind="stable")


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
