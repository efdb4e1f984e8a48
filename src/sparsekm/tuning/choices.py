"""How much the result depends on choices: the clusters with other features and samples.

Each choice is one fit of all samples, without folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.runtime.random_state import draw_samples
from sparsekm.tuning.candidates import N_FIRST, N_SCREENED, first_start, fit_optima
from sparsekm.tuning.feature_ranking import choose_screening, noise_correlation
from sparsekm.tuning.fold_fits import N_SEARCHED, Folds
from sparsekm.tuning.partitions import agreement, consensus_partition

# Larger data are represented by this number of samples, because each choice is a separate fit.
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
    """Fit data again by an L0KMeans or L1KMeans with other choices; compare with the result.

    The result is `labels`, (n_samples,), with the features `kept`. ``progress(done, total)`` is
    called
    after each choice. `agreement` is the adjusted Rand index on the samples that were fitted.
    """
    rng = np.random.default_rng(seed)
    if len(labels) > MOST_SAMPLES:
        drawn = draw_samples(len(labels), MOST_SAMPLES, rng)
        data, labels = data.take(drawn), labels[drawn]
    screening = choose_screening(data)
    weights = np.zeros(data.X.shape[1])
    weights[kept] = 1.0
    # If features are independent, the result starts from optima.
    is_independent = not noise_correlation(
        data.X, labels, weights, data.unit_numbers
    ).is_beyond_chance
    choices = list(_choices(data, labels, kept, rng))
    rows, n_clusters = [], len(np.unique(labels))
    for done, (name, value, samples, n_screened) in enumerate(choices, start=1):
        part, own = data.take(samples), clone(estimator).set_params(n_clusters=n_clusters)
        refitted = _fit(own, part, screening, n_screened, is_independent, seed)
        same = float(agreement(labels[samples], refitted[None])[0])
        n_features = n_screened or data.n_units
        rows.append((name, value, len(refitted), n_features, n_clusters, same))
        if progress is not None:
            progress(done, len(choices))
    return pd.DataFrame(rows, columns=COLUMNS)


def _choices(data: ScaledData, labels, kept, rng: np.random.Generator) -> Iterator[tuple]:
    """Yield name, value, samples and how many features are screened, or 0."""
    n_samples, n_features = data.X.shape[0], data.n_units
    own, everyone = np.unique(labels, return_inverse=True)[1], slice(None)
    k = int(own.max()) + 1
    for count in (*(most for most in SCREENED if most < n_features), n_features):
        value = "all" if count == n_features else f"{count:,}"
        yield "features screened", value, everyone, count
    if n_samples // 2 < 4 * k:
        return
    X = as_dense(data.X[:, kept])
    centers = np.array([X[own == cluster].mean(axis=0) for cluster in range(k)])
    distance = np.square(X - centers[own]).sum(axis=1)
    near = np.sort(np.argsort(distance, kind="stable")[: n_samples - int(FARTHEST * n_samples)])
    yield "without the samples farthest out", f"{FARTHEST:.0%}", near, 0
    yield "half of the samples", "", draw_samples(n_samples, n_samples // 2, rng), 0


def _fit(estimator, data, screening, n_screened, is_independent, seed) -> np.ndarray:
    """Label all samples by Algorithm 1 from the kind of start that the result has."""
    own = clone(estimator).set_params(random_state=seed)
    folds = Folds(data, own, screening, np.arange(data.X.shape[0]), [])
    if is_independent:
        samples = folds.take_whole(min(n_screened or N_SEARCHED, N_SEARCHED))
        optima = np.array([fit.labels for fit in fit_optima(samples)])
        guard = int(own.min_cluster_size)
        start = consensus_partition(optima, samples.n_clusters, seed=seed, min_cluster_size=guard)
    else:
        samples = folds.take_whole(n_screened or N_SCREENED)
        start = first_start(samples, n_screened or N_FIRST)
    return samples.settle(samples.fit(start, samples.n_kept)).labels
