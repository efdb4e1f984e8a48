"""Fill missing values by what the features have in common.

The singular vectors that rise above noise predict a missing value from all others of its sample and
its feature. Singular values are shrunk as in Gavish & Donoho (2017, doi:10.1109/TIT.2017.2653801),
again and again until the filled values settle. Data are read in blocks of rows, so memory holds
them, one filled copy, and the positions of missing values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsekm.runtime.threads import one_blas_thread

# The components that are used, and further ones that make them exact.
MOST_COMPONENTS = 20
EXTRA_COMPONENTS = 5
# Steps that find the components of the first fill. Later fills continue from the previous
# components.
FIRST_STEPS = 8
MOST_ROUNDS = 200
# Filled values have settled when they change by no more than this share of a standard deviation.
NEARLY_SETTLED = 1e-2
SETTLED = 1e-3
CELLS_AT_ONCE = 2**20


@one_blas_thread
def fill_missing(X: np.ndarray) -> np.ndarray:
    """Return data in which NaN is filled by way of z-scores, or X itself if there is none.

    Every feature should have a value.
    """
    lacking = np.isnan(X)
    if not lacking.any():
        return X
    known = len(X) - lacking.sum(axis=0)
    mean = sum(np.nansum(X[rows], axis=0, dtype=np.float64) for rows in _blocks(X)) / known
    squares = sum(np.nansum(np.square(X[rows] - mean), axis=0) for rows in _blocks(X))
    deviation = np.sqrt(squares / known)
    # The first fill are the means. A component is added when those before it have nearly settled.
    X = np.where(lacking, mean.astype(X.dtype), X)
    scale = np.where(deviation > 0, deviation, 1.0)
    # The sum of squared z-scores.
    total = float(known[deviation > 0].sum())
    n, p = X.shape
    axes = np.random.default_rng(0).standard_normal(
        (p, min(MOST_COMPONENTS + EXTRA_COMPONENTS, n, p))
    )
    means, most, n_lacking = np.zeros(p), 1, np.count_nonzero(lacking)

    def centred(rows: slice) -> np.ndarray:
        return (X[rows] - mean) / scale - means

    for round_ in range(MOST_ROUNDS):
        for _ in range(1 if round_ else FIRST_STEPS):
            left = np.linalg.qr(np.concatenate([centred(rows) @ axes for rows in _blocks(X)]))[0]
            crossed = sum(centred(rows).T @ left[rows] for rows in _blocks(X))
            axes, values, right = np.linalg.svd(crossed, full_matrices=False)
        shrunk = shrink(values[:most], total, (n, p))
        scores, directions = (left @ right.T)[:, : len(shrunk)] * shrunk, axes[:, : len(shrunk)].T
        change, sums, squares = 0.0, np.zeros(p), 0.0
        for rows in _blocks(X):
            Z, holes = centred(rows) + means, lacking[rows]
            predicted = (scores[rows] @ directions + means)[holes]
            change += np.square(predicted - Z[holes]).sum() / n_lacking
            Z[holes] = predicted
            sums += Z.sum(axis=0)
            squares += np.square(Z).sum()
            X[rows] = np.where(holes, Z * scale + mean, X[rows])
        means = sums / n
        total = float(squares - n * np.square(means).sum())
        if np.sqrt(change) <= NEARLY_SETTLED and len(shrunk) == most < MOST_COMPONENTS:
            most += 1
        elif np.sqrt(change) <= SETTLED:
            break
    return X


def _blocks(X: np.ndarray) -> Iterator[slice]:
    height = max(1, CELLS_AT_ONCE // X.shape[1])
    for start in range(0, len(X), height):
        yield slice(start, start + height)


def shrink(values: np.ndarray, total: float, shape: tuple[int, int]) -> np.ndarray:
    """Return the leading singular values that exceed the noise, shrunk to minimise the error.

    The noise is the part of `total`, the sum of squares of the matrix, that they do not explain.
    """
    n, p = shape
    kept = 0
    while True:
        noise = max(total - np.square(values[:kept]).sum(), 0.0) / ((n - kept) * (p - kept))
        above = int(np.count_nonzero(values > np.sqrt(noise) * (np.sqrt(n) + np.sqrt(p))))
        if above <= kept or above >= min(n, p):
            break
        kept = above
    squares = np.square(values[:kept])
    edges = np.square(squares - noise * (n + p)) - 4 * noise**2 * n * p
    return np.sqrt(np.maximum(edges, 0.0)) / values[:kept]
