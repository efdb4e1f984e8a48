"""
Cells and their marker genes
============================

Single-cell data come as an AnnData: cells × genes, mostly zeros. ``sparsekm.tl.sparse_kmeans``
clusters the cells and keeps the genes that make the clusters; ``sparsekm.pl`` draws them. Sparse
matrices are not made dense.
"""

# %%
# 200 cells of four types, made here: each type has six markers among 100 genes, and cells differ in
# how many counts they have. Counts are normalised as ``scanpy.pp.normalize_total`` and
# ``scanpy.pp.log1p`` do it.

import anndata
import matplotlib.pyplot as plt
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
# The clusters go to ``obs``, weights and scores of the genes to ``var``, what decided to ``uns``.

sparsekm.tl.sparse_kmeans(adata, 4, random_state=0)
print(adata.uns["sparse_kmeans"]["conclusion"])

# %%
# The types, which the method never saw, beside the clusters:

adata.obs.groupby(["type", "sparse_kmeans"], observed=True).size().unstack(fill_value=0)

# %%
# The genes with the largest scores. The 24 markers come first.

sparsekm.pl.scores(adata)
plt.show()

# %%
# Where the kept genes are high:

sparsekm.pl.heatmap(adata)
plt.show()
