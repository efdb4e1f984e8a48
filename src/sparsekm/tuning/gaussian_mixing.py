r"""Rows replaced by random mixtures of rows: draws from a Gaussian with the data's second moments.

With G of independent standard normals and n centred rows X, the rows of :math:`G X / \sqrt{n}` are
independent draws from :math:`N(0, X^T X / n)`: no p x p matrix is ever made, and where n < p none
would do. The products are our own loops in float64 and a fixed order, and not the BLAS, so the bits
depend neither on its version nor on its threads.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.compiled import compiled

# Up to here all rows mix with all; beyond, only within random blocks of about so many, so that
# time and memory stay linear in the number of samples.
BLOCK = 512


def mix_rows(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw as many rows as `X` has from a Gaussian with its means, spreads and correlations.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_samples, n_features), in the dtype of `X`
        Its features have exactly the means and standard deviations of `X`, and its correlations in
        expectation. Up to `BLOCK` samples the draws are from one Gaussian. Beyond, they are from
        one per block of random rows; the covariances of the blocks average to the data's.
    """
    # One layout, one order of summation: the bits do not depend on how the caller's array lies.
    X = np.ascontiguousarray(X)
    n = X.shape[0]
    means = X.mean(axis=0, dtype=np.float64)
    mixed = np.empty(X.shape, dtype=X.dtype)
    for rows in np.array_split(rng.permutation(n), -(-n // BLOCK)):
        centred = X[rows] - means
        factors = rng.standard_normal((len(rows), len(rows)))
        draws = np.zeros(centred.shape)
        _add_product(factors, centred, draws)
        mixed[rows] = draws / np.sqrt(len(rows))
    return _match_spreads(mixed, X, means)


def _match_spreads(mixed: np.ndarray, X: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Give the features of `mixed`, in place, the means and standard deviations of those of `X`."""
    spreads = X.std(axis=0, dtype=np.float64)
    own = mixed.std(axis=0, dtype=np.float64)
    scales = np.divide(spreads, own, out=np.zeros_like(own), where=own > 0)
    shifts = means - mixed.mean(axis=0, dtype=np.float64) * scales
    mixed *= scales
    mixed += shifts
    return mixed


@compiled
def _add_product(factors, rows, draws):
    """Add factors @ rows to draws, four rows at a time, so that each pass does more."""
    m = rows.shape[0]
    p = rows.shape[1]
    whole = m - m % 4
    for i in range(factors.shape[0]):
        draw = draws[i]
        for q in range(0, whole, 4):
            f0 = factors[i, q]
            f1 = factors[i, q + 1]
            f2 = factors[i, q + 2]
            f3 = factors[i, q + 3]
            r0 = rows[q]
            r1 = rows[q + 1]
            r2 = rows[q + 2]
            r3 = rows[q + 3]
            for j in range(p):
                draw[j] += (f0 * r0[j] + f1 * r1[j]) + (f2 * r2[j] + f3 * r3[j])
        for q in range(whole, m):
            f0 = factors[i, q]
            r0 = rows[q]
            for j in range(p):
                draw[j] += f0 * r0[j]
