r"""Which centre is nearest, for many samples, under feature weights.

The weighted distance of sample i to centre k, less what all centres share, is
:math:`\sum_j w_j c_{kj}^2 - 2 \sum_j (w_j c_{kj}) x_{ij}`: the weights go onto the centres, the
data stay as they are, and dropped features are never read. A sample's products are summed in the
same order in whatever block it is read and however many threads there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.scatter import Block
from sparsekm.cluster.matrices.sparse_matrix import SAMPLES_AT_ONCE, SparseBlock, centred_block
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import run_in_slices, worth_a_thread

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


def label_samples(
    X: np.ndarray | csr_array,
    features: WeightedFeatures,
    means: np.ndarray,
    centers: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Label the samples of checked data by their nearest centre, reading a block at a time.

    `X` is (n_samples, n_features); `means` (n_kept,) and `centers` (n_kept, n_clusters), which are
    less these means, are of the kept features.
    """
    labels = np.zeros(X.shape[0], np.int32)
    kept = WeightedFeatures(np.arange(len(features.support)), features.values)
    for start in range(0, X.shape[0], SAMPLES_AT_ONCE):
        rows = slice(start, start + SAMPLES_AT_ONCE)
        columns = centred_block(X[rows][:, features.support], means)
        labels[rows] = nearest_centers(columns, kept, centers, labels[rows], n_threads)
    return labels


def nearest_centers(
    columns: Block,
    features: WeightedFeatures,
    centers: np.ndarray,
    labels: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Label every sample by its nearest centre.

    `columns` is (n_features, n_samples), `centers` (n_kept, n_clusters). A sample leaves its
    cluster in `labels` only for a strictly nearer centre; other ties go to the lowest index.
    """
    even = np.ones(centers.shape[1])
    squares = np.zeros(columns.shape[1])
    return cheapest_centers(
        columns, features, centers, labels, squares, stay=even, join=even, n_threads=n_threads
    )


def cheapest_centers(
    columns: Block,
    features: WeightedFeatures,
    centers: np.ndarray,
    labels: np.ndarray,
    squares: np.ndarray,
    *,
    stay: np.ndarray,
    join: np.ndarray,
    n_threads: int = 1,
) -> np.ndarray:
    """Label every sample by the centre of least cost: squared distance times a factor.

    `squares` (n_samples,) are weighted squared norms; where all factors are equal they change
    nothing. `stay` and `join` (n_clusters,) are the factors for the own cluster and for others.
    """
    weighted = centers * features.values[:, None]
    offsets = (weighted * centers).sum(axis=0)
    slopes = -2.0 * weighted
    cheapest = np.empty(columns.shape[1], np.int32)
    if isinstance(columns, SparseBlock):
        # The products with the means are alike for all samples; a dropped feature adds nothing.
        offsets -= columns.means[features.support] @ slopes
        every_slope = np.zeros((columns.shape[0], centers.shape[1]))
        every_slope[features.support] = slopes
        assign = _assign_stored
        values = (columns.data, columns.indices, columns.indptr, every_slope, offsets)
        smallest = worth_a_thread(centers.shape[1] * columns.stored_per_sample)
    else:
        assign = _assign
        values = (
            columns,
            features.support,
            slopes.astype(columns.dtype),
            offsets.astype(columns.dtype),
        )
        smallest = ROW_BLOCK * -(-worth_a_thread(centers.size) // ROW_BLOCK)
    run_in_slices(
        lambda start, stop: assign(*values, labels, squares, stay, join, start, stop, cheapest),
        columns.shape[1],
        n_threads,
        smallest,
    )
    return cheapest


@compiled
def _assign(columns, support, slopes, offsets, labels, squares, stay, join, start, stop, cheapest):
    n_clusters = slopes.shape[1]
    block = np.empty((n_clusters, ROW_BLOCK), columns.dtype)
    least = np.empty(ROW_BLOCK)
    for first in range(start, stop, ROW_BLOCK):
        size = min(ROW_BLOCK, stop - first)
        for k in range(n_clusters):
            block[k, :size] = offsets[k]
        add_products(columns, support, slopes, first, size, block)
        square = squares[first : first + size]
        chosen = cheapest[first : first + size]
        for i in range(size):
            own = labels[first + i]
            least[i] = (square[i] + block[own, i]) * stay[own]
            chosen[i] = own
            # Staying is the price of the own centre; it cannot also be joined.
            block[own, i] = np.inf
        # Centre after centre, without a branch: several samples are then compared at once.
        for k in range(n_clusters):
            row = block[k]
            factor = join[k]
            for i in range(size):
                cost = (square[i] + row[i]) * factor
                cheaper = cost < least[i]
                least[i] = cost if cheaper else least[i]
                chosen[i] = k if cheaper else chosen[i]


@compiled
def _assign_stored(
    data, indices, indptr, slopes, offsets, labels, squares, stay, join, start, stop, cheapest
):
    n_clusters = slopes.shape[1]
    block = np.empty(n_clusters)
    for i in range(start, stop):
        block[:] = offsets
        for q in range(indptr[i], indptr[i + 1]):
            x = np.float64(data[q])
            row = slopes[indices[q]]
            for k in range(n_clusters):
                block[k] += x * row[k]
        own = labels[i]
        least = (squares[i] + block[own]) * stay[own]
        cheapest[i] = own
        for k in range(n_clusters):
            cost = (squares[i] + block[k]) * join[k]
            if k != own and cost < least:
                least = cost
                cheapest[i] = k


@compiled
def add_products(columns, support, slopes, first, size, block):
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
