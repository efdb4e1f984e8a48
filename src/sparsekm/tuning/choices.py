"""How much the answer hangs on choices: what other numbers, features and samples would find.

Each choice is one fit of all samples, without the folds of the answer, which takes a second or two.
The first row is such a fit without any other choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.matrices.varying_features import count_distinct
from sparsekm.runtime.random_state import draw_samples
from sparsekm.tuning.consensus import agreement, consensus_partition
from sparsekm.tuning.feature_limit import noise_correlation
from sparsekm.tuning.feature_ranking import SCREENS, ScaledData, choose_screening, rank_features
from sparsekm.tuning.fold_fits import (
    MOST_FEATURES,
    N_INIT,
    STARTS,
    bound_of,
    fit_few,
    kept_features,
)

# Of more samples, so many are drawn: each choice is a fit of its own.
MOST_SAMPLES = 500
SCREENED = (200, 1000)
FARTHEST = 0.05


@dataclass(frozen=True)
class _Choice:
    """One choice: what differs from the answer, the other fields as there."""

    name: str
    value: str
    n_clusters: int
    samples: np.ndarray | None = None
    n_screened: int | None = None


def compare_choices(
    estimator: Any,
    data: ScaledData,
    labels: np.ndarray,
    kept: np.ndarray,
    *,
    seed: int,
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
    progress : callable, default=None
        ``progress(done, total)`` is called after each choice.

    Returns
    -------
    DataFrame
        A row per choice: choice, value, n_samples, n_features (those screened), n_clusters and
        agreement, the adjusted Rand index with the answer on the samples that were fitted.
    """
    rng = np.random.default_rng(seed)
    if len(labels) > MOST_SAMPLES:
        drawn = draw_samples(len(labels), MOST_SAMPLES, rng)
        data, labels = data.take(drawn), labels[drawn]
    screening = choose_screening(data)
    weights = np.zeros(data.X.shape[1])
    weights[kept] = 1.0
    # Where features are independent, the answer has the votes of the optimum as well.
    has_optimum = not noise_correlation(data.X, labels, weights).is_beyond_chance
    asked = list(_choices(data, labels, kept, rng))
    rows = []
    for done, choice in enumerate(asked, start=1):
        samples = np.arange(len(labels)) if choice.samples is None else choice.samples
        part, own = data.take(samples), clone(estimator).set_params(n_clusters=choice.n_clusters)
        found = _fit(own, part, screening, choice.n_screened, has_optimum, seed)
        same = float(agreement(labels[samples], found[None])[0])
        n_features = choice.n_screened or data.X.shape[1]
        row = (len(samples), n_features, choice.n_clusters, same)
        rows.append((choice.name, choice.value, *row))
        if progress is not None:
            progress(done, len(asked))
    names = ["choice", "value", "n_samples", "n_features", "n_clusters", "agreement"]
    return pd.DataFrame(rows, columns=names)


def _choices(
    data: ScaledData, labels: np.ndarray, kept: np.ndarray, rng: np.random.Generator
) -> Iterator[_Choice]:
    n_samples, n_features = data.X.shape
    own = np.unique(labels, return_inverse=True)[1]
    k = int(own.max()) + 1
    yield _Choice("one fit instead of a consensus of folds", "", k)
    for number in (k - 1, k + 1):
        if 2 <= number <= n_samples // 4:
            yield _Choice("number of clusters", str(number), number)
    for count in (*(most for most in SCREENED if most < n_features), n_features):
        value = "all" if count == n_features else f"{count:,}"
        yield _Choice("features screened", value, k, n_screened=count)
    if n_samples // 2 < 4 * k:
        return
    X = as_dense(data.X[:, kept])
    centers = np.array([X[own == cluster].mean(axis=0) for cluster in range(k)])
    distance = np.square(X - centers[own]).sum(axis=1)
    near = np.sort(np.argsort(distance, kind="stable")[: n_samples - int(FARTHEST * n_samples)])
    yield _Choice("without the samples farthest out", f"{FARTHEST:.0%}", k, near)
    yield _Choice("half of the samples", "", k, draw_samples(n_samples, n_samples // 2, rng))


def _fit(
    estimator: Any,
    data: ScaledData,
    screening: str,
    n_screened: int | None,
    has_optimum: bool,
    seed: int,
) -> np.ndarray:
    """Label all samples by Algorithm 1 from the consensus of the answer's kinds of starts."""
    n_clusters, guard = int(estimator.n_clusters), int(estimator.min_cluster_size)
    ranked = rank_features(data, screening)
    partitions = []
    for size in [n_screened] if n_screened else SCREENS:
        part = as_dense(data.X[:, ranked[:size]]) if size <= MOST_FEATURES else data.X
        if not _can_cluster(part, n_clusters):
            part = data.X
        means = KMeans(n_clusters, n_init=N_INIT, min_cluster_size=guard, random_state=seed)
        partitions.append(means.fit(part).labels_)
    part = as_dense(data.X[:, ranked[: min(n_screened or MOST_FEATURES, MOST_FEATURES)]])
    if has_optimum and _can_cluster(part, n_clusters):
        found = STARTS["optimum"](part, n_clusters, guard, seed)
        partitions += [labels for _, labels, _ in found]
    start = consensus_partition(np.array(partitions), n_clusters, seed=seed, min_cluster_size=guard)
    few = bound_of(estimator.penalty, kept_features(n_clusters, data.X.shape[1]))
    return fit_few(estimator, data.matrix, start, few).labels[0]


def _can_cluster(part: Any, n_clusters: int) -> bool:
    return count_distinct(as_matrix(part), n_clusters) >= n_clusters
