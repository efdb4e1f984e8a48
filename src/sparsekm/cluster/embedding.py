"""Few samples in as few dimensions: all their distances, exactly, whatever the number of features.

Where every feature counts alike only the inner products of the samples matter. A Cholesky factor of
their matrix has a row for each sample with the same inner products and at most n_samples numbers.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.compiled import compiled

# What is left of a squared norm when only rounding is left of it, as a share of the largest.
ROUNDING = 1e-13


def embed_samples(rows: np.ndarray) -> np.ndarray:
    """Embed samples isometrically.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_features), float64

    Returns
    -------
    ndarray of shape (n_samples, rank), float64
        The pivoted Cholesky factor of ``rows @ rows.T``: equal inner products up to rounding. The
        loops are our own, so that no bit depends on the BLAS.
    """
    return _factorise(_inner_products(rows))


@compiled
def _inner_products(rows):
    n, p = rows.shape
    products = np.empty((n, n))
    for i in range(n):
        for h in range(i + 1):
            a = b = c = d = 0.0
            whole = p - p % 4
            for j in range(0, whole, 4):
                a += rows[i, j] * rows[h, j]
                b += rows[i, j + 1] * rows[h, j + 1]
                c += rows[i, j + 2] * rows[h, j + 2]
                d += rows[i, j + 3] * rows[h, j + 3]
            for j in range(whole, p):
                a += rows[i, j] * rows[h, j]
            products[i, h] = products[h, i] = (a + b) + (c + d)
    return products


@compiled
def _factorise(products):
    n = products.shape[0]
    factor = np.zeros((n, n))
    left = np.diag(products).copy()
    least = ROUNDING * left.max()
    rank = 0
    for q in range(n):
        pivot = np.argmax(left)
        if left[pivot] <= least:
            break
        root = np.sqrt(left[pivot])
        for i in range(n):
            inner = products[i, pivot]
            for r in range(q):
                inner -= factor[i, r] * factor[pivot, r]
            factor[i, q] = inner / root
            left[i] -= factor[i, q] * factor[i, q]
        left[pivot] = 0.0
        rank = q + 1
    return np.ascontiguousarray(factor[:, :rank])
