"""Cluster means in the units of the data."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.scatter import add_to_sums, cluster_sizes, cluster_sums
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock

ROWS_AT_ONCE = 4096


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
    if issparse(X):
        sums = cluster_sums(SparseBlock(X, np.zeros(X.shape[1])), labels, n_clusters)
    else:
        sums = np.zeros((X.shape[1], n_clusters))
        # An array on disk is read once, row after row.
        height = ROWS_AT_ONCE if isinstance(X, np.memmap) else max(1, len(X))
        for start in range(0, len(X), height):
            rows = np.asarray(X[start : start + height])
            add_to_sums(rows.T, labels[start : start + height], sums)
    return (sums / sizes).T
