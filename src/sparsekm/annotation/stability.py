"""Stability of the kept features: the share of half-samples in which each feature is kept.

Random halves of the samples, drawn without replacement, are clustered at the tuned sparsity [1]_.
Each fit starts from the tuned labels of its half: the question is whether the features that
separate these clusters are the same in other samples, not whether a search finds the clusters
again.

References
----------
.. [1] N. Meinshausen, P. Buhlmann (2010), Stability selection. doi:10.1111/j.1467-9868.2010.00740.x
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from sparsekm.pipeline.seeds import derive_seed
from sparsekm.tuning.sample_blocks import cut_point, order_samples


def draw_half(
    n_samples: int, index: int, seed: int, blocks: np.ndarray | None = None
) -> np.ndarray:
    """Draw half of the samples, rounded up, without replacement; rows are ascending.

    Blocks (n_samples,), if given, stay whole, and the half is as large as these allow. The draw
    depends only on the number of the subsample and the seed. Therefore additional subsamples leave
    the first ones unchanged, and all methods use the same ones.
    """
    rng = np.random.default_rng(derive_seed(seed, "half", index))
    order = order_samples(n_samples, rng, blocks)
    return np.sort(order[: cut_point((n_samples + 1) // 2, order, blocks)])


def count_kept(
    X: np.ndarray,
    estimator: Any,
    labels: np.ndarray,
    n_subsamples: int,
    seed: int,
    *,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> np.ndarray:
    """Count in how many half-samples each feature is kept.

    The estimator, `L0KMeans` or `L1KMeans` with its sparsity set, is cloned, and its alternation
    starts only from the tuned labels. If a cluster has no samples in a half, K is smaller by one
    there; the smallest cluster allowed is half of that for all samples. Halves consist of whole
    `blocks`, shape (n_samples,), if given: see `sparsekm.tuning.sample_blocks`.
    """
    if n_subsamples < 1:
        raise ValueError(f"n_subsamples={n_subsamples} should be >= 1.")
    n_samples = X.shape[0]
    if np.shape(labels) != (n_samples,):
        raise ValueError(f"labels: shape={np.shape(labels)} should be ({n_samples},).")
    counts = np.zeros(X.shape[1], dtype=np.int64)
    for index in range(n_subsamples):
        rows = draw_half(n_samples, index, seed, blocks)
        counts += _keeps(X[rows], estimator, labels[rows], derive_seed(seed, "start", index))
        if progress is not None:
            progress(index + 1, n_subsamples)
    return counts


def _keeps(X: np.ndarray, estimator: Any, labels: np.ndarray, seed: int) -> np.ndarray:
    n_clusters = np.unique(labels).size
    smallest = -(-estimator.min_cluster_size // 2)
    fit = clone(estimator).set_params(
        n_clusters=n_clusters,
        init=labels,
        # The global search would also use other starts.
        search="alternate",
        min_cluster_size=max(1, min(smallest, X.shape[0] // n_clusters)),
        random_state=seed,
    )
    return fit.fit(X).feature_weights_ != 0
