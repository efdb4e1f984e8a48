"""
Together with scanpy
====================

scanpy clusters a graph of neighbouring cells (Leiden) and looks for marker genes afterwards.
``sparsekm.tl.sparse_kmeans`` chooses clusters and genes together. Here we compare the two on the
700 blood cells that come with scanpy (``pip install "sparsekm[scanpy]"``).
"""

# %%
# The data have 765 genes and a published cell type for each cell. The Leiden clusters come from
# scanpy's own steps. ``X`` is scaled, so ``sparse_kmeans`` uses the logarithms of normalised counts
# instead. It first considers genes that are more variable than others with the same mean, and needs
# their scale for that. We ask for as many clusters as Leiden finds.

import matplotlib.pyplot as plt
import pandas as pd
import scanpy as sc
from sklearn.metrics import adjusted_rand_score

import sparsekm

adata = sc.datasets.pbmc68k_reduced()
sc.pp.neighbors(adata, random_state=0)
sc.tl.leiden(adata, flavor="igraph", n_iterations=2, random_state=0)
adata.layers["log"] = adata.raw[:, adata.var_names].X
sparsekm.tl.sparse_kmeans(adata, n_clusters=adata.obs["leiden"].nunique(), layer="log")

# %%
# How well do the partitions agree with the cell types, and with each other? An adjusted Rand index
# of 1 is perfect agreement, and chance gives 0.

partitions = adata.obs[["bulk_labels", "leiden", "sparse_kmeans"]]
pd.DataFrame(
    {
        one: {
            other: adjusted_rand_score(partitions[one], partitions[other]) for other in partitions
        }
        for one in partitions
    }
).round(2)

# %%
# The table shows where they agree: cells of each type, by Leiden cluster and by cluster of
# ``sparse_kmeans``.

pd.concat(
    {
        method: pd.crosstab(adata.obs["bulk_labels"], adata.obs[method])
        for method in ("leiden", "sparse_kmeans")
    },
    axis="columns",
)

# %%
# The Leiden clusters by cluster of ``sparse_kmeans``:

pd.crosstab(adata.obs["leiden"], adata.obs["sparse_kmeans"])

# %%
# Print how many genes are kept, and which clusters are clearly separated:

selected = adata.var["sparse_kmeans_selected"]
print(f"{selected.sum()} of {adata.n_vars} genes are kept.")
print(adata.uns["sparse_kmeans"]["conclusion"])

# %%
# The genes of every cluster are stored in the format of ``scanpy.tl.rank_genes_groups``, so
# scanpy's functions can show them. Here we show the genes that are highest in each cluster. There
# are no p-values, because the clusters were chosen so that genes differ.

key = "sparse_kmeans_markers"
print(sc.get.rank_genes_groups_df(adata, group="0", key=key).head())
plt.rcParams["savefig.bbox"] = "tight"  # room for the gene names
sc.pl.rank_genes_groups_dotplot(
    adata, key=key, n_genes=3, values_to_plot="logfoldchanges", dendrogram=False, show=False
)
plt.show()
