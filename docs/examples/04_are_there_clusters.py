"""
Are there clusters at all?
==========================

Clustering methods return clusters even if the data have none. The attributes ``has_clusters_`` and
``conclusion_`` of :class:`~sparsekm.SparseKMeans` report whether there is evidence for clusters.
"""

# %%
# We simulate three data sets of 60 samples and 200 features: three groups, pure noise, and samples
# spread evenly along a gradient.

import matplotlib.pyplot as plt
import numpy as np

from sparsekm import SparseKMeans

rng = np.random.default_rng(2)
noise = rng.normal(size=(60, 200))
groups = noise.copy()
groups[:20, :15] += 2
groups[20:40, 15:30] += 2
gradient = noise.copy()
gradient[:, :40] += np.linspace(-3, 3, 60)[:, np.newaxis]

# %%
# The conclusion for each data set:

results = {}
for name, X in {"groups": groups, "noise": noise, "gradient": gradient}.items():
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    results[name] = SparseKMeans(3, random_state=0).fit(X)
    print(f"{name}: {results[name].conclusion_}\n")

# %%
# The matrices show how often two samples fall into the same cluster over all resamplings. Groups
# appear as blocks; noise shows none.
#
# The test also finds evidence in the gradient: its features order the samples in the same way, so
# clusters found from one half of the features are confirmed by the other half. The test
# distinguishes structure from noise, but not groups from a gradient. The matrix does: a gradient
# appears as a band, because its clusters have no clear borders.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (name, found) in zip(axes, results.items(), strict=True):
    image = ax.imshow(found.coassociation_, vmin=0, vmax=1, cmap="viridis")
    evidence = "evidence of clusters" if found.has_clusters_ else "no evidence of clusters"
    ax.set(title=f"{name}: {evidence}", xlabel="sample", ylabel="sample")
figure.colorbar(image, ax=axes, label="share of fits that join two samples")
plt.show()
