r"""Whether features correlate beyond what the clusters explain.

Permuting columns makes features independent. This is the right comparison if the features are
independent within clusters; if they are not, the data differ from every permutation with or without
clusters. The test uses the features that a fit drops, minus their cluster means: for independent
features of n samples in K clusters, the squared correlations average :math:`1 / (n - K)` and, in
units of that, each has a variance of about 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.scatter import cluster_centers
from sparsekm.runtime.threads import one_blas_thread

# Features count as correlated where chance alone would need so many standard errors: the pairs of
# a feature are not quite independent, and labels fitted to the data are not quite the clusters.
BEYOND_CHANCE = 5.0
# So many features, evenly spaced, stand for all.
MOST_FEATURES = 300


@dataclass(frozen=True)
class NoiseCorrelation:
    """How far features correlate within clusters."""

    # Mean squared correlation of two features times (n_samples - n_clusters): about 1 where they
    # are independent, more where they correlate.
    mean: float
    n_pairs: int  # pairs of features it is the mean of

    @property
    def standard_errors(self) -> float:
        """By how many standard errors the mean exceeds that of independent features."""
        return (self.mean - 1) * (self.n_pairs / 2) ** 0.5

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the features count as correlated."""
        return self.standard_errors > BEYOND_CHANCE


def noise_correlation(
    X: np.ndarray | csr_array, labels: np.ndarray, weights: np.ndarray
) -> NoiseCorrelation:
    """Compare the correlations of dropped features within clusters with those expected by chance.

    Features with weight 0 are dropped; if there are fewer than two, all features are used. If fewer
    than two features vary, the mean is 1 and there are no pairs.
    """
    dropped = np.flatnonzero(np.asarray(weights) == 0)
    used = dropped if len(dropped) > 1 else np.arange(X.shape[1])
    if len(used) > MOST_FEATURES:
        used = used[np.linspace(0, len(used) - 1, MOST_FEATURES).round().astype(int)]
    n_clusters = int(labels.max()) + 1
    correlate = _correlate_stored if issparse(X) else _correlate
    correlations = correlate(X[:, used].astype(np.float64), labels, n_clusters)
    count = len(correlations)
    if count < 2:
        return NoiseCorrelation(1.0, 0)
    total = np.square(correlations).sum() - count
    mean = float(total / (count * (count - 1)) * (len(labels) - n_clusters))
    return NoiseCorrelation(mean, count * (count - 1) // 2)


@one_blas_thread
def _correlate(columns: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the correlations within clusters of the features that vary there."""
    columns -= cluster_centers(columns, labels, n_clusters)[labels]
    norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    # What is constant within clusters correlates with nothing.
    varies = norms > 1e-9 * max(norms.max(initial=0.0), 1e-300)
    columns = columns[:, varies] / norms[varies]
    return columns.T @ columns


@one_blas_thread
def _correlate_stored(rows: csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the same from the products of the stored values, without a dense matrix."""
    sizes = np.bincount(labels, minlength=n_clusters)
    centers = np.nan_to_num(cluster_centers(rows, labels, n_clusters))
    products = (rows.T @ rows).toarray()
    squares = products.diagonal().copy()
    products -= centers.T @ (centers * sizes[:, None])
    # Sums of squares this small beside those about 0 are rounding.
    varies = products.diagonal() > 1e-12 * squares
    products = products[np.ix_(varies, varies)]
    norms = np.sqrt(products.diagonal())
    return products / np.outer(norms, norms)
