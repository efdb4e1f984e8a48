"""
Outliers, sample weights and groups of features
===============================================

Real tables have samples that belong to no cluster, samples that represent many others, and columns
that belong together.
"""

# %%
# The wine data of scikit-learn have 178 wines of three growers and 13 measurements. In nine rows we
# move the decimal point of every value, as a typing error would.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA

from sparsekm import L0KMeans, SparseKMeans, classification_error_rate

wine, grower = load_wine(return_X_y=True)
spoilt = np.arange(0, 178, 20)
wine[spoilt] *= 10

# %%
# ``trim`` sets aside the samples that are farthest from their centres. Without ``trim``, these
# samples form a cluster of their own.

for trim in (0, 0.055):
    model = SparseKMeans(3, trim=trim, random_state=0).fit(wine)
    sound = np.setdiff1d(np.arange(178), spoilt)
    error = classification_error_rate(grower[sound], model.predict(wine)[sound])
    aside = np.flatnonzero(model.labels_ == -1)
    print(f"trim={trim}: {len(np.intersect1d(aside, spoilt))} of 9 found, CER {error:.3f}")

# %%
# The logarithms in their principal plane: the crosses are the wines that were set aside.

plane = PCA(2).fit_transform(np.log(wine))
figure, ax = plt.subplots(figsize=(5, 3.4), layout="constrained")
for label, marker in zip([-1, 0, 1, 2], "xos^", strict=True):
    name = "set aside" if label < 0 else f"cluster {label}"
    ax.scatter(*plane[model.labels_ == label].T, marker=marker, label=name)
ax.set(xlabel="1st principal component", ylabel="2nd principal component")
ax.legend(frameon=False)
plt.show()

# %%
# A sample of weight two counts as if it were given twice. Here the weights give each grower the
# same influence, however many wines it has.

wine, grower = load_wine(return_X_y=True)
scaled = (wine - wine.mean(axis=0)) / wine.std(axis=0, ddof=1)
weights = (178 / np.bincount(grower))[grower]
model = L0KMeans(3, sparsity=6, random_state=0).fit(scaled, sample_weight=weights)
print(f"CER {classification_error_rate(grower, model.labels_):.3f}")

# %%
# The breast cancer data have ten measurements of cell nuclei, each as mean, standard error and
# worst value. If these three form a group, they are kept or dropped as a whole, and ``sparsity``
# counts groups.

cancer = load_breast_cancer(as_frame=True)
values = (cancer.data - cancer.data.mean()) / cancer.data.std()
groups = values.columns.str.replace("mean |worst | error", "", regex=True)
model = L0KMeans(2, sparsity=4, feature_groups=groups, random_state=0).fit(values)
print(sorted(set(groups[model.get_support()])))

# %%
# In this way, a table of numbers and categories can be clustered. The levels of a category, in
# columns of 0 and 1, are one group. It counts as one feature, however many levels it has. We add
# two categories: a graded radius, which is informative, and a ward, which is random.

rng = np.random.default_rng(0)
grade = pd.qcut(cancer.data["mean radius"], 4, labels=["small", "medium", "large", "huge"])
mixed = cancer.data.filter(like="mean").assign(grade=grade, ward=rng.choice(list("ABC"), 569))
levels = pd.get_dummies(mixed, prefix_sep=": ", dtype=float)
groups = levels.columns.str.split(": ").str[0]
values = (levels - levels.mean()) / levels.std()
model = L0KMeans(2, sparsity=7, feature_groups=groups, random_state=0).fit(values)
print(sorted(set(groups[model.get_support()])))
