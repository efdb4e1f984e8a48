"""
Which pixels tell digits apart
==============================

Images make the kept features visible. The digits 0, 1 and 7 of scikit-learn have 64 pixels each. A
path of l0 sparse k-means clusters the images with few and with many pixels, in one call.
"""

# %%
# The pixels share one unit and their variance is signal, so they are not rescaled.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from sparsekm import L0KMeans, classification_error_rate

digits = load_digits()
chosen = (digits.target == 0) | (digits.target == 1) | (digits.target == 7)
X, digit = digits.data[chosen], digits.target[chosen]
print(X.shape)

# %%
# One call fits all sparsities.

path = L0KMeans(3, random_state=0).path(X, [2, 4, 8, 16, 32, 64])
errors = [classification_error_rate(digit, labels) for labels in path.labels]
for kept, error in zip(path.n_selected, errors, strict=True):
    print(f"{kept:2d} pixels: CER {error:.3f}")

# %%
# The pixels that are kept (red squares), on the mean of all images. Blank margins come last.

figure, axes = plt.subplots(1, 6, figsize=(11, 2.4), layout="constrained")
for ax, weights, kept, error in zip(axes, path.weights, path.n_selected, errors, strict=True):
    ax.imshow(X.mean(axis=0).reshape(8, 8), cmap="gray_r", alpha=0.5)
    rows, columns = (weights.reshape(8, 8) > 0).nonzero()
    ax.scatter(columns, rows, marker="s", s=45, facecolors="none", edgecolors="C3")
    ax.set(title=f"{kept} pixels, CER {error:.2f}", xticks=[], yticks=[])
plt.show()
