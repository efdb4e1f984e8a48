"""
Methods side by side, as noise is added
=======================================

The wine data of scikit-learn hold 13 chemical measurements of 178 wines from three growers. Here
they get noise features besides, and every method has to find the growers again.
"""

# %%
# The sparse methods are told to keep 13 features (l1: the bound that 13 equal weights have).

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
# One draw of the noise for each number: a picture, not a benchmark.

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for (name, cers), marker in zip(errors.items(), "osv^D", strict=True):
    ax.plot(range(len(numbers)), cers, marker=marker, label=name)
ax.set(xticks=range(len(numbers)), xticklabels=numbers, xlabel="noise features", ylabel="CER")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
