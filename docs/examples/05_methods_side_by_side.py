"""
Comparing methods as noise is added
===================================

Scikit-learn's wine data have 13 chemical measurements of 178 wines from three growers. We add noise
features and compare how well each method recovers the growers.
"""

# %%
# The sparse methods keep 13 features. For l1, the bound allows 13 equal weights.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from sparsekm import SCFS, KMeans, L0KMeans, L1KMeans, PCAKMeans, classification_error_rate

wine = load_wine()
methods = {
    "k-means": KMeans(3, random_state=0),
    "PCA-k-means": PCAKMeans(3, random_state=0),
    "SC-FS": SCFS(3, random_state=0),
    "l1-k-means": L1KMeans(3, sparsity=13**0.5, random_state=0),
    "l0-k-means": L0KMeans(3, sparsity=13, random_state=0),
}
numbers = [0, 50, 200, 500]
errors = {name: [] for name in methods}
for n_noise in numbers:
    rng = np.random.default_rng(n_noise)
    X = np.column_stack([wine.data, rng.normal(size=(178, n_noise))])
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    for name, method in methods.items():
        labels = method.fit(X).labels_
        errors[name].append(classification_error_rate(wine.target, labels))

# %%
# Each number of noise features is drawn only once, so this is an illustration, not a benchmark.

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (name, cers), marker in zip(errors.items(), "osv^D", strict=True):
    ax.plot(range(len(numbers)), cers, marker=marker, label=name)
ax.set(xticks=range(len(numbers)), xticklabels=numbers, xlabel="noise features", ylabel="CER")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
