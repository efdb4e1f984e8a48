"""What left-out samples tell: which clusters stand apart, and how few features tell them apart.

Clusters stand apart where there is a valley between them: on the axis between two clusters, fewer
left-out samples are in the middle than a density with one mode can explain (see `one_mode_p`). The
test cannot distinguish batches from classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom, nbinom
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf

from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.feature_ranking import (
    count_units,
    first_features,
    number_units,
    order_features,
)
from sparsekm.tuning.fold_fits import FoldFit, agreement, match_clusters

# Chance, at most, that clusters without a valley between them are said to stand apart.
LEVEL = 0.05
# Half the width of the middle, and of the ends that it is compared with; the medians of the two
# sides are at 0 and 1. With a third as the width, one sample that crosses a border can double p, so
# the mean over widths about it is taken.
HALF_WIDTHS = (2 / 15, 3 / 20, 1 / 6, 11 / 60, 1 / 5)


class MatchedFold(NamedTuple):
    """A partition found without some samples, its clusters named as those of the answer."""

    drawn: np.ndarray
    left_out: np.ndarray
    labels: np.ndarray  # (n,): those of the answer; -1 where a cluster has no match
    kept: np.ndarray  # (n_kept,): features of non-zero weight

    def join(self, group: np.ndarray) -> MatchedFold:
        """Return the fold with each cluster renamed after its group."""
        return self._replace(labels=np.where(self.labels < 0, -1, group[self.labels]))


def match_folds(labels: np.ndarray, folds: Sequence[FoldFit]) -> list[MatchedFold]:
    """Take of each fold the partition that agrees most with `labels` on the samples it fitted.

    A cluster that shares no more than half of its samples with one of the answer is none of them.
    """
    matched = []
    for drawn, left_out, partitions, kept, _ in folds:
        best = int(agreement(labels[drawn], partitions[:, drawn]).argmax())
        own = match_clusters(labels, partitions[best], drawn, mostly=True)
        matched.append(MatchedFold(drawn, left_out, own, kept[best]))
    return matched


def place_left_out(folds: Sequence[MatchedFold], n_samples: int, n_clusters: int) -> np.ndarray:
    """Return the cluster that each sample is in most often where it is left out, -1 if in none."""
    counts = np.zeros((n_samples, n_clusters), np.int64)
    for fold in folds:
        own = fold.labels[fold.left_out]
        np.add.at(counts, (fold.left_out[own >= 0], own[own >= 0]), 1)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), -1).astype(np.int32)


def refit_folds(
    estimator: Any, X: np.ndarray, labels: np.ndarray, folds: Sequence[np.ndarray]
) -> list[MatchedFold]:
    """Fit an estimator again without the samples of each fold, and match its clusters."""
    matched = []
    for left_out in folds:
        drawn = np.setdiff1d(np.arange(X.shape[0]), left_out)
        fitted = clone(estimator).fit(X[drawn])
        own = match_clusters(labels, fitted.predict(X), drawn, mostly=True)
        matched.append(MatchedFold(drawn, left_out, own, fitted.get_support(indices=True)))
    return matched


def separation(
    X: np.ndarray,
    labels: np.ndarray,
    kept: np.ndarray,
    folds: Sequence[MatchedFold],
    blocks: np.ndarray | None = None,
) -> pd.DataFrame:
    """Test for a valley between every two neighbouring clusters.

    `X` holds features on one scale. Neighbours are clusters such that no other centre lies, in the
    features `kept`, in the ball whose diameter joins theirs. Samples with the same number in
    `blocks` count once. The table has a row per pair: cluster_a, cluster_b, p (of a single mode),
    p_adjusted (by Holm's method), and the numbers of samples in the middle third and about either
    median: n_middle, n_a, n_b.
    """
    n_clusters = int(labels.max()) + 1
    pairs = _neighbours(cluster_centers(X[:, kept], labels, n_clusters))
    rows = []
    for pair, positions in zip(pairs, _project(X, pairs, n_clusters, folds), strict=True):
        counts = _count(positions, blocks)
        p = np.mean([one_mode_p(*count) for count in counts])
        rows.append((*pair, p, *counts[len(counts) // 2]))
    columns = ["cluster_a", "cluster_b", "p", "n_middle", "n_a", "n_b"]
    table = pd.DataFrame(rows, columns=columns)
    table = table.astype({name: np.float64 if name == "p" else np.int64 for name in columns})
    table.insert(3, "p_adjusted", _adjust(table["p"].to_numpy()))
    return table


def one_mode_p(n_middle: int, n_a: int, n_b: int) -> float:
    """Compute the p-value of the samples in the middle and at both ends, if there is one mode.

    A density with one mode is in the middle at least as high as at its emptier end. Nearest to a
    valley comes one that is as low there, as the uniform in the dip test (Hartigan & Hartigan 1985,
    doi:10.1214/aos/1176346577). The statistic is the larger of the two binomial p-values of the
    middle beside either end. p is at most .05 in up to 7 % of draws (of 40, one end twice as full).

    Examples
    --------
    >>> round(one_mode_p(2, 8, 8), 4)  # two binomial tests, .055 each, at the same time
    0.0098
    >>> round(one_mode_p(2, 8, 40), 3)
    0.032
    """
    total = n_middle + n_a + n_b
    few, many = sorted((n_a, n_b))
    largest = binom.cdf(n_middle, n_middle + few, 0.5)
    if largest == 1:
        return 1.0
    ratio = many / few
    # With so many in the middle, either end has to have so many for as small a statistic.
    middle = np.arange(total + 1)
    least = nbinom.isf(largest * (1 + 1e-9), middle + 1, 0.5) + 1
    rest = total - middle
    share = ratio / (1 + ratio)
    both = binom.cdf(rest - least, rest, share) - binom.cdf(least - 1, rest, share)
    return float(binom.pmf(middle, total, 1 / (2 + ratio)) @ np.maximum(both, 0.0))


def are_apart(table: pd.DataFrame) -> bool:
    """Tell whether any two neighbours stand apart."""
    return bool((table["p_adjusted"] <= LEVEL).any())


def join_touching(table: pd.DataFrame, n_clusters: int) -> np.ndarray:
    """Join neighbours without a valley between them; return the group of each, (n_clusters,)."""
    joined = np.zeros((n_clusters, n_clusters))
    touching = table[table["p"] > LEVEL]
    joined[touching["cluster_a"], touching["cluster_b"]] = 1
    return connected_components(joined, directed=False)[1]


def _neighbours(centers: np.ndarray) -> list[tuple[int, int]]:
    squares = np.square(centers[:, None] - centers[None]).sum(axis=2)
    numbers = range(len(centers))
    return [
        (a, b)
        for a, b in combinations(numbers, 2)
        if all(squares[a, c] + squares[b, c] >= squares[a, b] for c in numbers if c not in (a, b))
    ]


@one_blas_thread
def _project(X, pairs, n_clusters, folds) -> list[np.ndarray]:
    """Return the median positions of left-out samples, (n,) a pair: 0 and 1 are the centres.

    They are NaN where a sample is never nearest to one of the two.
    """
    n_samples = X.shape[0]
    times = np.zeros(n_samples, np.intp)
    for fold in folds:
        times[fold.left_out] += 1
    shape = int(times.max(initial=1)), n_samples
    found: list[list[tuple[np.ndarray, ...]]] = [[] for _ in pairs]
    for fold in folds if pairs else []:
        times[fold.left_out] -= 1
        values = as_dense(X[:, fold.kept]).astype(np.float64)
        own = fold.labels[fold.drawn]
        known = own >= 0
        if len(np.unique(own[known])) < 2:
            continue
        part, own = values[fold.drawn][known], own[known]
        centers = cluster_centers(part, own, n_clusters)
        covariance, _ = ledoit_wolf(part - centers[own], assume_centered=True)
        differences = np.nan_to_num([centers[b] - centers[a] for a, b in pairs])
        axes = np.linalg.lstsq(covariance, differences.T, rcond=None)[0].T
        put = fold.labels[fold.left_out]
        for row, (a, b) in enumerate(pairs):
            near = fold.left_out[(put == a) | (put == b)]
            length = differences[row] @ axes[row]
            # The fold may lack one of the two.
            if length > 0 and len(near):
                positions = (values[near] - centers[a]) @ axes[row] / length
                found[row].append((times[near], near, positions))
    return [_take_medians(each, shape) for each in found]


def _take_medians(found, shape) -> np.ndarray:
    """Return the median of what was found of each sample, (n,), NaN if nothing was."""
    values = np.full(shape, np.nan)
    for time, samples, positions in found:
        values[time, samples] = positions
    # NaN comes last.
    values.sort(axis=0)
    n_known, everyone = np.isfinite(values).sum(axis=0), np.arange(shape[1])
    low, high = np.maximum(n_known - 1, 0) // 2, np.minimum(n_known // 2, shape[0] - 1)
    return (values[low, everyone] + values[high, everyone]) / 2


def _count(positions, blocks) -> list[tuple[int, int, int]]:
    """Count samples in the middle and about the median of either side, for each width."""
    seen = np.isfinite(positions)
    positions = positions[seen]
    if blocks is not None:
        # The samples of a block on one side count once, at their mean.
        _, block = np.unique(2 * blocks[seen] + (positions >= 0.5), return_inverse=True)
        positions = np.bincount(block, positions) / np.bincount(block)
    is_left = positions < 0.5
    if is_left.all() or not is_left.any():
        return [(0, 0, 0)] * len(HALF_WIDTHS)
    low, high = np.median(positions[is_left]), np.median(positions[~is_left])
    middle, left, right = np.abs((positions - low) / (high - low) - [[0.5], [0], [1]])
    return [
        tuple(int(np.count_nonzero(part <= width)) for part in (middle, left, right))
        for width in HALF_WIDTHS
    ]


def _adjust(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values by Holm's method."""
    order = np.argsort(p_values, kind="stable")
    scaled = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    return np.minimum(1.0, scaled)[np.argsort(order)]


# The smallest set that does nearly as well as the best is taken: within this difference.
AS_GOOD = 0.05
# Sets that agree less with the clusters are no signature of them.
LEAST_AGREEMENT = 0.5
# Sets of up to so many features are tried, each a quarter larger than the one before.
MOST_FEATURES = 2000
STEP = 1.25


class Signature(NamedTuple):
    """The smallest set of features that puts left-out samples where the answer puts them."""

    features: np.ndarray | None  # ascending; None if no set agrees well enough
    agreement: float  # mean adjusted Rand index of left-out samples by this set, or the best


def find_signatures(
    X: np.ndarray | csr_array,
    labels: np.ndarray,
    folds: Sequence[MatchedFold],
    n_repeats: int,
    groups: np.ndarray | None = None,
) -> list[Signature]:
    """Find the smallest sets of features that reproduce clusters on samples that did not choose.

    For each fold, features, or groups by their means, are ordered by a_j on the samples drawn, in
    the clusters found without the others, and the left-out samples are put to the nearest centroid
    in the first few. For one cluster, features are ordered by the terms of a_j that involve it, and
    only whether a sample is put into it counts. Features of `X` are on one scale; `folds` come
    repeat after repeat. The first signature is that of all clusters, the others those of each.
    """
    n_samples = X.shape[0]
    n_clusters = int(labels.max()) + 1
    most = min(count_units(np.arange(X.shape[1]), groups), MOST_FEATURES)
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
    orders = _orders(X, labels, cluster_centers(X, labels, n_clusters), groups)
    found = [_smallest(labels, placed[0], sizes, next(orders), groups)]
    for cluster, order in enumerate(orders):
        is_own, is_put = labels == cluster, placed[1 + cluster] == cluster
        found.append(_smallest(is_own.astype(int), is_put.astype(int), sizes, order, groups))
    return found


def _smallest(labels, placed, sizes, order, groups) -> Signature:
    """Take the smallest of the sets that does nearly as well as the best."""
    agreements = np.mean([agreement(labels, repeat) for repeat in placed], axis=0)
    best = agreements.max()
    if best < LEAST_AGREEMENT:
        return Signature(None, float(best))
    smallest = int((agreements >= best - AS_GOOD).argmax())
    found = float(agreements[smallest])
    features = np.sort(first_features(order, sizes[smallest], groups))
    return Signature(features if found >= LEAST_AGREEMENT else None, found)


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
    """Put samples to the nearest centroid in sets of growing size: (n_sizes, n_samples)."""
    # Squared distances, less the square of the sample, which is the same for all clusters.
    distances = np.zeros((len(sizes), len(values), len(centers)))
    for step, (start, stop) in enumerate(pairwise([0, *sizes])):
        own = centers[:, start:stop]
        distances[step] = np.square(own).sum(axis=1) - 2 * (values[:, start:stop] @ own.T)
    distances = distances.cumsum(axis=0)
    # A cluster without any sample among the others is nearest to none.
    return np.where(np.isnan(distances), np.inf, distances).argmin(axis=2)
