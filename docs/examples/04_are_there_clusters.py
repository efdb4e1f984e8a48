"""
Are there clusters at all?
==========================

Clustering methods return clusters even if the data have none. :class:`~sparsekm.SparseKMeans` tests
whether there is a valley between clusters: ``has_clusters_``, ``separation_`` and ``conclusion_``.
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
groups[:20, :15] += 3
groups[20:40, 15:30] += 3
gradient = noise.copy()
gradient[:, :40] += np.linspace(-3, 3, 60)[:, np.newaxis]

# %%
# Print the conclusion for each data set:

results = {}
for name, X in {"groups": groups, "noise": noise, "gradient": gradient}.items():
    results[name] = SparseKMeans(3, random_state=0).fit(X)
    print(f"{name}: {results[name].conclusion_}\n")

# %%
# The test uses samples that were left out, on the axis between two neighbouring clusters. Clearly
# separated groups have few of them in the middle (``n_middle``) and many at either end.

print(results["groups"].separation_)

# %%
# A gradient that is cut in three has as many samples in the middle as at the ends.

print(results["gradient"].separation_)

# %%
# The matrices show how often two samples fall into the same cluster when others are left out.
# Groups appear as blocks. A gradient is reproducible too, but appears as a band: its clusters have
# no clear borders.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (name, model) in zip(axes, results.items(), strict=True):
    image = ax.imshow(model.coassociation_, vmin=0, vmax=1, cmap="viridis")
    verdict = "separate groups" if model.has_clusters_ else "a division into 3 parts"
    ax.set(title=f"{name}: {verdict}", xlabel="sample", ylabel="sample")
figure.colorbar(image, ax=axes, label="share of fits that join two samples")
plt.show()
