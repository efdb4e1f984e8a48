"""
Which pixels distinguish digits
===============================

With images, you can see which features are selected. We cluster the digits 0, 1 and 7 from
scikit-learn's digits data, 8 × 8 pixels each, with increasing numbers of pixels.
"""

# %%
# All pixels have the same unit, and a pixel that varies more is more informative, so we do not
# rescale them.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from sparsekm import L0KMeans, classification_error_rate

digits = load_digits()
chosen = (digits.target == 0) | (digits.target == 1) | (digits.target == 7)
X, digit = digits.data[chosen], digits.target[chosen]
print(X.shape)

# %%
# ``path`` fits all sparsities in one call.

path = L0KMeans(3, random_state=0).path(X, [2, 4, 8, 16, 32, 64])
errors = [classification_error_rate(digit, labels) for labels in path.labels]
for kept, error in zip(path.n_selected, errors, strict=True):
    print(f"{kept:2d} pixels: CER {error:.3f}")

# %%
# The red squares are the selected pixels, on the mean of all images. The blank margins are selected
# last.

figure, axes = plt.subplots(1, 6, figsize=(11, 2.4), layout="constrained")
for ax, weights, kept, error in zip(axes, path.weights, path.n_selected, errors, strict=True):
    ax.imshow(X.mean(axis=0).reshape(8, 8), cmap="gray_r", alpha=0.5)
    rows, columns = (weights.reshape(8, 8) > 0).nonzero()
    ax.scatter(columns, rows, marker="s", s=45, facecolors="none", edgecolors="C3")
    ax.set(title=f"{kept} pixels, CER {error:.2f}", xticks=[], yticks=[])
plt.show()
