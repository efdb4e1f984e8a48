"""The samples as the moves of k-means use them: rows of an array, or the stored values of rows.

*Points* are sums or means of rows. Points of sparse rows hold two further numbers, a factor of all
others and the squared norm, so that distances and moves read only the stored values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from sparsekm.runtime.compiled import LOOSELY, compiled, compiled_loosely

# Squared distances below this share of the squared norms count as 0, because they are rounding
# errors.
ROUNDING = 1e-13


class SparseRows(NamedTuple):
    """The arrays of a CSR matrix; features that all samples store are centred."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    squares: np.ndarray  # (n_samples,), float64: squared norms
    shape: tuple[int, int]


Rows = np.ndarray | SparseRows


def _either(of_array: Callable, options: Any = ()) -> Callable[[Callable], Any]:
    """Return a decorator: arrays call `of_array`, and SparseRows call the decorated function.

    Kernels are compiled with `of_array` and the `options`.
    """

    def pair(of_sparse: Callable) -> Callable:
        def kernel(rows, *others):
            return (of_sparse if isinstance(rows, SparseRows) else of_array)(rows, *others)

        @overload(kernel, strict=False, jit_options=options)
        def choose_array(rows, *others):
            return None if isinstance(rows, types.BaseNamedTuple) else of_array

        @overload(kernel, strict=False)
        def choose_sparse(rows, *others):
            return of_sparse if isinstance(rows, types.BaseNamedTuple) else None

        return kernel

    return pair


# Rows are passed as numbers, because reference counting for a slice takes longer than a short row.


def _square_distance(rows, i, points, k):
    total = rows.dtype.type(0)
    for q in range(rows.shape[1]):
        difference = rows[i, q] - points[k, q]
        total += difference * difference
    return total


@compiled_loosely
def _inner(data, indices, point):
    total = 0.0
    for q in range(data.shape[0]):
        total += data[q] * point[indices[q]]
    return total


@compiled_loosely
def _sum_squares(values):
    total = 0.0
    for q in range(values.shape[0]):
        total += np.float64(values[q]) * values[q]
    return total


@compiled
def _product(rows, i, point):
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    return point[-2] * _inner(rows.data[start:stop], rows.indices[start:stop], point)


@_either(_square_distance, LOOSELY)
def distance(rows, i, points, k):
    """Squared distance of a sample to a point."""
    norms = rows.squares[i] + points[k, -1]
    square = norms - 2.0 * _product(rows, i, points[k])
    return square if square > ROUNDING * norms else 0.0


@_either(lambda rows, n_points: np.zeros((n_points, rows.shape[1]), rows.dtype))
def new_points(rows, n_points):
    """Points at the origin."""
    return np.zeros((n_points, rows.shape[1] + 2))


@_either(lambda rows: 1e-10 if rows.itemsize == 8 else 1e-5)
def least_gain(rows):
    """Return the share of its loss that a move must gain, so that rounding moves no samples."""
    return 1e-10


@_either(lambda rows, points, k: None)
def set_norm(rows, points, k):
    """Record that the numbers of a point were set, with the factor 1."""
    points[k, -2:] = 0.0
    points[k, -1] = _sum_squares(points[k])
    points[k, -2] = 1.0


def _add(rows, i, points, k, sign):
    factor = rows.dtype.type(sign)
    for q in range(rows.shape[1]):
        points[k, q] += factor * rows[i, q]


@_either(_add)
def add_row(rows, i, points, k, sign):
    """Add a sample to a sum, or subtract it; the norm of the sum is not set."""
    for q in range(rows.indptr[i], rows.indptr[i + 1]):
        points[k, rows.indices[q]] += sign * rows.data[q]


def _move(rows, i, means, k, size, sign):
    for q in range(rows.shape[1]):
        means[k, q] += sign * ((rows[i, q] - means[k, q]) / size)


@_either(_move)
def move_mean(rows, i, means, k, size, sign):
    """Add a sample to a mean, or remove it; afterwards the mean is over `size` samples."""
    share = sign / size
    rest = 1.0 - share
    mean = means[k]
    if rest <= 0.0:
        mean[:] = 0.0
        mean[-2] = rest = 1.0
    along = _product(rows, i, mean)
    norm = rest * rest * mean[-1] + 2.0 * share * rest * along + share * share * rows.squares[i]
    mean[-2] *= rest
    add_row(rows, i, means, k, share / mean[-2])
    mean[-1] = norm


def _measure_array(rows, first, last, centers, distances, unknown):
    # Four samples and two centres are treated at once, so that every loaded value is used several
    # times.
    columns = np.flatnonzero(unknown)
    pairs = columns.shape[0] - columns.shape[0] % 2
    whole = last - (last - first) % 4
    # Sums have the dtype of the data, so that several values are added at once.
    zero = rows.dtype.type(0)
    for i in range(first, whole, 4):
        x0, x1, x2, x3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        row = i - first
        d0, d1, d2, d3 = distances[row], distances[row + 1], distances[row + 2], distances[row + 3]
        for at in range(0, pairs, 2):
            k, m = columns[at], columns[at + 1]
            one, other = centers[k], centers[m]
            a = b = c = d = e = f = g = h = zero
            for q in range(one.shape[0]):
                u, v = one[q], other[q]
                a += (x0[q] - u) * (x0[q] - u)
                b += (x1[q] - u) * (x1[q] - u)
                c += (x2[q] - u) * (x2[q] - u)
                d += (x3[q] - u) * (x3[q] - u)
                e += (x0[q] - v) * (x0[q] - v)
                f += (x1[q] - v) * (x1[q] - v)
                g += (x2[q] - v) * (x2[q] - v)
                h += (x3[q] - v) * (x3[q] - v)
            d0[k], d1[k], d2[k], d3[k] = a, b, c, d
            d0[m], d1[m], d2[m], d3[m] = e, f, g, h
        for k in columns[pairs:]:
            one = centers[k]
            a = b = c = d = zero
            for q in range(one.shape[0]):
                u = one[q]
                a += (x0[q] - u) * (x0[q] - u)
                b += (x1[q] - u) * (x1[q] - u)
                c += (x2[q] - u) * (x2[q] - u)
                d += (x3[q] - u) * (x3[q] - u)
            d0[k], d1[k], d2[k], d3[k] = a, b, c, d
    for i in range(whole, last):
        for k in columns:
            distances[i - first, k] = distance(rows, i, centers, k)


@_either(_measure_array, LOOSELY)
def measure_block(rows, first, last, centers, out, unknown):
    """Write the distances of the samples first to last to the centres that are `unknown`."""
    for i in range(first, last):
        for k in np.flatnonzero(unknown):
            out[i - first, k] = distance(rows, i, centers, k)


def _swap_terms(rows, labels, point, centers, a, here, alongs, squares):
    for j in range(rows.shape[0]):
        b = labels[j]
        if b != a:
            along = square = rows.dtype.type(0)
            for q in range(rows.shape[1]):
                difference = rows[j, q] - point[0, q]
                along += (centers[a, q] - centers[b, q]) * difference
                square += difference * difference
            alongs[j], squares[j] = 2.0 * along, square


@_either(_swap_terms, LOOSELY)
def swap_terms(rows, labels, point, centers, a, here, alongs, squares):
    """Write the terms of a swap of a point of cluster a with each sample of another cluster b.

    They are twice the product of (centre a - centre b) and (sample - point), and the square of
    (sample - point). `here` are the squared distances of the point to the centres.
    """
    for j in range(rows.shape[0]):
        b = labels[j]
        if b != a:
            along = distance(rows, j, centers, b) - distance(rows, j, centers, a)
            alongs[j], squares[j] = along + here[a] - here[b], distance(rows, j, point, 0)


def _pack(rows, support, factors):
    packed = np.empty((rows.shape[0], support.shape[0]), factors.dtype)
    # Numba checks whether a signed index counts from the end.
    places = support.astype(np.uint64)
    for i in range(rows.shape[0]):
        for q in range(places.shape[0]):
            packed[i, q] = rows[i, places[q]] * factors[q]
    return packed


@_either(_pack)
def pack(rows, support, factors):
    """Return the features `support`, each multiplied by its factor, as rows of the same kind."""
    places = np.full(rows.shape[1], -1)
    places[support] = np.arange(support.shape[0])
    indptr = np.zeros_like(rows.indptr)
    data = np.empty(rows.data.shape[0])
    indices = np.empty_like(rows.indices)
    at = 0
    for i in range(rows.shape[0]):
        for q in range(rows.indptr[i], rows.indptr[i + 1]):
            place = places[rows.indices[q]]
            if place >= 0:
                data[at] = rows.data[q] * factors[place]
                indices[at] = place
                at += 1
        indptr[i + 1] = at
    return sparse_rows(data[:at], indices[:at], indptr, (rows.shape[0], support.shape[0]))


def _replace(columns, support, factors, held, packed):
    enters = np.zeros(columns.shape[0], np.bool_)
    enters[support] = True
    stays = enters[held]
    enters[held] = False
    at = 0
    for j in np.flatnonzero(enters):
        while stays[at]:
            at += 1
        column = columns[j]
        for i in range(column.shape[0]):
            packed[i, at] = column[i] * factors[0]
        held[at] = j
        at += 1
    return packed


@_either(_replace)
def replace_features(rows, support, factors, held, packed):
    """Pack as many other features, with one factor for all; `held` has their positions."""
    held[:] = support
    return pack(rows, support, factors)


@compiled
def sparse_rows(data, indices, indptr, shape):
    """Return the SparseRows of these arrays."""
    squares = np.empty(shape[0])
    for i in range(shape[0]):
        squares[i] = _sum_squares(data[indptr[i] : indptr[i + 1]])
    return SparseRows(data, indices, indptr, squares, shape)


@compiled
def pack_rows(rows, support, factors):
    """Pack, called from Python."""
    return pack(rows, support, factors)
