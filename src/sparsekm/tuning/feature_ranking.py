"""Which features to cluster first, and which differ between the clusters that were found.

If all features share a unit, as the genes of one assay do, features that mark classes vary more
than others with the same mean: they are highly variable. If units differ, or variances were made
equal, scale is uninformative, and features are ranked by how far their distribution is from a
Gaussian.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import f as fisher
from scipy.stats import false_discovery_control

from sparsekm.cluster.matrices.dense_parts import (
    feature_means,
    feature_variances,
    log_variances,
    variance_beyond_trend,
)
from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.cluster.matrices.sparse_matrix import cluster_centers
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.weight_step import group_means
from sparsekm.metrics import label_codes
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.threads import one_blas_thread

SCREENINGS = ["auto", "trend", "variance", "marginal", "all"]
# Screens hold these numbers of features that rank first. Up to the smallest number, all features
# are used.
SCREENS = (100, 200, 500)
# Variances within 1 % of each other, or means within a thousandth of a standard deviation, were
# made equal. A tenth of the features may differ, because a few may be changed or nearly constant.
EQUAL_VARIANCES = 1.01
EQUAL_MEANS = 1e-3
TAILS = (0.05, 0.95)
# The spread (median absolute deviation, scaled as for a Gaussian) of log variances beyond the trend
# is below 1 if features share a unit. If units differ by factors of ten, it is 3 or more.
LARGEST_SPREAD = 1.5
GAUSSIAN_MAD = 1.4826


def moments_as_they_came(
    data: ScaledData, samples: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances (ddof = 0) of unscaled values, of all or some samples."""
    if samples is None or isinstance(data.X, csr_array):
        part = data.X if samples is None else data.X[samples]
        means, variances = feature_means(part), feature_variances(part)
    else:
        means, variances = np.zeros((2, data.X.shape[1]))
        _moments(data.X, samples, means, variances)
    return means * data.scale + data.location, variances * data.scale**2


def choose_screening(data: ScaledData) -> str:
    """Return how the features of data are ranked: an entry of `SCREENINGS`, never "auto"."""
    means, variances = moments_as_they_came(data)
    if data.n_units <= SCREENS[0]:
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
    """Rank features, the most promising first, from some of the samples; ties by position.

    Groups are ordered by the mean ranks of their features, because a feature that is constant in
    these samples has no finite score.
    """
    if screening == "all":
        scores = np.zeros(data.X.shape[1])
    elif screening == "marginal":
        part: Any = data.X if samples is None else data.X[samples]
        scores = marginal_scores(part, n_jobs=1)
    else:
        means, variances = moments_as_they_came(data, samples)
        scores = log_variances(variances)
        if screening == "trend":
            scores = variance_beyond_trend(means, variances)
    order = order_features(scores)
    if data.unit_numbers is None:
        return order
    return order_features(-np.argsort(order), data.unit_numbers)


def order_features(scores: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Order features by descending scores, or whole groups by their means; ties by position."""
    if groups is None:
        return np.argsort(-scores, kind="stable")
    return np.lexsort([groups, -group_means(scores, groups)[groups]])


def number_units(order: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Return numbers of features, or of their groups, in an order of whole groups."""
    return np.arange(len(order)) if groups is None else label_codes(groups[order], "groups")


def first_features(order: np.ndarray, count: int, groups: np.ndarray | None) -> np.ndarray:
    """Return the first `count` features of an order, or the features of the first groups."""
    return order[number_units(order, groups) < count]


def count_units(features: np.ndarray, groups: np.ndarray | None) -> int:
    """Count features, or their groups."""
    return len(features if groups is None else np.unique(groups[features]))


@compiled
def _moments(X, samples, means, variances):
    """Sum as NumPy's mean and variance do, in the same order, but without a copy."""
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


# Features count as correlated from this number of standard errors beyond chance. It is large
# because the pairs that share a feature are not independent, and fitted labels are not the true
# clusters.
BEYOND_CHANCE = 5.0
# This number of features, evenly spaced, represents all features.
MOST_CORRELATED = 300


class NoiseCorrelation(NamedTuple):
    """How far features correlate within clusters."""

    # Mean squared correlation of two features times (n_samples - n_clusters): about 1 if they are
    # independent, larger if they correlate.
    mean: float
    n_pairs: int  # the number of pairs of features in the mean

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the features count as correlated."""
        return (self.mean - 1) * (self.n_pairs / 2) ** 0.5 > BEYOND_CHANCE


@one_blas_thread
def noise_correlation(
    X: np.ndarray | csr_array,
    labels: np.ndarray,
    weights: np.ndarray,
    groups: np.ndarray | None = None,
) -> NoiseCorrelation:
    """Compare correlations of dropped features within clusters with those expected by chance.

    For independent features of n samples in K clusters, the squared correlations average 1 / (n -
    K) and, in units of that, each has a variance of about 2. A group is represented by one feature.
    """
    if labels.min() < 0:
        X, labels = X[labels >= 0], labels[labels >= 0]
    dropped = np.flatnonzero(np.asarray(weights) == 0)
    used = dropped if len(dropped) > 1 else np.arange(X.shape[1])
    if groups is not None:
        used = used[np.unique(groups[used], return_index=True)[1]]
    if len(used) > MOST_CORRELATED:
        used = used[np.linspace(0, len(used) - 1, MOST_CORRELATED).round().astype(int)]
    n_clusters, columns = int(labels.max()) + 1, X[:, used].astype(np.float64)
    centers = cluster_centers(columns, labels, n_clusters)
    if issparse(columns):
        # Use the products of the stored values, without a dense matrix. Sums of squares this small
        # compared with those about 0 are rounding errors.
        centers, products = np.nan_to_num(centers), (columns.T @ columns).toarray()
        least = 1e-12 * products.diagonal()
        products -= centers.T @ (centers * np.bincount(labels, minlength=n_clusters)[:, None])
        varies = products.diagonal() > least
        norms = np.sqrt(products.diagonal()[varies])
        correlations = products[np.ix_(varies, varies)] / np.outer(norms, norms)
    else:
        columns -= centers[labels]
        norms = np.sqrt(np.einsum("ij,ij->j", columns, columns))
        # A feature that is constant within clusters correlates with nothing.
        varies = norms > 1e-9 * max(norms.max(initial=0.0), 1e-300)
        columns = columns[:, varies] / norms[varies]
        correlations = columns.T @ columns
    count = len(correlations)
    if count < 2:
        return NoiseCorrelation(1.0, 0)
    total = np.square(correlations).sum() - count
    mean = float(total / (count * (count - 1)) * (len(labels) - n_clusters))
    return NoiseCorrelation(mean, count * (count - 1) // 2)


# The allowed share, among the counted features, of features that do not differ between clusters.
FALSE_DISCOVERIES = 0.1
# With many samples every difference exceeds chance. A difference counts if it explains at least
# this share of a feature's variance, a medium effect by the convention of Cohen (1988), f = 0.25.
MEDIUM_EFFECT = 0.25**2 / (1 + 0.25**2)


def count_differing(
    matrix: FeatureMatrix,
    labels: np.ndarray,
    between: np.ndarray,
    groups: np.ndarray | None = None,
) -> int:
    """Count the features, at least 1, whose means differ clearly between clusters.

    `between` (n_features,) are the scores a_j. A group counts as one feature with the mean sums of
    squares of its own, which is exact for copies and cautious for others. This describes the
    clusters and tests nothing: an analysis of variance of each feature at a false discovery rate of
    10 % (Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x) gives the threshold,
    and the clusters must explain at least 5.9 % of the feature's variance.
    """
    between, total = (group_means(values, groups) for values in (between, matrix.squares))
    between_df = int(labels.max())
    within_df = len(labels) - between_df - 1
    if between_df < 1 or within_df <= 0:
        return len(between)
    within = np.maximum(total - between, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (between / between_df) / (within / within_df)
    p_values = fisher.sf(np.nan_to_num(ratio, nan=0.0, posinf=np.inf), between_df, within_df)
    differs = false_discovery_control(p_values) <= FALSE_DISCOVERIES
    return max(1, int(np.count_nonzero(differs & (between >= MEDIUM_EFFECT * total))))
