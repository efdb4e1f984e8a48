r"""k-means on many samples: nearest centres, and all exchange moves of a sweep at once.

A sample's weighted distance to centre k, without the part that all centres share, is
:math:`\sum_j w_j c_{kj}^2 - 2 \sum_j (w_j c_{kj}) x_{ij}`: dropped features are never read, and the
order of a sum depends on neither blocks nor threads. Moves are judged by their gain; a sweep that
does not gain is undone, and a plainer one is tried. Centres drift in the same direction from sweep
to sweep, so distances are computed to centres that are extrapolated by their last step. Distances
are not computed for samples that no centre can have approached closely enough since the last time
(Hamerly 2010, doi:10.1137/1.9781611972801.12).
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import cdist

from sparsekm.cluster.kmeans.few_samples import ROUNDING
from sparsekm.cluster.matrices.matrix import (
    cluster_sizes,
    matrix_sums,
    move_between_sums,
    scores_from_sums,
)
from sparsekm.cluster.matrices.sparse_matrix import SAMPLES_AT_ONCE, SparseBlock, centred_block
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import run_in_slices, worth_a_thread

ROW_BLOCK = 512
# The error of distances, also in float32, is below this share of the squared norms of samples and
# centres.
MEASURED_WITHIN = 1e-4


def label_samples(X, weights, means, centers, n_threads=1) -> np.ndarray:
    """Label the samples of checked data by their nearest centre, block by block.

    `means` (n_kept,) and `centers` (n_kept, n_clusters), minus the means, have only the features
    with weight.
    """
    labels = np.zeros(X.shape[0], np.int32)
    support = np.flatnonzero(weights)
    for start in range(0, X.shape[0], SAMPLES_AT_ONCE):
        rows = slice(start, start + SAMPLES_AT_ONCE)
        columns = centred_block(X[rows][:, support], means)
        labels[rows] = nearest_centers(columns, weights[support], centers, labels[rows], n_threads)
    return labels


def nearest_centers(
    columns, values, centers, labels, n_threads=1, squares=None, factors=None, near=None
) -> np.ndarray:
    """Label every sample by the centre, (n_features, n_clusters), with the lowest cost.

    The cost is the squared distance, with `values` as weights, times a factor. A sample leaves its
    cluster in `labels` only for a strictly lower cost; other ties go to the lowest index. `factors`
    (2, n_clusters), for staying and for joining, require the weighted squared norms, `squares`. The
    squared distances to the sample's own centre and to the nearest other centre are written to
    `near`, (2, n_samples).
    """
    stay, join = np.ones((2, centers.shape[1])) if factors is None else factors
    squares = np.zeros(columns.shape[1]) if squares is None else squares
    near = np.empty((2, columns.shape[1]), np.float32) if near is None else near
    weighted = centers * values[:, None]
    offsets = (weighted * centers).sum(axis=0)
    slopes = -2.0 * weighted
    cheapest = np.empty(columns.shape[1], np.int32)
    if isinstance(columns, SparseBlock):
        # The products with the means are the same for all samples.
        offsets -= columns.means @ slopes
        assign = _assign_stored
        data = (*columns.stored, slopes.astype(columns.dtype), offsets)
        per_sample = columns.rows.nnz // max(1, columns.shape[1])
        smallest = worth_a_thread(centers.shape[1] * per_sample)
    else:
        assign = _assign
        data = (columns, slopes.astype(columns.dtype), offsets.astype(columns.dtype))
        smallest = ROW_BLOCK * -(-worth_a_thread(centers.size) // ROW_BLOCK)
    run_in_slices(
        lambda start, stop: assign(*data, labels, squares, stay, join, start, stop, cheapest, near),
        columns.shape[1],
        n_threads,
        smallest,
    )
    return cheapest


@compiled
def _assign(columns, slopes, offsets, labels, squares, stay, join, start, stop, cheapest, near):
    n_clusters = slopes.shape[1]
    block = np.empty((n_clusters, ROW_BLOCK), columns.dtype)
    least = np.empty(ROW_BLOCK)
    for first in range(start, stop, ROW_BLOCK):
        size = min(ROW_BLOCK, stop - first)
        for k in range(n_clusters):
            block[k, :size] = offsets[k]
        add_products(columns, slopes, first, size, block)
        square = squares[first : first + size]
        chosen = cheapest[first : first + size]
        apart, other = near[0, first : first + size], near[1, first : first + size]
        for i in range(size):
            own = labels[first + i]
            distance = square[i] + block[own, i]
            apart[i] = distance
            other[i] = np.inf
            least[i] = distance * stay[own]
            chosen[i] = own
            # The own centre has the cost of staying, not that of joining.
            block[own, i] = np.inf
        # The loop runs over centres without a branch, so that several samples are compared at once.
        for k in range(n_clusters):
            row = block[k]
            factor = join[k]
            for i in range(size):
                distance = square[i] + row[i]
                other[i] = distance if distance < other[i] else other[i]
                cost = distance * factor
                cheaper = cost < least[i]
                least[i] = cost if cheaper else least[i]
                chosen[i] = k if cheaper else chosen[i]


@compiled
def _assign_stored(
    data, indices, indptr, slopes, offsets, labels, squares, stay, join, start, stop, cheapest, near
):
    n_clusters = slopes.shape[1]
    block = np.empty(n_clusters)
    for i in range(start, stop):
        block[:] = offsets
        end = indptr[i + 1]
        whole = end - (end - indptr[i]) % 4
        # Four values at a time: their slopes, which are far apart in memory, are then loaded
        # together.
        for q in range(indptr[i], whole, 4):
            x0, x1 = np.float64(data[q]), np.float64(data[q + 1])
            x2, x3 = np.float64(data[q + 2]), np.float64(data[q + 3])
            s0, s1 = slopes[indices[q]], slopes[indices[q + 1]]
            s2, s3 = slopes[indices[q + 2]], slopes[indices[q + 3]]
            for k in range(n_clusters):
                block[k] += (x0 * s0[k] + x1 * s1[k]) + (x2 * s2[k] + x3 * s3[k])
        for q in range(whole, end):
            x0, s0 = np.float64(data[q]), slopes[indices[q]]
            for k in range(n_clusters):
                block[k] += x0 * s0[k]
        own = labels[i]
        near[0, i] = squares[i] + block[own]
        near[1, i] = np.inf
        least = (squares[i] + block[own]) * stay[own]
        cheapest[i] = own
        for k in range(n_clusters):
            distance = squares[i] + block[k]
            if k != own:
                near[1, i] = min(near[1, i], distance)
                if distance * join[k] < least:
                    least = distance * join[k]
                    cheapest[i] = k


@compiled
def add_products(columns, slopes, first, size, block):
    """Add sum_j slopes[j, k] * x_ij; four features at a time, so that each pass does more."""
    n_kept = slopes.shape[0]
    whole = n_kept - n_kept % 4
    for q in range(0, whole, 4):
        x0 = columns[q, first : first + size]
        x1 = columns[q + 1, first : first + size]
        x2 = columns[q + 2, first : first + size]
        x3 = columns[q + 3, first : first + size]
        for k in range(slopes.shape[1]):
            s0 = slopes[q, k]
            s1 = slopes[q + 1, k]
            s2 = slopes[q + 2, k]
            s3 = slopes[q + 3, k]
            row = block[k]
            for i in range(size):
                row[i] += (s0 * x0[i] + s1 * x1[i]) + (s2 * x2[i] + s3 * x3[i])
    for q in range(whole, n_kept):
        x0 = columns[q, first : first + size]
        for k in range(slopes.shape[1]):
            s0 = slopes[q, k]
            row = block[k]
            for i in range(size):
                row[i] += s0 * x0[i]


# Centres closer than this many rounding units, relative to the farthest centre, are the same.
ROUNDING_UNITS = 16


def warn_of_coinciding(centers: np.ndarray, dtype: np.dtype) -> None:
    """Warn of clusters with the same centre, up to rounding of `dtype`: (n_clusters, n_kept)."""
    reach = ROUNDING_UNITS * float(np.finfo(dtype).eps) * float(np.abs(centers).max())
    same = cdist(centers, centers, "chebyshev") <= reach
    groups = [np.flatnonzero(row) for k, row in enumerate(same) if row.argmax() == k]
    named = "; ".join(", ".join(map(str, group)) for group in groups if len(group) > 1)
    if named:
        warnings.warn(
            f"Clusters with the same centre in the {centers.shape[1]} kept features: {named}. "
            "predict cannot tell them apart and may differ from labels_ on their samples. Keep "
            "more features (sparsity), or ask for fewer clusters (n_clusters).",
            UserWarning,
            stacklevel=6,
        )


def exchange_in_batches(matrix, weights, labels, step) -> tuple[np.ndarray, int]:
    """Sweep from `labels` until no sweep gains more than the share `tol`, or `max_iter` sweeps.

    `step` is a `KMeansPartition`. If its tolerances are 0, the result is a fixed point of Lloyd's
    iteration, unless a cluster is held at `min_size`. Returns new labels and the number of sweeps.
    """
    n_clusters, min_size, n_threads = step.n_clusters, step.min_size, step.n_threads
    least = 1.0 + max(step.tol, step.roughness, ROUNDING)
    support = np.flatnonzero(weights)
    kept, values = matrix.select(support), weights[support]
    labels = fill_clusters(kept, values, labels, n_clusters, min_size)
    sizes = cluster_sizes(labels, n_clusters)
    sums = matrix_sums(kept, labels, n_clusters, n_threads)
    origin = np.zeros((len(support), 1))
    squares = square_distances(kept, values, origin, np.zeros(kept.n_samples, np.int32))
    objective = _between(values, sums, sizes)
    bounds = _Bounds(values, squares)
    previous = None
    further, fair = False, True
    sweeps = 0
    while sweeps < step.max_iter:
        sweeps += 1
        centers = sums / np.maximum(sizes, 1)
        ahead = 2 * centers - previous if further else centers
        # Staying in a cluster costs n / (n - 1) times the squared distance (0 for a single sample),
        # and joining one costs n / (n + 1) times.
        factors = np.array([sizes / np.maximum(sizes - 1, 1), sizes / (sizes + 1)])
        rest = n_threads, bounds, factors if fair else np.ones_like(factors)
        moved, changed = _sweep(kept, values, ahead, labels, sums, *rest)
        counts = cluster_sizes(moved, n_clusters)
        if counts.min() < min_size:
            filled = fill_clusters(kept, values, moved, n_clusters, min_size, changed)
            for start, columns in kept.blocks():
                here = slice(start, start + columns.shape[1])
                move_between_sums(columns, moved[here], filled[here], changed, n_threads)
            moved, counts = filled, cluster_sizes(filled, n_clusters)
        gained = _between(values, changed, counts)
        # Moves among copies gain nothing but rounding, back and forth.
        little = gained <= objective * least
        plain = not further
        if gained > objective:
            previous = centers
            bounds.own[moved != labels] = np.inf
            labels, sums, sizes, objective = moved, changed, counts, gained
        further = not little
        if little and plain:
            if not fair:
                break
            fair = False
    return labels, sweeps


class _Bounds:
    """Bounds on the distances of a sample: at most to its own centre, at least to any other.

    If they are not known, a sample is infinitely far from its own centre.
    """

    def __init__(self, values, squares) -> None:
        self.values, self.squares = values, squares
        self.own = np.full(len(squares), np.inf, np.float32)
        self.other = np.zeros(len(squares), np.float32)
        self._centers = None

    def move(self, centers) -> np.ndarray:
        """Store the new positions of the centres; return how far each has moved."""
        before = centers if self._centers is None else self._centers
        self._centers = centers
        return np.sqrt(self.values @ np.square(centers - before))

    def find_unsure(self, here, drift, labels, factors) -> np.ndarray:
        """Widen the bounds of a slice by the drift; return its samples that may now leave."""
        own, other = self.own[here], self.other[here]
        own += drift[labels]
        other -= drift.max()
        stay, join = factors
        norms = self.squares[here] + (self.values @ np.square(self._centers)).max()
        stays = np.square(own) * stay[labels] + MEASURED_WITHIN * norms
        return np.flatnonzero(stays >= np.square(np.maximum(other, 0)) * join.min())

    def measure(self, samples, near) -> None:
        """Store squared distances, (2, n), to the own and to the nearest other centre."""
        self.own[samples], self.other[samples] = np.sqrt(np.maximum(near, 0.0))


def _sweep(kept, values, centers, labels, sums, n_threads, bounds, factors):
    """Move every sample to the cluster with the lowest cost; return labels and cluster sums."""
    moved, changed = labels.copy(), sums.copy()
    drift = bounds.move(centers)
    for start, columns in kept.blocks():
        here = slice(start, start + columns.shape[1])
        some = bounds.find_unsure(here, drift, labels[here], factors)
        if 2 * len(some) > columns.shape[1]:
            some, part = np.arange(columns.shape[1]), columns
        elif isinstance(columns, SparseBlock):
            part = columns[:, some]
        else:
            part = columns.take(some, axis=1)
        if len(some):
            some, near = some + start, np.empty((2, len(some)), np.float32)
            asked = n_threads, bounds.squares[some], factors, near
            moved[some] = nearest_centers(part, values, centers, labels[some], *asked)
            bounds.measure(some, near)
        move_between_sums(columns, labels[here], moved[here], changed, n_threads)
    return moved, changed


def _between(values, sums, sizes) -> float:
    return float(np.sum(values * scores_from_sums(sums, sizes)))


def square_distances(kept, values, centers, labels) -> np.ndarray:
    """Return the weighted squared distance of every sample to the centre of its label."""
    distances = np.zeros(kept.n_samples)
    for start, columns in kept.blocks():
        here = slice(start, start + columns.shape[1])
        place = values, centers, labels[here], distances[here]
        if isinstance(columns, SparseBlock):
            columns.add_distances(*place)
        else:
            _add_distances(columns, *place)
    return distances


def fill_clusters(matrix, values, labels, n_clusters, min_size, sums=None) -> np.ndarray:
    """Fill every cluster to `min_size` samples; return `labels` itself if none is short.

    A short cluster gets the samples farthest from their own centres, one at a time, from clusters
    that can spare them. `sums` are the cluster sums, if they are known.
    """
    sizes = cluster_sizes(labels, n_clusters)
    if sizes.min() >= min_size:
        return labels
    labels = labels.copy()
    if sums is None:
        sums = matrix_sums(matrix, labels, n_clusters)
    centers = sums / np.maximum(sizes, 1)
    distances = square_distances(matrix, values, centers, labels)
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
def _add_distances(columns, values, centers, labels, distances):
    for j in range(columns.shape[0]):
        column = columns[j]
        own = centers[j]
        value = values[j]
        for i in range(column.shape[0]):
            distance = column[i] - own[labels[i]]
            distances[i] += value * distance * distance
