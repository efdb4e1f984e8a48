r"""k-means on many samples: all exchange moves of a sweep at once, with a safeguard.

Lloyd's iteration takes each sample to its nearest centre. But a sample draws the centre of its own
cluster towards itself, and with more features than samples in a cluster that alone can hold it
there: on data without structure Lloyd stops almost where it starts. So the moves are judged by
what they gain (Hartigan & Wong 1979, doi:10.2307/2346830): staying in cluster a costs
:math:`\frac{n_a}{n_a - 1} d_{ia}^2`, joining b :math:`\frac{n_b}{n_b + 1} d_{ib}^2`. Taken all at
once these gains need not add up; a sweep that does not gain is undone and a plainer one tried.

From sweep to sweep the centres drift the same way, so the distances are taken to centres carried
on by their last step. That ends higher on data without structure than none of it, three quarters,
or more.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.kmeans.assignment import WeightedFeatures, cheapest_centers
from sparsekm.cluster.matrices.scatter import (
    Matrix,
    cluster_sizes,
    matrix_sums,
    move_between_sums,
    scores_from_sums,
)
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.runtime.compiled import compiled


def exchange_in_batches(
    matrix: Matrix,
    features: WeightedFeatures,
    labels: np.ndarray,
    n_clusters: int,
    *,
    min_size: int = 1,
    max_sweeps: int = 300,
    tol: float = 0.0,
    n_threads: int = 1,
) -> tuple[np.ndarray, int]:
    """Sweep from `labels` until no sweep gains more than `tol`, or `max_sweeps`.

    The between-cluster sum of squares never falls. With ``tol=0`` the result is a fixed point of
    Lloyd's iteration, unless a cluster is held at `min_size`. Few samples move in most sweeps, so
    the cluster sums are kept and changed by those that do. Returns new labels and the number of
    sweeps; `tol` is a share of the objective.
    """
    kept = matrix.select(features.support)
    features = WeightedFeatures(np.arange(len(features.support)), features.values)
    labels = fill_clusters(kept, features, labels, n_clusters, min_size)
    sizes = cluster_sizes(labels, n_clusters)
    sums = matrix_sums(kept, labels, n_clusters, n_threads)
    origin = np.zeros((len(features.support), 1))
    squares = _square_distances(kept, features, origin, np.zeros(kept.n_samples, np.int32))
    objective = _between(features, sums, sizes)
    previous = None
    further, fair = False, True
    sweeps = 0
    while sweeps < max_sweeps:
        sweeps += 1
        centers = sums / np.maximum(sizes, 1)
        ahead = 2 * centers - previous if further else centers
        stay, join = exchange_factors(sizes) if fair else (np.ones(n_clusters), np.ones(n_clusters))
        moved, changed = _sweep(kept, features, ahead, labels, squares, stay, join, sums, n_threads)
        counts = cluster_sizes(moved, n_clusters)
        if counts.min() < max(min_size, 1):
            filled = fill_clusters(kept, features, moved, n_clusters, min_size, changed)
            for start, columns in kept.blocks():
                here = slice(start, start + columns.shape[1])
                _follow(columns, moved[here], filled[here], changed, n_threads)
            moved, counts = filled, cluster_sizes(filled, n_clusters)
        gained = _between(features, changed, counts)
        little = gained <= objective * (1.0 + tol)
        plain = not further
        if gained > objective:
            previous = centers
            labels, sums, sizes, objective = moved, changed, counts, gained
        further = not little
        if little and plain:
            if not fair:
                break
            fair = False
    return labels, sweeps


def exchange_factors(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return by what a squared distance counts for staying in a cluster and for joining it.

    n / (n - 1), and 1 for a cluster of one sample, which costs nothing to keep; n / (n + 1).
    """
    return sizes / np.maximum(sizes - 1, 1), sizes / (sizes + 1)


def _sweep(kept, features, centers, labels, squares, stay, join, sums, n_threads):
    """Move every sample where it costs least; return the labels and their cluster sums."""
    moved = np.empty_like(labels)
    changed = sums.copy()
    for start, columns in kept.blocks():
        here = slice(start, start + columns.shape[1])
        after = cheapest_centers(
            columns,
            features,
            centers,
            labels[here],
            squares[here],
            stay=stay,
            join=join,
            n_threads=n_threads,
        )
        _follow(columns, labels[here], after, changed, n_threads)
        moved[here] = after
    return moved, changed


def _follow(columns, before, after, sums, n_threads) -> None:
    """Update cluster sums for the samples of a block that changed their cluster."""
    movers = np.flatnonzero(after != before)
    move_between_sums(columns, movers, before, after, sums, n_threads)


def _between(features, sums, sizes) -> float:
    return float(np.sum(features.values * scores_from_sums(sums, sizes)))


def _square_distances(kept, features, centers, labels) -> np.ndarray:
    """Return the weighted squared distance of every sample to the centre of its label."""
    distances = np.zeros(kept.n_samples)
    for start, columns in kept.blocks():
        here = slice(start, start + columns.shape[1])
        place = features.values, centers, labels[here], distances[here]
        if isinstance(columns, SparseBlock):
            columns.add_distances(*place)
        else:
            _add_distances(columns, *place)
    return distances


def fill_clusters(
    matrix: Matrix,
    features: WeightedFeatures,
    labels: np.ndarray,
    n_clusters: int,
    min_size: int,
    sums: np.ndarray | None = None,
) -> np.ndarray:
    """Bring every cluster to `min_size` samples, at least one.

    A short cluster is filled with the samples farthest from their own centres, one at a time, out
    of clusters that can spare them; ties go to the lowest index. `sums` are the cluster sums, where
    they are known. Returns `labels` itself where no cluster is short.
    """
    min_size = max(min_size, 1)
    sizes = cluster_sizes(labels, n_clusters)
    if sizes.min() >= min_size:
        return labels
    labels = labels.copy()
    if sums is None:
        sums = matrix_sums(matrix, labels, n_clusters)
    centers = sums / np.maximum(sizes, 1)
    distances = _square_distances(matrix, features, centers, labels)
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
