r"""The features that vary by more than their mean explains, in raw counts: Seurat v3's criterion.

With :math:`\bar x_j` and :math:`s_j^2` the mean and variance (ddof = 1) of feature j, a local
quadratic regression (loess, span .3) of :math:`\log_{10} s_j^2` on :math:`\log_{10} \bar x_j` gives
the standard deviation :math:`\sigma_j` that its mean explains. Features are ranked by the variance
of their standardised counts, clipped at :math:`\sqrt n`,

.. math:: \frac1{n - 1} \sum_i \min\left(\frac{x_{ij} - \bar x_j}{\sigma_j}, \sqrt n\right)^2

(Stuart et al. 2019, doi:10.1016/j.cell.2019.05.031; ``flavor="seurat_v3"`` of scanpy). The
regression is evaluated at every feature; R and scanpy interpolate it, which changes few choices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.row_stream import RowStream
from sparsekm.pipeline.local_regression import local_quadratic


def most_variable(X: RowStream, n_features: int) -> np.ndarray:
    """Return which features of raw counts vary most, ascending; ties go to the lowest index."""
    scores = standardised_variances(X)
    return np.sort(np.argsort(-scores, kind="stable")[:n_features])


def standardised_variances(X: RowStream) -> np.ndarray:
    """Compute the variance of every feature's standardised counts (p,), 0 for a constant one."""
    n, p = X.shape

    def total(of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        return sum(of(as_dense(block)) for _, block in X.blocks())

    means = total(lambda block: block.sum(axis=0, dtype=np.float64)) / n
    variances = total(lambda block: ((block - means) ** 2).sum(axis=0)) / (n - 1)
    varies = variances > 0
    expected = np.ones(p)
    fitted = local_quadratic(np.log10(means[varies]), np.log10(variances[varies]))
    expected[varies] = np.sqrt(10**fitted)
    most = np.sqrt(n)
    scores = total(lambda block: (np.minimum((block - means) / expected, most) ** 2).sum(axis=0))
    return np.where(varies, scores / (n - 1), 0.0)
