"""Cells in three groups that nine genes tell apart, and their clustering by `sparsekm.tl`."""

import numpy as np
from anndata import AnnData

import sparsekm

KEY = "sparse_kmeans"


def draw(kind=np.asarray):
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = np.where(rng.random((90, 30)) < 0.2, rng.exponential(1.0, (90, 30)), 0.0)
    for j in range(9):
        X[labels == j % 3, j] += 4
    adata = AnnData(kind(X.astype(np.float32)))
    adata.var_names = [f"gene{j}" for j in range(30)]
    return adata, labels


def cluster(adata, **parameters):
    return sparsekm.tl.sparse_kmeans(adata, 3, sparsity=9, **parameters)
