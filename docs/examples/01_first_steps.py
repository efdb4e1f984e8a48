"""
First steps
===========

Sixty samples form three groups that differ in only 30 of 500 features.
:class:`~sparsekm.SparseKMeans` finds the groups and the features, and reports which groups are
clearly separated.
"""

# %%
# We simulate the data, so the right answer is known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from sparsekm import KMeans, SparseKMeans, classification_error_rate

rng = np.random.default_rng(1)
group = np.repeat([0, 1, 2], 20)
X = rng.normal(size=(60, 500))
X[group == 0, :15] += 1.5
X[group == 1, 15:30] += 1.5

# %%
# Plain k-means uses every feature. The classification error rate (CER) is the share of sample pairs
# on which the clusters and the true groups disagree.

plain = KMeans(3, random_state=0).fit(X)
model = SparseKMeans(3, random_state=0).fit(X)
print("k-means:        CER", round(classification_error_rate(group, plain.labels_), 3))
print("sparse k-means: CER", round(classification_error_rate(group, model.labels_), 3))

# %%
# ``conclusion_`` says which clusters are clearly separated, and how reproducible they are.

print(model.conclusion_)

# %%
# The groups overlap in the plane of the first two principal components of all features. They do not
# overlap in the same plane of the selected features. The panel on the right shows how often each
# feature is kept when samples are left out.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
planes = {
    "all 500 features": X,
    f"the {model.get_support().sum()} kept features": model.transform(X),
}
for ax, (title, columns) in zip(axes, planes.items(), strict=False):
    plane = PCA(2).fit_transform(columns)
    for cluster, marker in enumerate("os^"):
        mine = model.labels_ == cluster
        ax.scatter(*plane[mine].T, marker=marker, label=f"cluster {cluster}")
    ax.set(title=title, xlabel="1st principal component", ylabel="2nd principal component")
axes[0].legend(frameon=False)
planted = np.arange(500) < 30
frequency = model.selection_frequency_
axes[2].plot(np.flatnonzero(~planted), frequency[~planted], ".", color="0.6", label="noise")
axes[2].plot(np.flatnonzero(planted), frequency[planted], ".", color="C3", label="informative")
axes[2].set(title="how often a feature is kept", xlabel="feature", ylabel="share of fits")
axes[2].legend(frameon=False)
plt.show()
