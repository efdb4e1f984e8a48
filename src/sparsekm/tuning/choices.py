"""How much the answer hangs on choices: what other numbers, features and samples would find.

Each choice is one fit of all samples, without the folds of the answer; the first is no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.estimators import KMeans
from sparsekm.cluster.matrices.containers import count_distinct
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import as_matrix
from sparsekm.cluster.weight_step import PENALTIES
from sparsekm.runtime.random_state import draw_samples
from sparsekm.tuning.feature_ranking import (
    SCREENS,
    choose_screening,
    first_features,
    noise_correlation,
    number_units,
    rank_features,
)
from sparsekm.tuning.fold_fits import (
    MOST_FEATURES,
    N_INIT,
    STARTS,
    agreement,
    cluster_top,
    consensus_partition,
    fit_few,
    kept_features,
)

# Of more samples, so many are drawn: each choice is a fit of its own.
MOST_SAMPLES = 500
SCREENED = (200, 1000)
FARTHEST = 0.05
COLUMNS = ["choice", "value", "n_samples", "n_features", "n_clusters", "agreement"]


def compare_choices(
    estimator: Any,
    data: ScaledData,
    labels: np.ndarray,
    kept: np.ndarray,
    *,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Fit data again by an L0KMeans or L1KMeans with other choices, and compare with the answer.

    That is `labels`, (n_samples,), with the features `kept`. ``progress(done, total)`` is called
    after each choice. `agreement` is the adjusted Rand index on the samples that were fitted.
    """
    rng = np.random.default_rng(seed)
    if len(labels) > MOST_SAMPLES:
        drawn = draw_samples(len(labels), MOST_SAMPLES, rng)
        data, labels = data.take(drawn), labels[drawn]
    screening = choose_screening(data)
    weights = np.zeros(data.X.shape[1])
    weights[kept] = 1.0
    # Where features are independent, the answer has the votes of the optimum as well.
    has_optimum = not noise_correlation(data.X, labels, weights, data.unit_numbers).is_beyond_chance
    asked = list(_choices(data, labels, kept, rng))
    rows = []
    for done, (name, value, n_clusters, samples, n_screened) in enumerate(asked, start=1):
        part, own = data.take(samples), clone(estimator).set_params(n_clusters=n_clusters)
        own.set_params(feature_groups=data.unit_numbers)
        found = _fit(own, part, screening, n_screened, has_optimum, seed)
        same = float(agreement(labels[samples], found[None])[0])
        n_features = n_screened or data.n_units
        rows.append((name, value, len(found), n_features, n_clusters, same))
        if progress is not None:
            progress(done, len(asked))
    return pd.DataFrame(rows, columns=COLUMNS)


def _choices(data: ScaledData, labels, kept, rng: np.random.Generator) -> Iterator[tuple]:
    """Yield name, value, number of clusters, samples and how many features are screened, or 0."""
    n_samples, n_features = data.X.shape[0], data.n_units
    own, everyone = np.unique(labels, return_inverse=True)[1], slice(None)
    k = int(own.max()) + 1
    yield "one fit instead of a consensus of folds", "", k, everyone, 0
    for number in (k - 1, k + 1):
        if 2 <= number <= n_samples // 4:
            yield "number of clusters", str(number), number, everyone, 0
    for count in (*(most for most in SCREENED if most < n_features), n_features):
        value = "all" if count == n_features else f"{count:,}"
        yield "features screened", value, k, everyone, count
    if n_samples // 2 < 4 * k:
        return
    X = as_dense(data.X[:, kept])
    centers = np.array([X[own == cluster].mean(axis=0) for cluster in range(k)])
    distance = np.square(X - centers[own]).sum(axis=1)
    near = np.sort(np.argsort(distance, kind="stable")[: n_samples - int(FARTHEST * n_samples)])
    yield "without the samples farthest out", f"{FARTHEST:.0%}", k, near, 0
    yield "half of the samples", "", k, draw_samples(n_samples, n_samples // 2, rng), 0


def _fit(estimator, data, screening, n_screened, has_optimum, seed) -> np.ndarray:
    """Label all samples by Algorithm 1 from the consensus of the answer's kinds of starts."""
    n_clusters, guard = int(estimator.n_clusters), int(estimator.min_cluster_size)
    ranked, groups = rank_features(data, screening), data.unit_numbers
    means = KMeans(n_clusters, n_init=N_INIT, min_cluster_size=guard, random_state=seed)
    sizes = [n_screened] if n_screened else SCREENS
    partitions = [cluster_top(data, first_features(ranked, size, groups), means) for size in sizes]
    if has_optimum:
        most = min(n_screened or MOST_FEATURES, MOST_FEATURES)
        top = first_features(ranked, most, groups)
        own_groups = None if groups is None else number_units(top, groups)
        matrix = as_matrix(as_dense(data.X[:, top]))
        if count_distinct(matrix, n_clusters) == n_clusters:
            found = STARTS["optimum"](matrix, n_clusters, guard, seed, own_groups)
            partitions += [labels for _, labels, _ in found]
    start = consensus_partition(np.array(partitions), n_clusters, seed=seed, min_cluster_size=guard)
    few = PENALTIES[estimator.penalty].bound_of(kept_features(n_clusters, data.n_units))
    return fit_few(estimator, data.matrix, start, few).labels[0]
