"""Few samples in as few dimensions: all their distances, exactly, whatever the number of features.

Where every feature counts alike only the inner products of the samples matter. A Cholesky factor of
their matrix has a row for each sample with the same inner products and at most n_samples numbers.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from sparsekm.runtime.one_blas_thread import one_blas_thread

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
        The pivoted Cholesky factor of ``rows @ rows.T``: equal inner products up to rounding.
    """
    with one_blas_thread:
        products = rows @ rows.T
        least = ROUNDING * products.diagonal().max()
        factor, pivots, rank, _ = dpstrf(products, tol=least, lower=1)
    embedded = np.empty((len(rows), rank))
    # LAPACK counts from 1, and leaves what it was given above the diagonal and beyond the rank.
    embedded[pivots - 1] = np.tril(factor)[:, :rank]
    return embedded
