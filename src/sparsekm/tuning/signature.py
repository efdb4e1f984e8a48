"""The signature: how few features tell clusters apart, on samples that did not choose them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means
from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.consensus import agreement
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


def find_signatures(
    X: np.ndarray | csr_array, labels: np.ndarray, folds: Sequence[MatchedFold], n_repeats: int
) -> list[Signature]:
    """Find the smallest sets of features that reproduce clusters on samples that did not choose.

    For each fold, features are ordered by their between-cluster sums of squares a_j on the samples
    drawn, in the clusters found without the others, and the left-out samples are put to the nearest
    centroid in the first few. With the clusters of all samples instead, even those of noise would
    agree: a sample left out of the choice of features would still have made the clusters.

    For one cluster, features are ordered by the terms of a_j that involve it, and only whether a
    sample is put into it counts.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features on one scale.
    labels : ndarray of shape (n_samples,)
    folds : sequence of MatchedFold
        The partitions found without some of the samples; repeat after repeat, each of which leaves
        out every sample once.
    n_repeats : int

    Returns
    -------
    list of Signature
        That of all clusters, then that of each.
    """
    n_samples, n_features = X.shape
    n_clusters = int(labels.max()) + 1
    sizes = _sizes(n_features)
    per_repeat = len(folds) // n_repeats
    placed = np.zeros((1 + n_clusters, n_repeats, len(sizes), n_samples), np.int16)
    for number, fold in enumerate(folds):
        known = fold.drawn[fold.labels[fold.drawn] >= 0]
        if len(fold.left_out) and len(known):
            part, own = X[known], fold.labels[known]
            left_out, centers = X[fold.left_out], cluster_centers(part, own, n_clusters)
            for target, scores in enumerate(_scores(part, own, centers)):
                first = _rank(scores)[: sizes[-1]]
                place = _place(as_dense(left_out[:, first]), centers[:, first], sizes)
                placed[target, number // per_repeat][:, fold.left_out] = place
    scores, *of_clusters = _scores(X, labels, cluster_centers(X, labels, n_clusters))
    found = [_smallest(labels, placed[0], sizes, _rank(scores))]
    for cluster, scores in enumerate(of_clusters):
        is_own, is_put = labels == cluster, placed[1 + cluster] == cluster
        found.append(_smallest(is_own.astype(int), is_put.astype(int), sizes, _rank(scores)))
    return found


def _smallest(labels, placed, sizes, order) -> Signature:
    """Take the smallest of the sets that does nearly as well as the best."""
    agreements = np.mean([agreement(labels, repeat) for repeat in placed], axis=0)
    if agreements.max() < LEAST_AGREEMENT:
        return Signature(None, float(agreements.max()))
    smallest = int((agreements >= agreements.max() - AS_GOOD).argmax())
    found = float(agreements[smallest])
    features = np.sort(order[: sizes[smallest]]) if found >= LEAST_AGREEMENT else None
    return Signature(features, found)


def _sizes(n_features: int) -> np.ndarray:
    most = min(n_features, MOST_FEATURES)
    steps = STEP ** np.arange(np.log(most) / np.log(STEP))
    return np.unique(np.append(np.rint(steps), most)).astype(int)


def _scores(X, labels, centers) -> Iterator[np.ndarray]:
    """Yield a_j, then for each cluster k its part: the sum over l of n_l (c_k - c_l)^2."""
    sizes = np.bincount(labels, minlength=len(centers))
    squares = np.where(sizes[:, None] > 0, centers - feature_means(X), 0.0) ** 2
    scores = (sizes[:, None] * squares).sum(axis=0)
    yield scores
    for own in squares:
        yield scores + len(labels) * own


def _rank(scores) -> np.ndarray:
    return np.argsort(-scores, kind="stable")


@one_blas_thread
def _place(values, centers, sizes) -> np.ndarray:
    """Put samples to the nearest centroid in sets of growing size: (n_sizes, n_samples).

    Squared distances are less the square of the sample, which is the same for all clusters.
    """
    distances = np.zeros((len(sizes), len(values), len(centers)))
    for step, (start, stop) in enumerate(pairwise([0, *sizes])):
        own = centers[:, start:stop]
        distances[step] = np.square(own).sum(axis=1) - 2 * (values[:, start:stop] @ own.T)
    distances = distances.cumsum(axis=0)
    # A cluster without any sample among the others is nearest to none.
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=2)
