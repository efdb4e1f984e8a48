"""
How many features to keep
=========================

The gap statistic compares the objective with its value on reference data without clusters,
obtained by permuting each feature. The comparison is valid if the features are independent within
clusters. If they are correlated, the gap grows with every feature added. The rule ``auto`` detects
this.
"""

# %%
# Two data sets have the same three clusters in 20 of 200 features. In the second, the other 180
# features share a common factor.

import matplotlib.pyplot as plt
import numpy as np

from sparsekm import GapSearch, L0KMeans

rng = np.random.default_rng(3)
group = np.repeat([0, 1, 2], 25)
independent = rng.normal(size=(75, 200))
correlated = independent.copy()
correlated[:, 20:] += 1.2 * rng.normal(size=(75, 1))
for X in (independent, correlated):
    X[group == 0, :10] += 2
    X[group == 1, 10:20] += 2
    X -= X.mean(axis=0)
    X /= X.std(axis=0, ddof=1)

# %%
# The paper's rule ``max`` takes the largest gap. ``auto`` also takes the largest gap if the dropped
# features are independent of each other. Otherwise it keeps at most a quarter of the features.

searches = {}
for name, X in {"independent": independent, "correlated": correlated}.items():
    search = GapSearch(L0KMeans(3), rule="auto", n_references=5, random_state=0).fit(X)
    searches[name] = search
    print(f"{name}: {search.conclusion_}")

# %%
# The figure shows the gap curves, with error bars of one standard error.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for ax, (name, search) in zip(axes, searches.items(), strict=True):
    curve = search.results_
    ax.errorbar(curve["sparsity"], curve["gap"], yerr=curve["se"], marker="o", capsize=2)
    largest = curve["sparsity"][curve["gap"].idxmax()]
    ax.axvline(search.best_sparsity_, color="C3", label=f"auto: {search.best_sparsity_}")
    ax.axvline(largest, color="0.5", linestyle=":", label=f"largest gap: {largest:g}")
    ax.set(title=f"{name} features", xlabel="features kept", ylabel="gap", xscale="log")
    ax.legend(frameon=False)
plt.show()
