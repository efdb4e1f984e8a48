"""
Batches, missing values, new samples and the genes of each cluster
==================================================================

We use the 700 blood cells that come with scanpy (``pip install "sparsekm[scanpy]"``) for three
problems of real experiments: a known nuisance, missing values, and cells that come later.
"""

# %%
# The phase of the cell cycle is a nuisance that was scored for every cell. If it is given as
# ``batch``, the clustering is repeated after centring each phase.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scanpy as sc
from sklearn.metrics import adjusted_rand_score

from sparsekm import L0KMeans, SparseKMeans

cells = sc.datasets.pbmc68k_reduced()
X = pd.DataFrame(cells.raw[:, cells.var_names].X.toarray(), columns=cells.var_names)
model = SparseKMeans(7, random_state=0).fit(X, batch=cells.obs["phase"])
print(f"The two results agree with an adjusted Rand index of {model.batch_agreement_:.2f}.")
figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
model.batch_shares_.plot.bar(stacked=True, rot=0, ylabel="share of the cluster", ax=ax)
plt.show()

# %%
# No cluster coincides with a phase. For every cluster, ``cluster_signatures_`` has the smallest set
# of genes that separates its cells from all others. The set is chosen on some cells and judged on
# the others. A cluster without such genes has none.

pd.Series(
    {
        cluster: "-" if genes is None else ", ".join(X.columns[genes[:8]])
        for cluster, genes in enumerate(model.cluster_signatures_)
    },
    name="fewest genes",
)

# %%
# Cells that come later are assigned to the nearest centre. Here every other cell is clustered, and
# the rest are predicted. We compare the predictions with clusters of the second half alone.

first, later = X[::2], X[1::2]
clusters = SparseKMeans(7, random_state=0).fit(first)
own = SparseKMeans(7, random_state=0).fit_predict(later)
print(f"ARI {adjusted_rand_score(own, clusters.predict(later)):.2f}")

# %%
# A twentieth of the values is missing. ``missing="impute"`` fills them from correlated genes.

scaled = (X - X.mean()) / X.std().where(X.std() > 0, 1)
lost = np.random.default_rng(0).random(X.shape) < 0.05
complete = L0KMeans(7, sparsity=100, random_state=0).fit_predict(scaled)
filled = L0KMeans(7, sparsity=100, missing="impute", random_state=0).fit_predict(scaled.mask(lost))
print(f"ARI {adjusted_rand_score(complete, filled):.2f}")
