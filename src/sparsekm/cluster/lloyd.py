r"""Lloyd's iteration on many samples, under feature weights.

The weighted distance of sample i to centre k, less what all centres share, is
:math:`\sum_j w_j c_{kj}^2 - 2 \sum_j (w_j c_{kj}) x_{ij}`: the weights go onto the centres, the
data stay as they are, and dropped features are never read. The products are our own loops and not
the BLAS, so labels do not depend on its version or its threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.cluster.compiled import compiled
from sparsekm.cluster.matrix import CentredMatrix
from sparsekm.cluster.scatter import cluster_sizes, cluster_sums, scores_from_sums
from sparsekm.cluster.threads import run_in_slices

ROW_BLOCK = 512


@dataclass(frozen=True)
class WeightedFeatures:
    """The features that count: their indices, ascending, and positive weights."""

    support: np.ndarray
    values: np.ndarray

    @classmethod
    def from_dense(cls, weights: np.ndarray) -> WeightedFeatures:
        """Drop the zeros of a weight vector of shape (n_features,)."""
        support = np.flatnonzero(weights)
        return cls(support, np.asarray(weights, dtype=np.float64)[support])


def nearest_centers(
    columns: np.ndarray,
    features: WeightedFeatures,
    centers: np.ndarray,
    labels: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Label every sample by its nearest centre.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_samples)
        Data, feature after feature.
    features : WeightedFeatures
    centers : ndarray of shape (n_kept, n_clusters), float64
        Centres on the kept features.
    labels : ndarray of shape (n_samples,), int32
        Current labels: a sample leaves its cluster only for a strictly nearer centre. Other ties
        go to the lowest index.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_samples,), int32
    """
    weighted = centers * features.values[:, None]
    offsets = (weighted * centers).sum(axis=0).astype(columns.dtype)
    slopes = (-2.0 * weighted).astype(columns.dtype)
    nearest = np.empty(columns.shape[1], np.int32)
    run_in_slices(
        lambda start, stop: _assign(
            columns, features.support, slopes, offsets, labels, start, stop, nearest
        ),
        columns.shape[1],
        n_threads,
        ROW_BLOCK,
    )
    return nearest


def iterate_lloyd(
    matrix: CentredMatrix,
    features: WeightedFeatures,
    labels: np.ndarray,
    n_clusters: int,
    *,
    min_size: int = 1,
    max_iter: int = 300,
    tol: float = 0.0,
    n_threads: int = 1,
) -> np.ndarray:
    """Iterate from `labels` until nothing changes, the gain is below `tol`, or `max_iter`.

    The between-cluster sum of squares never falls: an iteration that would lower it (by rounding,
    or by filling a cluster below `min_size`) is not taken.

    Parameters
    ----------
    matrix : CentredMatrix
    features : WeightedFeatures
    labels : ndarray of shape (n_samples,), int32
    n_clusters, min_size, max_iter : int
    tol : float
        Smallest gain, as a share of the objective, worth another iteration.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_samples,), int32
    """
    columns = matrix.columns
    if len(features.support) < matrix.n_features:
        columns = columns[features.support]
    kept = WeightedFeatures(np.arange(len(features.support)), features.values)
    labels, sums, objective = _evaluate(columns, kept, labels, n_clusters, min_size, n_threads)
    for _ in range(max_iter):
        centers = sums / np.maximum(cluster_sizes(labels, n_clusters), 1)
        moved = nearest_centers(columns, kept, centers, labels, n_threads)
        if np.array_equal(moved, labels):
            break
        moved, sums, gained = _evaluate(columns, kept, moved, n_clusters, min_size, n_threads)
        if gained <= objective:
            break
        labels, gain = moved, gained - objective
        objective = gained
        if gain <= tol * objective:
            break
    return labels


def _evaluate(columns, kept, labels, n_clusters, min_size, n_threads):
    """Fill short clusters; return the labels, the cluster sums and the objective."""
    sizes = cluster_sizes(labels, n_clusters)
    if sizes.min() < max(min_size, 1):
        labels = fill_clusters(columns, kept, labels, n_clusters, max(min_size, 1))
        sizes = cluster_sizes(labels, n_clusters)
    sums = cluster_sums(columns, labels, n_clusters, n_threads)
    return labels, sums, float(np.sum(kept.values * scores_from_sums(sums, sizes)))


def fill_clusters(
    columns: np.ndarray,
    features: WeightedFeatures,
    labels: np.ndarray,
    n_clusters: int,
    min_size: int,
) -> np.ndarray:
    """Bring every cluster to `min_size` samples.

    A short cluster is filled with the samples farthest from their own centres, one at a time, out
    of clusters that can spare them; ties go to the lowest index.

    Returns
    -------
    ndarray of shape (n_samples,), int32
    """
    labels = labels.copy()
    sizes = cluster_sizes(labels, n_clusters)
    centers = cluster_sums(columns, labels, n_clusters) / np.maximum(sizes, 1)
    distances = np.zeros(columns.shape[1])
    for q, j in enumerate(features.support):
        distances += features.values[q] * (columns[j] - centers[q][labels]) ** 2
    order = iter(np.argsort(-distances, kind="stable"))
    for k in np.flatnonzero(sizes < min_size):
        while sizes[k] < min_size:
            i = next(order)
            if sizes[labels[i]] > min_size:
                sizes[labels[i]] -= 1
                sizes[k] += 1
                labels[i] = k
    return labels


@compiled
def _assign(columns, support, slopes, offsets, labels, start, stop, nearest):
    n_clusters = slopes.shape[1]
    block = np.empty((n_clusters, ROW_BLOCK), columns.dtype)
    for first in range(start, stop, ROW_BLOCK):
        size = min(ROW_BLOCK, stop - first)
        for k in range(n_clusters):
            block[k, :size] = offsets[k]
        _add_products(columns, support, slopes, first, size, block)
        for i in range(size):
            k = labels[first + i]
            best = block[k, i]
            for b in range(n_clusters):
                if block[b, i] < best:
                    best = block[b, i]
                    k = b
            nearest[first + i] = k


@compiled
def _add_products(columns, support, slopes, first, size, block):
    """Add sum_j slopes[j, k] * x_ij; four features at a time, so that each pass does more."""
    n_kept = support.shape[0]
    whole = n_kept - n_kept % 4
    for q in range(0, whole, 4):
        x0 = columns[support[q], first : first + size]
        x1 = columns[support[q + 1], first : first + size]
        x2 = columns[support[q + 2], first : first + size]
        x3 = columns[support[q + 3], first : first + size]
        for k in range(slopes.shape[1]):
            s0 = slopes[q, k]
            s1 = slopes[q + 1, k]
            s2 = slopes[q + 2, k]
            s3 = slopes[q + 3, k]
            row = block[k]
            for i in range(size):
                row[i] += (s0 * x0[i] + s1 * x1[i]) + (s2 * x2[i] + s3 * x3[i])
    for q in range(whole, n_kept):
        x0 = columns[support[q], first : first + size]
        for k in range(slopes.shape[1]):
            s0 = slopes[q, k]
            row = block[k]
            for i in range(size):
                row[i] += s0 * x0[i]
