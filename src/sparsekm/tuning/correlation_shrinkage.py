r"""How far to shrink a correlation matrix towards the identity: Ledoit & Wolf's intensity.

Of n samples z, z-scored in p features, with correlation matrix R, the intensity is

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
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.gaussian_mixing import BLOCK


def correlation_shrinkage(X: np.ndarray | csr_array) -> float:
    """Compute the share of the identity in the shrunk correlation matrix, from 0 to 1.

    At most `sparsekm.tuning.gaussian_mixing.BLOCK` samples are used, evenly spaced: a Gaussian
    reference is drawn from the correlations of that many at a time, and these are the ones that are
    shrunk. Constant features are left out.
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
