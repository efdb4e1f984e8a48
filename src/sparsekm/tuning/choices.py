"""How much the answer hangs on choices: what other numbers, features and samples would find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.runtime.random_state import draw_samples
from sparsekm.tuning.consensus import agreement
from sparsekm.tuning.consensus_fit import fit_consensus
from sparsekm.tuning.feature_ranking import ScaledData, choose_screening, rank_features

# Of more samples, so many are drawn: each choice is a fit of its own.
MOST_SAMPLES = 500
SCREENED = (200, 1000)
FARTHEST = 0.05


def compare_choices(
    estimator: Any,
    data: ScaledData,
    labels: np.ndarray,
    kept: np.ndarray,
    *,
    seed: int,
    blocks: np.ndarray | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Fit the data again with other choices, and compare each fit with the answer.

    Parameters
    ----------
    estimator : L0KMeans or L1KMeans
    data : ScaledData
        n_samples samples and n_features features.
    labels : ndarray of shape (n_samples,)
        The answer.
    kept : ndarray of shape (n_kept,)
        The features with weight in it.
    seed : int
    blocks : ndarray of shape (n_samples,), default=None
        Samples of one block are left out together.
    progress : callable, default=None
        ``progress(done, total)`` is called after each choice.

    Returns
    -------
    DataFrame
        A row per choice: choice, value, n_samples, n_features, n_clusters and agreement, the
        adjusted Rand index with the answer on the samples that were fitted.
    """
    rng = np.random.default_rng(seed)
    if len(labels) > MOST_SAMPLES:
        drawn = draw_samples(len(labels), MOST_SAMPLES, rng)
        data, labels = data.take(drawn), labels[drawn]
        blocks = None if blocks is None else blocks[drawn]
    screening = choose_screening(data)
    n_clusters = len(np.unique(labels))
    asked = list(_choices(data, labels, kept, screening, n_clusters, rng))
    rows = []
    for done, (choice, value, samples, features, k) in enumerate(asked, start=1):
        part = data if samples is None else data.take(samples)
        own = labels if samples is None else labels[samples]
        inside = blocks if blocks is None or samples is None else blocks[samples]
        found = fit_consensus(
            clone(estimator).set_params(n_clusters=k),
            part if features is None else part.select(features),
            screening=screening if features is None else "all",
            seed=seed,
            blocks=None if inside is None else np.unique(inside, return_inverse=True)[1],
        )
        n_features = data.X.shape[1] if features is None else int(features.sum())
        same = float(agreement(own, found.labels[None])[0])
        rows.append((choice, value, len(own), n_features, k, same))
        if progress is not None:
            progress(done, len(asked))
    names = ["choice", "value", "n_samples", "n_features", "n_clusters", "agreement"]
    return pd.DataFrame(rows, columns=names)


def _choices(
    data: ScaledData,
    labels: np.ndarray,
    kept: np.ndarray,
    screening: str,
    n_clusters: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, str, np.ndarray | None, np.ndarray | None, int]]:
    """List the choices: name, value, samples and mask of features (None for all), and clusters."""
    n_samples, n_features = data.X.shape
    for k in (n_clusters - 1, n_clusters + 1):
        if 2 <= k <= n_samples // 4:
            yield "number of clusters", str(k), None, None, k
    ranks = np.argsort(rank_features(data, screening))
    for count in (*(most for most in SCREENED if most < n_features), n_features):
        value = "all" if count == n_features else f"{count:,}"
        yield "features screened", value, None, ranks < count, n_clusters
    if n_samples // 2 < 4 * n_clusters:
        return
    X = as_dense(data.X[:, kept])
    centers = np.array([X[labels == k].mean(axis=0) for k in np.unique(labels)])
    own = np.unique(labels, return_inverse=True)[1]
    distance = np.square(X - centers[own]).sum(axis=1)
    near = np.sort(np.argsort(distance, kind="stable")[: n_samples - int(FARTHEST * n_samples)])
    yield "without the samples farthest out", f"{FARTHEST:.0%}", near, None, n_clusters
    half = draw_samples(n_samples, n_samples // 2, rng)
    yield "half of the samples", "", half, None, n_clusters
