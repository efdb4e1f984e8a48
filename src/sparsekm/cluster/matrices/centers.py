"""Cluster means in the units of the data."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.scatter import cluster_sizes, cluster_sums
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock


def cluster_centers(X: np.ndarray | csr_array, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Average the samples of every cluster.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,), int32
    n_clusters : int

    Returns
    -------
    ndarray of shape (n_clusters, n_features), float64
        NaN for a cluster without samples.
    """
    sizes = cluster_sizes(labels, n_clusters).astype(float)
    sizes[sizes == 0] = np.nan
    columns = SparseBlock(X, np.zeros(X.shape[1])) if issparse(X) else X.T
    return (cluster_sums(columns, labels, n_clusters) / sizes).T
