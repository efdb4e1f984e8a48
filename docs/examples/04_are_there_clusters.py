"""
Are there clusters at all?
==========================

Every clustering method returns clusters, also of data that have none. ``has_clusters_`` and
``conclusion_`` of :class:`~sparsekm.SparseKMeans` say whether there is evidence of them.
"""

# %%
# Three simulated data sets of 60 samples and 200 features: three groups, pure noise, and a
# gradient along which the samples lie evenly.

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
# The conclusion of each.

results = {}
for name, X in {"groups": groups, "noise": noise, "gradient": gradient}.items():
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    results[name] = SparseKMeans(3, random_state=0).fit(X)
    print(f"{name}: {results[name].conclusion_}\n")

# %%
# How often two samples fall into the same cluster, over all resamplings. Groups make blocks;
# noise makes none.
#
# The gradient counts as evidence too: its features agree on an order of the samples, so pieces
# found in half of the features hold in the other half. The test tells structure from noise, not
# groups from a gradient. The picture does: a gradient makes a band in place of blocks, since
# there is no border between its pieces.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (name, found) in zip(axes, results.items(), strict=True):
    image = ax.imshow(found.coassociation_, vmin=0, vmax=1, cmap="viridis")
    evidence = "evidence of clusters" if found.has_clusters_ else "no evidence of clusters"
    ax.set(title=f"{name}: {evidence}", xlabel="sample", ylabel="sample")
figure.colorbar(image, ax=axes, label="share of fits that join two samples")
plt.show()
