r"""Theorem 1: what a partition's scores are expected to be.

For a fixed partition into K non-empty clusters with shares :math:`\tilde\pi_k` and mean levels
:math:`\tilde\mu_k`, whatever the distribution of the features around their levels (variance one),

.. math:: E[a_j] = n \sum_k \tilde\pi_k \tilde\mu_k^2 - n (\sum_k \tilde\pi_k \tilde\mu_k)^2
          + K - 1 .

All levels of a noise feature are equal: K - 1 under every partition. A relevant feature's
expectation is largest under the natural partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.scatter import feature_scores
from sparsekm.simulation.replicate_seed import replicate_seed
from sparsekm.studies.theory.level_model import LevelModel

# Both of mean 0 and variance 1; the theorem asks for no more.
DISTRIBUTIONS: dict[str, Callable] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - 1,
}


def expected_score(levels: np.ndarray, labels: np.ndarray, n_clusters: int) -> float:
    """Compute the expectation of a_j under a partition without empty clusters.

    `levels` are the feature's expectations in every sample.

    Examples
    --------
    >>> expected_score(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1]), 2)
    5.0
    >>> expected_score(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 1, 0, 1]), 2)
    1.0
    """
    sizes = np.bincount(labels, minlength=n_clusters)
    sums = np.bincount(labels, weights=levels, minlength=n_clusters)
    return float(np.sum(sums**2 / sizes) - levels.sum() ** 2 / len(levels) + n_clusters - 1)


def mislabel(
    labels: np.ndarray, n_moved: int, n_clusters: int, rng: np.random.Generator
) -> np.ndarray:
    """Move samples drawn at random each to one of the other clusters; none is left empty."""
    while True:
        moved = labels.copy()
        chosen = rng.choice(len(labels), n_moved, replace=False)
        moved[chosen] += rng.integers(1, n_clusters, size=n_moved)
        moved %= n_clusters
        if len(np.unique(moved)) == n_clusters:
            return moved


def simulate_scores(
    model: LevelModel,
    cluster_size: int,
    shares: Sequence[float],
    *,
    n_features: int,
    repetitions: int,
    root: int,
) -> pd.DataFrame:
    """Average the scores of relevant and noise features over random mislabellings and data.

    A data set has `n_features` relevant features, and as many noise features; each is drawn anew
    for every share of mislabelled samples and distribution. The columns are distribution, feature
    ("relevant" or "noise"), mislabelled (the share), score (the mean), standard_error, expected
    (the theorem's value, averaged over the mislabellings) and repetitions.
    """
    rows = []
    for distribution, draw in DISTRIBUTIONS.items():
        for share in shares:
            setting = {"distribution": distribution, "share": share, "levels": model.levels}
            values = np.array(
                [
                    _score_once(
                        model,
                        cluster_size,
                        share,
                        n_features,
                        draw,
                        np.random.default_rng(replicate_seed(root, "theory_scores", setting, r)),
                    )
                    for r in range(repetitions)
                ]
            )
            for column, feature in enumerate(("relevant", "noise")):
                scores, expected = values[:, column], values[:, 2 + column]
                rows.append(
                    {
                        "distribution": distribution,
                        "feature": feature,
                        "mislabelled": share,
                        "score": scores.mean(),
                        "standard_error": scores.std(ddof=1) / np.sqrt(repetitions),
                        "expected": expected.mean(),
                        "repetitions": repetitions,
                    }
                )
    return pd.DataFrame(rows)


def _score_once(model, cluster_size, share, n_features, draw, rng):
    """Return mean scores of relevant and noise features, then their expectations."""
    n_clusters = model.n_clusters
    truth = np.repeat(np.arange(n_clusters), cluster_size)
    labels = mislabel(truth, round(share * len(truth)), n_clusters, rng).astype(np.int32)
    levels = np.asarray(model.levels)[truth]
    X = draw(rng, (len(truth), 2 * n_features))
    X[:, :n_features] += levels[:, None]
    scores = feature_scores(CentredMatrix(X), labels, n_clusters)
    return (
        scores[:n_features].mean(),
        scores[n_features:].mean(),
        expected_score(levels, labels, n_clusters),
        expected_score(np.zeros(len(truth)), labels, n_clusters),
    )
