"""Which features to cluster first: a ranking made before any clustering.

Where all features share a unit, as genes of one assay do, those that mark classes vary more than
others of the same mean: the highly variable ones. Where they do not, or where their variances were
made equal, scale says nothing, and a feature counts by how far its distribution is from a Gaussian.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import (
    feature_means,
    feature_variances,
    log_variances,
    variance_beyond_trend,
)
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.screening import marginal_scores
from sparsekm.runtime.compiled import compiled

SCREENINGS = ["auto", "trend", "variance", "marginal", "all"]
# Screens hold so many of the features that rank first. With no more features than the smallest
# there is nothing to choose.
SCREENS = (100, 200, 500)
# Variances within 1 % of each other, or means within a thousandth of a standard deviation, were
# made equal. A tenth of the features may differ: a few were changed, or are nearly constant.
EQUAL_VARIANCES = 1.01
EQUAL_MEANS = 1e-3
TAILS = (0.05, 0.95)
# The spread (median absolute deviation, scaled as for a Gaussian) of log variances beyond the trend
# is below 1 where features share a unit. Units that differ by factors of ten make it 3 and more.
LARGEST_SPREAD = 1.5
GAUSSIAN_MAD = 1.4826


def moments_as_they_came(
    data: ScaledData, samples: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances (ddof = 0) of values, of all or some samples, as they came."""
    if samples is None or isinstance(data.X, csr_array):
        part = data.X if samples is None else data.X[samples]
        means, variances = feature_means(part), feature_variances(part)
    else:
        means, variances = np.zeros((2, data.X.shape[1]))
        _moments(data.X, samples, means, variances)
    return means * data.scale + data.location, variances * data.scale**2


def choose_screening(data: ScaledData) -> str:
    """Tell how the features of data are ranked: an entry of `SCREENINGS`, never "auto"."""
    means, variances = moments_as_they_came(data)
    if len(means) <= SCREENS[0]:
        return "all"
    low, high = np.quantile(variances, TAILS)
    if high <= EQUAL_VARIANCES * low:
        return "marginal"
    beyond = variance_beyond_trend(means, variances)
    beyond = beyond[np.isfinite(beyond)]
    spread = GAUSSIAN_MAD * np.median(np.abs(beyond - np.median(beyond)))
    if spread > LARGEST_SPREAD:
        return "marginal"
    low, high = np.quantile(means, TAILS)
    return "variance" if high - low <= EQUAL_MEANS * np.sqrt(np.median(variances)) else "trend"


def rank_features(
    data: ScaledData, screening: str, samples: np.ndarray | None = None
) -> np.ndarray:
    """Order features by the first to be looked at, from some of the samples; ties by position."""
    if screening == "all":
        return np.arange(data.X.shape[1])
    if screening == "marginal":
        part: Any = data.X if samples is None else data.X[samples]
        scores = marginal_scores(part, n_jobs=1)
    else:
        means, variances = moments_as_they_came(data, samples)
        scores = log_variances(variances)
        if screening == "trend":
            scores = variance_beyond_trend(means, variances)
    return np.argsort(-scores, kind="stable")


@compiled
def _moments(X, samples, means, variances):
    """Add to zeros what NumPy's mean and variance are, in its order, without a copy."""
    n, p = samples.shape[0], X.shape[1]
    for i in samples:
        for j in range(p):
            means[j] += X[i, j]
    means /= n
    for i in samples:
        for j in range(p):
            difference = X[i, j] - means[j]
            variances[j] += difference * difference
    variances /= n
