"""
How many clusters
=================

The objective always grows with the number of clusters K, so it cannot choose K. Instead, we measure
how stable the partition is when a fifth of the samples is left out, and compare this with data
without clusters.
"""

# %%
# We simulate 60 samples in three groups that differ in 30 of 200 features.

import matplotlib.pyplot as plt
import numpy as np

from sparsekm import L0KMeans
from sparsekm.tuning.number_of_clusters import compare_cluster_counts, select_cluster_count

rng = np.random.default_rng(1)
group = np.repeat([0, 1, 2], 20)
X = rng.normal(size=(60, 200))
X[group == 0, :10] += 2
X[group == 1, 10:20] += 2
X[group == 2, 20:30] += 2
X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)

# %%
# The number of features is chosen separately for each K.

numbers = compare_cluster_counts(
    L0KMeans(min_cluster_size=3),
    X,
    [2, 3, 4, 5],
    sparsities=[10, 30, 60, 200],
    n_splits=5,
    n_references=3,
    random_state=0,
)
shown = ["n_clusters", "best_sparsity", "stability", "reference_stability", "excess"]
print(numbers[shown].round(2).to_string(index=False))
print("suggested:", select_cluster_count(numbers, "excess"))

# %%
# A partition into few clusters can be stable even without structure, so we choose the K with the
# largest excess over data without clusters. This only ranks the values of K: one of them is always
# the best, even if there are no clusters.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(numbers["n_clusters"], numbers["stability"], "o-", label="the data")
ax.plot(numbers["n_clusters"], numbers["reference_stability"], "s--", label="without clusters")
ax.bar(numbers["n_clusters"], numbers["excess"], width=0.4, color="0.85", label="excess")
ax.set(xlabel="K", ylabel="adjusted Rand index", xticks=numbers["n_clusters"], ylim=(0, 1.05))
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
