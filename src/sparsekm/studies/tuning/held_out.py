r"""How well the kept features separate the clusters of samples that were not used to choose them.

The path is fitted to one half of the samples. Each sample of the other half is assigned to the
nearest centre in the kept features, and the weighted scores of that half under these labels are
compared with those expected for unrelated labels. With :math:`T_j` the total sum of squares of
feature j over n held-out samples in K clusters, a random order of the labels gives
:math:`E\,a_j = T_j (K - 1) / (n - 1)`, so the held-out separation is

.. math:: \sum_j \frac{w_j}{\lVert w \rVert_2} \left(a_j - \frac{K - 1}{n - 1} T_j\right) .

With l0 it is the excess of the s kept features divided by :math:`\sqrt s`. Labels unrelated to the
held-out half give 0 on average, with the same standard deviation at every sparsity. The labels are
not quite unrelated, however: they are computed from the kept features themselves, so even kept
noise features appear separated, and the more so, the fewer features are kept. For weak clusters
the rule therefore keeps too few features.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.cluster.validation import check_choice
from sparsekm.tuning.resampling import label_everyone, split_rows

HELD_OUT_RULES = ["max", "one-se"]

# References and resamplings spawn their seeds with the keys 0 to 3.
_SPAWN_KEY = 4


def excess_scores(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compute how far the scores exceed those of labels unrelated to the data, n >= 2.

    Empty clusters are not counted. Averaged over all permutations of the labels, the excess is 0.
    """
    occurring, labels = np.unique(labels, return_inverse=True)
    matrix = CentredMatrix(X)
    scores = feature_scores(matrix, labels.astype(np.int32), len(occurring))
    totals = np.einsum("ji,ji->j", matrix.columns, matrix.columns, dtype=np.float64)
    return scores - (len(occurring) - 1) / (len(labels) - 1) * totals


def held_out_separation(
    estimator, X: np.ndarray, sparsities: np.ndarray, *, index: int, seed: int
) -> np.ndarray:
    """Fit the path to either half of the samples and measure the separation in the other.

    Return the mean of both directions for every sparsity. The halves depend only on (`seed`,
    `index`); the estimator's own `random_state` is not used.
    """
    rows_seed, *fit_seeds = np.random.SeedSequence(seed, spawn_key=(index, _SPAWN_KEY)).spawn(3)
    one, two = (X[rows] for rows in split_rows(len(X), "halves", np.random.default_rng(rows_seed)))
    separations = []
    for part, other, fit_seed in zip((one, two), (two, one), fit_seeds, strict=True):
        fitted = clone(estimator).set_params(random_state=int(fit_seed.generate_state(1)[0]))
        path = fitted.path(part, sparsities)
        separations.append(
            [
                separation(other, label_everyone(other, part, labels, weights), weights)
                for labels, weights in zip(path.labels, path.weights, strict=True)
            ]
        )
    return np.mean(separations, axis=0)


def separation(X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> float:
    """Weight the excess of the scores by the weights, not all 0, scaled to unit l2 norm."""
    support = np.flatnonzero(weights)
    kept = np.asarray(weights)[support]
    excess = excess_scores(X[:, support], labels)
    return float(np.sum(kept * excess) / np.sqrt(np.sum(kept**2)))


def select_held_out(separations: np.ndarray, rule: str = "max") -> int:
    """Choose a row of a path by separations (n_splits, n_sparsities), ascending in sparsity.

    ``max`` takes the largest mean, the sparsest if several are equal; ``one-se`` the sparsest whose
    mean is within one standard error of the largest. The splits share samples, so this standard
    error covers only the splitting and not the sampling.
    """
    check_choice("rule", rule, HELD_OUT_RULES)
    means = np.mean(separations, axis=0)
    best = int(means.argmax())
    if rule == "max":
        return best
    se = np.std(separations, axis=0, ddof=1)[best] / np.sqrt(len(separations))
    return int((means >= means[best] - se).argmax())
