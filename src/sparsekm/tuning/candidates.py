"""The candidates for the result at one number of clusters: starts, and numbers of features.

A candidate is a start and a number of features; Algorithm 1 runs from that start at that number.
The list is fixed before any result is seen, and `fold_fits` repeats every candidate without the
samples of each fold. All starts are k-means on clipped z-scores with a guard on the smallest
cluster, so that no single sample makes a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.matrices.matrix import CentredMatrix, FeatureMatrix
from sparsekm.cluster.matrices.varying_features import count_distinct
from sparsekm.cluster.screening import marginal_scores
from sparsekm.cluster.sparsity_path import Fit
from sparsekm.cluster.weight_step import PENALTIES, group_means
from sparsekm.runtime.threads import one_blas_thread
from sparsekm.tuning.feature_ranking import (
    count_differing,
    count_units,
    first_features,
    number_units,
    order_features,
)

# Starts use z-scores clipped at this value, because a value that only one sample has is near
# sqrt(n).
CLIP = 3.0
# A start has no cluster of fewer samples, or of fewer than a quarter of the mean size.
SMALLEST_CLUSTER = 5
# Principal components use this many of the features that rank first (the first number); other
# starts use the second number.
N_FIRST, N_SCREENED = 200, 500
# The largest number of principal components, and the samples needed for each.
MOST_COMPONENTS, SAMPLES_PER_COMPONENT = 10, 5
# k-means on these numbers of features that are farthest from a Gaussian, no two of which have a
# correlation of 0.7 or more.
MARGINAL_SIZES, ALIKE = (1, 2, 4), 0.7
# Up to this number of features, one candidate keeps all of them.
FEW_FEATURES = 100
# Features kept for each cluster but the first; the same number for two clusters as for three.
FEATURES_PER_CLUSTER = 25
# Rounds of Algorithm 1, each with the number of features that differ after the previous round.
MOST_ROUNDS = 10
N_INIT, N_INIT_OPTIMUM = 20, 1


class Candidate(NamedTuple):
    """A start, by its name in `STARTS`, and the number of features that are kept."""

    start: str
    n_features: int  # or groups of features
    settled: bool = False  # whether Algorithm 1 goes on at the number of features that differ

    def __str__(self) -> str:
        return f"{self.start} {self.n_features}{' settled' * self.settled}"


def kept_features(n_clusters: int, n_features: int) -> int:
    """Return how many features fits keep: 25 per cluster but one, at least 50, at most half."""
    return min(-(-n_features // 2), FEATURES_PER_CLUSTER * max(2, n_clusters - 1))


@dataclass(frozen=True)
class Samples:
    """Samples that are clustered: the matrix of Algorithm 1, and the features that rank first."""

    matrix: FeatureMatrix  # z-scores, centred
    screened: CentredMatrix  # z-scores of the features that rank first, best first
    # With its number of clusters, groups of features, seed, restarts of k-means and, if it is
    # given, the sparsity of all fits.
    estimator: L0KMeans | L1KMeans
    screened_groups: np.ndarray | None  # the group of each feature in `screened`
    n_kept: int  # `kept_features` of all features, or groups

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.estimator.n_clusters

    @property
    def n_units(self) -> int:
        """The number of features, or of groups of features."""
        return count_units(np.arange(self.matrix.n_features), self.estimator.feature_groups)

    @property
    def smallest_cluster(self) -> int:
        """The guard of the starts."""
        quarter = self.matrix.n_samples // (4 * self.n_clusters)
        return max(self.estimator.min_cluster_size, min(SMALLEST_CLUSTER, quarter))

    def clipped(self, count: int, limit: float = CLIP) -> np.ndarray:
        """Return clipped z-scores of the first `count` features, or groups: (n_samples, m)."""
        first = number_units(np.arange(self.screened.n_features), self.screened_groups) < count
        return np.clip(self.screened.columns[first].T.astype(np.float64), -limit, limit)

    def cluster(self, values: np.ndarray) -> np.ndarray | None:
        """Label the samples by k-means; None if fewer than K samples are distinct."""
        matrix = CentredMatrix(np.ascontiguousarray(values - values.mean(axis=0)))
        if count_distinct(matrix, self.n_clusters) < self.n_clusters:
            return None
        return self.means().path(matrix).fit_at(0).labels

    def means(self) -> KMeans:
        """Return the k-means of the starts."""
        return KMeans(
            self.n_clusters,
            n_init=self.estimator.n_init,
            min_cluster_size=self.smallest_cluster,
            tol=1e-10,
            random_state=self.estimator.random_state,
            n_jobs=1,
        )

    def fit(self, labels: np.ndarray, count: int) -> Fit:
        """Run Algorithm 1 from labels at a number of features, or at the given sparsity."""
        bound = self.estimator.sparsity
        if bound is None:
            bound = PENALTIES[self.estimator.penalty].bound_of(min(count, self.n_units))
        return fit_from(self.estimator, self.matrix, labels, bound)

    def settle(self, fit: Fit) -> Fit:
        """Run Algorithm 1 with the number of features that differ, until it no longer changes."""
        groups: Any = self.estimator.feature_groups
        for _ in range(MOST_ROUNDS if self.estimator.sparsity is None else 0):
            labels, scores = fit.labels, fit.scores
            count = count_differing(self.matrix, labels, scores, groups)
            if count == count_units(np.flatnonzero(fit.weights), groups):
                break
            fit = self.fit_again(fit, count)
        return fit

    def fit_again(self, fit: Fit, count: int) -> Fit:
        """Run Algorithm 1 from a fit, at the sparsity that keeps `count` features by its scores."""
        means = group_means(fit.scores, self.estimator.feature_groups)
        bound = PENALTIES[self.estimator.penalty].bound_for(means, count)
        return fit_from(self.estimator, self.matrix, fit.labels, bound)


def fit_from(estimator: Any, X: Any, labels: np.ndarray, sparsity: float) -> Fit:
    """Run Algorithm 1 from a partition at one sparsity."""
    own = clone(estimator).set_params(init=labels, search="alternate", n_init=1)
    return own.path(X, [sparsity]).fit_at(0)


Fits = Iterator[tuple[Candidate, Fit]]


def _fit_components(samples: Samples) -> Fits:
    """Start from principal components, scaled to the roots of their deviations; drop features.

    With this scale, a module of q copies of one feature counts as much as sqrt(q) features.
    """
    labels = first_start(samples)
    kept, n_units = samples.n_kept, samples.n_units
    fit = samples.fit(labels, kept)
    yield Candidate("components", kept), fit
    if samples.estimator.sparsity is not None:
        return
    if kept < n_units <= FEW_FEATURES:
        yield Candidate("components", n_units), samples.fit(labels, n_units)
    # Each number of features starts from the previous fit.
    for divisor in (4, 8, 16) if kept >= 16 else (2, 4):
        if kept // divisor:
            fit = samples.fit(fit.labels, kept // divisor)
            yield Candidate("components", kept // divisor), fit


def first_start(samples: Samples, count: int = N_FIRST) -> np.ndarray:
    """Label samples by k-means on components of the features that rank first."""
    values = samples.clipped(count)
    left, deviations = principal_components(values)
    few = samples.matrix.n_samples // SAMPLES_PER_COMPONENT
    most = max(samples.n_clusters - 1, min(MOST_COMPONENTS, few))
    for start in (left[:, :most] * np.sqrt(deviations[:most]), values):
        labels = samples.cluster(start)
        if labels is not None:
            return labels
    return samples.means().path(samples.matrix).fit_at(0).labels


def _fit_marginals(samples: Samples) -> Fits:
    """Start from k-means on the few features that are farthest from a Gaussian."""
    values = samples.clipped(N_SCREENED)
    groups = samples.screened_groups
    groups = None if groups is None else groups[: values.shape[1]]
    order = _unlike(values, groups)
    for size in MARGINAL_SIZES:
        if size > max(1, samples.n_units // 2):
            return
        labels = samples.cluster(values[:, first_features(order, size, groups)])
        if labels is not None:
            fit = samples.fit(labels, size)
            if size < MARGINAL_SIZES[-1]:
                yield Candidate("marginals", size), fit
            yield Candidate("marginals", size, settled=True), samples.settle(fit)


def _unlike(values: np.ndarray, groups: np.ndarray | None) -> np.ndarray:
    """Order features by their distance from a Gaussian; of correlated features keep the first."""
    order = order_features(marginal_scores(values, n_jobs=1), groups)
    numbers = number_units(order, groups)
    directions = values - values.mean(axis=0)
    directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-300)
    chosen: list[int] = []
    n_chosen = 0
    for number in range(int(numbers.max()) + 1):
        own = order[numbers == number]
        if n_chosen == MARGINAL_SIZES[-1]:
            break
        alike = np.abs(directions[:, chosen].T @ directions[:, own])
        if not chosen or alike.max() < ALIKE:
            chosen.extend(own)
            n_chosen += 1
    return np.array(chosen)


@one_blas_thread
def principal_components(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute components of unit norm, (n_samples, d), and their non-zero deviations, (d,)."""
    left, deviations, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    count = max(1, int(np.count_nonzero(deviations > 1e-9 * deviations[0])))
    return left[:, :count], deviations[:count]


def fit_optima(samples: Samples) -> Iterator[Fit]:
    """Yield the optimum at half, once and twice the number of features that fits keep."""
    n_units = count_units(np.arange(samples.screened.n_features), samples.screened_groups)
    kept = kept_features(samples.n_clusters, n_units)
    grid = np.unique(np.clip([kept // 2, kept, 2 * kept], 1, n_units))
    estimator = L0KMeans(
        samples.n_clusters,
        n_init=N_INIT_OPTIMUM,
        feature_groups=samples.screened_groups,
        min_cluster_size=samples.smallest_cluster,
        random_state=samples.estimator.random_state,
        n_jobs=1,
    )
    # A feature that marks a cluster of the smallest size is not clipped.
    limit = max(CLIP, np.sqrt(samples.matrix.n_samples / samples.smallest_cluster))
    path = estimator.path(CentredMatrix(samples.clipped(n_units, limit)), grid)
    for place in range(len(grid)):
        yield path.fit_at(place)


STARTS: dict[str, Callable[[Samples], Fits]] = {
    "components": _fit_components,
    "marginals": _fit_marginals,
}
