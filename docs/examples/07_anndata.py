"""
Cells and their marker genes
============================

Single-cell data are usually stored as an AnnData object, a matrix of cells × genes that is mostly
zeros. ``sparsekm.tl.sparse_kmeans`` clusters the cells and selects the genes that distinguish the
clusters. ``sparsekm.pl`` plots the result. Sparse matrices are never made dense.
"""

# %%
# We simulate 200 cells of four types with different total counts. Each type has six marker genes
# among the 100 genes. The counts are normalised as by ``scanpy.pp.normalize_total`` followed by
# ``scanpy.pp.log1p``.

import anndata
import numpy as np
from scipy import sparse

import sparsekm

rng = np.random.default_rng(0)
cell_type = rng.integers(4, size=200)
rates = np.full((200, 100), 0.15)
for j in range(24):
    rates[cell_type == j % 4, j] = 3
counts = rng.poisson(rates * rng.uniform(0.5, 2, size=(200, 1)))
totals = counts.sum(axis=1, keepdims=True)
X = np.log1p(counts / totals * np.median(totals))

adata = anndata.AnnData(sparse.csr_matrix(X.astype(np.float32)))
adata.var_names = [f"gene {j}" for j in range(100)]
adata.obs["type"] = cell_type.astype(str)

# %%
# The clusters are stored in ``obs``, the weights and scores of the genes in ``var``, and the
# conclusion in ``uns``.

sparsekm.tl.sparse_kmeans(adata, 4)
print(adata.uns["sparse_kmeans"]["conclusion"])

# %%
# The method did not use the cell types. Compare them with the clusters:

adata.obs.groupby(["type", "sparse_kmeans"], observed=True).size().unstack(fill_value=0)

# %%
# The 24 marker genes have the largest scores.

sparsekm.pl.scores(adata)

# %%
# The heat map shows the selected genes in every cell, ordered by type. The bars show the clusters,
# and how often each cell stays in its cluster when other cells are left out.

sparsekm.pl.heatmap(adata, groupby="type")
