r"""Whether features correlate beyond what the clusters explain.

Permuting columns makes features independent. Where they are so, but for the clusters, that is the
right comparison; where they are not, the data differ from every permutation with or without
clusters. The question is put to the features that a fit drops, less their cluster means: among
independent features of n samples in K clusters the squared correlations average
:math:`1 / (n - K)`.
"""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.centers import cluster_centers

# From here on features count as correlated: squared correlations a quarter larger than chance's.
CORRELATED = 1.25
# So many features, evenly spaced, stand for all.
MOST_FEATURES = 300


def noise_correlation(X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Compare the correlations of dropped features, within clusters, with chance's.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,), int32
    weights : ndarray of shape (n_features,)
        Features with weight 0 are dropped. Where fewer than two are, all features are used.

    Returns
    -------
    float
        Mean squared correlation of two features times (n_samples - n_clusters): about 1 where they
        are independent, more where they correlate. 1 where there are no two features that vary.
    """
    dropped = np.flatnonzero(np.asarray(weights) == 0)
    used = dropped if len(dropped) > 1 else np.arange(X.shape[1])
    if len(used) > MOST_FEATURES:
        used = used[np.linspace(0, len(used) - 1, MOST_FEATURES).round().astype(int)]
    n_clusters = int(labels.max()) + 1
    columns = X[:, used].astype(np.float64)
    columns -= cluster_centers(columns, labels, n_clusters)[labels]
    norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    # What is constant within clusters correlates with nothing.
    varies = norms > 1e-9 * max(norms.max(), 1e-300)
    columns = columns[:, varies] / norms[varies]
    count = columns.shape[1]
    if count < 2:
        return 1.0
    # einsum, unlike the BLAS, sums in one order whatever the number of threads.
    correlations = np.einsum("ij,ik->jk", columns, columns)
    total = np.einsum("jk,jk->", correlations, correlations) - count
    return float(total / (count * (count - 1)) * (len(labels) - n_clusters))


def fair_reference(correlation: float, reference: str = "auto") -> str:
    """Say which references data should be compared with.

    Parameters
    ----------
    correlation : float
        As `noise_correlation` returns it.
    reference : str, default="auto"
        Anything but "auto" is returned as it is.

    Returns
    -------
    str
    """
    if reference != "auto":
        return reference
    return "gaussian" if correlation >= CORRELATED else "permutation"
