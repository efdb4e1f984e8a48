"""
How many clusters
=================

The objective always grows with the number of clusters K, so it cannot choose K. With
``n_clusters="auto"``, :class:`~sparsekm.SparseKMeans` fits several K, joins clusters without a
valley between them, and counts the groups that remain.
"""

# %%
# We simulate 60 samples in three groups that differ in 30 of 200 features.

import matplotlib.pyplot as plt
import numpy as np

from sparsekm import SparseKMeans

rng = np.random.default_rng(1)
group = np.repeat([0, 1, 2], 20)
X = rng.normal(size=(60, 200))
X[group == 0, :10] += 3
X[group == 1, 10:20] += 3
X[group == 2, 20:30] += 3

# %%
# The number of groups stops growing at the right number of clusters, because the parts of a group
# are not separated and are joined again. The result is the largest number of groups that two K
# reach.

model = SparseKMeans("auto", random_state=0).fit(X)
print(model.conclusion_)
print(model.cluster_counts_)

# %%
# With more clusters, the samples of a group are divided differently when others are left out.

counts = model.cluster_counts_
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(counts["n_clusters"], counts["n_groups"], "o-", label="clearly separated groups")
ax.plot(counts["n_clusters"], counts["reproducibility"], "s--", label="reproducibility")
ax.axvline(counts.loc[counts["chosen"], "n_clusters"].item(), color="0.7", label="chosen")
ax.set(xlabel="K", xticks=counts["n_clusters"], ylim=(0, None))
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
