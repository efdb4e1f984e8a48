r"""Random mixtures of rows: draws from a Gaussian with the data's second moments.

With G of independent standard normals and n centred rows X, the rows of :math:`G X / \sqrt{n}` are
independent draws from :math:`N(0, X^T X / n)`: no p x p matrix is needed, which for n < p would be
singular.

With few samples, correlations are partly due to chance. With a share :math:`\lambda` of
independent normals :math:`\varepsilon` as spread as the features, the rows of
:math:`\sqrt{(1 - \lambda) / n} \, G X + \sqrt\lambda \, \varepsilon` have the correlation matrix
shrunk by :math:`\lambda` towards the identity.

The share is Ledoit & Wolf's intensity: of n samples z, z-scored in p features, with correlation
matrix R,

.. math:: \lambda = \min\left(1,\;
   \frac{\frac{1}{n^2} \sum_i \lVert z_i z_i^T - R \rVert^2}{\lVert R - I \rVert^2}\right) ,

the chance variation of R relative to its distance from the identity (Ledoit & Wolf 2004,
doi:10.1016/S0047-259X(03)00096-4). Both norms are sums over pairs of samples as well as over pairs
of features, so the smaller product is computed: for 60 samples of 20,000 features this takes a
hundredth of the time of `sklearn.covariance.ledoit_wolf_shrinkage`, which uses all pairs of
features.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.dense_parts import as_dense, feature_means, feature_variances
from sparsekm.runtime.threads import one_blas_thread

# Up to here all rows mix with all; beyond, only within random blocks of about so many, so that
# time and memory stay linear in the number of samples.
BLOCK = 512


def mix_rows(
    X: np.ndarray | csr_array, rng: np.random.Generator, shrinkage: float = 0.0
) -> np.ndarray:
    """Draw as many rows as `X` has from a Gaussian with its means, spreads and correlations.

    `shrinkage`, between 0 and 1, is the share of independent normals; correlations are multiplied
    by the rest. The result is an array with the shape and dtype of `X`, also where `X` is sparse.
    Its features have exactly the means and standard deviations of `X` and, in expectation, its
    shrunk correlations. Up to `BLOCK` samples are drawn from one Gaussian. More are drawn from one
    per block of random rows; the covariances of the blocks average to those of the data.
    """
    if not issparse(X):
        # One layout, one order of summation: the bits do not depend on how the caller's array lies.
        X = np.ascontiguousarray(X)
    n = X.shape[0]
    means = feature_means(X)
    spreads = np.sqrt(feature_variances(X))
    mixed = np.empty(X.shape, dtype=X.dtype)
    for rows in np.array_split(rng.permutation(n), -(-n // BLOCK)):
        centred = as_dense(X[rows]) - means
        factors = rng.standard_normal((len(rows), len(rows)))
        with one_blas_thread:
            draws = factors @ centred
        draws /= np.sqrt(len(rows))
        if shrinkage > 0:
            draws *= np.sqrt(1 - shrinkage)
            draws += np.sqrt(shrinkage) * spreads * rng.standard_normal(draws.shape)
        mixed[rows] = draws
    return _match_spreads(mixed, means, spreads)


def _match_spreads(mixed: np.ndarray, means: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Give the features of `mixed`, in place, these means and standard deviations."""
    own = np.sqrt(feature_variances(mixed))
    scales = np.divide(spreads, own, out=np.zeros_like(own), where=own > 0)
    shifts = means - feature_means(mixed) * scales
    mixed *= scales
    mixed += shifts
    return mixed


def correlation_shrinkage(X: np.ndarray | csr_array) -> float:
    """Compute the share of the identity in the shrunk correlation matrix, from 0 to 1.

    At most `BLOCK` samples are used, evenly spaced: a Gaussian reference is drawn from the
    correlations of that many at a time. Constant features are left out.
    """
    z = _z_score(X)
    n, p = z.shape
    if p < 2:
        return 0.0
    # ||z_i||^2 squared is the squared norm of z_i z_i^T; those of R are summed over the product.
    squares = np.einsum("ij,ij->i", z, z)
    with one_blas_thread:
        product = z @ z.T if n <= p else z.T @ z
    norm = np.einsum("ij,ij->", product, product) / n**2
    chance = (np.einsum("i,i->", squares, squares) / n - norm) / n
    distance = norm - p
    return float(min(1.0, max(chance, 0.0) / distance)) if distance > 0 else 0.0


def _z_score(X: np.ndarray | csr_array) -> np.ndarray:
    """Z-score, with ddof = 0, the features of at most `BLOCK` samples that vary among them."""
    n = X.shape[0]
    rows = np.linspace(0, n - 1, min(n, BLOCK)).round().astype(int)
    # One layout, one order of summation: the bits do not depend on how the caller's array lies.
    z = np.array(as_dense(X[rows]), dtype=np.float64, order="C")
    z = np.ascontiguousarray(z[:, np.ptp(z, axis=0) > 0])
    z -= z.mean(axis=0)
    z /= z.std(axis=0)
    return z
