"""Compiled passes over the stored values of samples in CSR format.

All take the arrays `data`, `indices` and `indptr`, of which `indptr` may be a part of that of a
larger matrix; sums run over the samples in ascending order, in float64.
"""

from __future__ import annotations

import numpy as np

from sparsekm.runtime.compiled import compiled


@compiled
def summarise_columns(data, indices, indptr, totals, counts, first, same):
    """Sum and count every column's stored values, in place; return the largest absolute one.

    `first` becomes the first of them and `same` whether all are alike.
    """
    largest = 0.0
    for q in range(indptr[0], indptr[-1]):
        j = indices[q]
        x = np.float64(data[q])
        if counts[j] == 0:
            first[j] = x
        elif x != first[j]:
            same[j] = False
        totals[j] += x
        counts[j] += 1
        largest = max(largest, abs(x))
    return largest


@compiled
def fill_columns(data, indices, indptr, means, places, columns):
    """Write stored values, less their means, into the columns at their places; -1 is none."""
    for i in range(len(indptr) - 1):
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            if places[j] >= 0:
                columns[places[j], i] = data[q] - means[j]


@compiled
def sum_samples(data, indices, indptr, labels, sums):
    """Add every sample to the sums (n_features, n_clusters) of its cluster."""
    for i in range(len(labels)):
        k = labels[i]
        for q in range(indptr[i], indptr[i + 1]):
            sums[indices[q], k] += data[q]


@compiled
def move_samples(data, indices, indptr, movers, before, after, sums):
    """Take samples out of the sums of one cluster and add them to those of another."""
    for i in movers:
        a = before[i]
        b = after[i]
        for q in range(indptr[i], indptr[i + 1]):
            x = data[q]
            row = sums[indices[q]]
            row[a] -= x
            row[b] += x


@compiled
def add_distances(data, indices, indptr, points, values, labels, distances):
    """Add what stored values contribute to the weighted squared distance of each sample to a point.

    `labels` tell which of the points (n_features, n_points); `distances` hold those of zeros.
    """
    for i in range(len(distances)):
        k = labels[i]
        total = distances[i]
        for q in range(indptr[i], indptr[i + 1]):
            j = indices[q]
            x = np.float64(data[q])
            total += values[j] * x * (x - 2.0 * points[j, k])
        distances[i] = total
