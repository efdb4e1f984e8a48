"""Searches as the paper and the authors' scripts run them: Lloyd's k-means, single starts.

Run on the same data, they show how much of a difference from published numbers is due to them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.cluster.alternation import Fit, alternate, weigh_partition
from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.partition_step import KMeansPartition, canonical_labels, nearest_seeds
from sparsekm.runtime.random_state import seed_sequence
from sparsekm.runtime.threads import one_blas_thread


@dataclass(frozen=True)
class LloydPartition(KMeansPartition):
    """k-means by Lloyd's iteration from k-means++ alone, whatever the number of samples."""

    def start(self, X, weights, rng):
        """Iterate from k-means++ seeds among all samples."""
        labels = np.zeros(X.n_samples, np.int32)
        draws = rng.random(self.n_clusters)
        rows = _weighted_rows(X, weights)
        nearest_seeds(rows, self.n_clusters, draws, labels)
        return self.iterate(rows, labels)[0]

    def refine_counted(self, X, weights, labels):
        """Iterate from `labels` to a fixed point, without exchange moves."""
        return self.iterate(_weighted_rows(X, weights), labels)

    def iterate(self, rows, labels):
        """Iterate; an empty cluster takes the sample farthest from its own centre."""
        rounds = 0
        while rounds < self.max_iter:
            rounds += 1
            members = np.equal(labels, np.arange(self.n_clusters)[:, None]).astype(np.float64)
            sizes = members.sum(axis=1)
            centers = members @ rows / np.maximum(sizes, 1)[:, None]
            distances = (centers**2).sum(axis=1) - 2 * rows @ centers.T
            empty = np.flatnonzero(sizes == 0)
            if empty.size:
                own = distances[np.arange(len(labels)), labels] + (rows**2).sum(axis=1)
                labels = labels.copy()
                labels[np.argsort(-own, kind="stable")[: empty.size]] = empty
                continue
            moved = distances.argmin(axis=1).astype(np.int32)
            if np.array_equal(moved, labels):
                break
            labels = moved
        return canonical_labels(labels, self.n_clusters), rounds


def _weighted_rows(X, weights):
    support = np.flatnonzero(weights)
    return np.ascontiguousarray(X.columns[support].T * np.sqrt(weights[support]), np.float64)


def run_as_printed(X, partition, weight_step, rng, *, max_iter, tol, overwrite=False) -> Fit:
    """Run the paper's Algorithm 1 word for word, with `partition.start` for "standard k-means".

    Every round finds its clusters afresh, under dissimilarities w_j d; the objective may fall. With
    `overwrite`, "transform d <- w_j d" is of what the last round left, not of the data's own
    dissimilarities: then a feature that was dropped once never returns. `max_iter` is ours.
    """
    weights = np.full(X.n_features, 1.0 / np.sqrt(X.n_features))
    scale = np.ones(X.n_features)
    n_iter, settled = 0, False
    while not settled and n_iter < max_iter:
        n_iter, old = n_iter + 1, weights
        if overwrite:
            scale = scale * old
        labels = partition.start(X, scale if overwrite else old, rng)
        scores = partition.scores(X, labels)
        weights = weight_step.weigh(scale * scores)
        settled = np.abs(weights - old).sum() < tol * old.sum()
    return Fit(labels, weights, scores, float(weights @ scores), n_iter)


class _WithLloyd:
    """Replace the partition step of an estimator by Lloyd's iteration."""

    def _prepare(self, X):
        matrix, partition = super()._prepare(X)
        return matrix, LloydPartition(**vars(partition))

    @one_blas_thread
    def _fit_path(self, *args, **kwargs):
        return super()._fit_path(*args, **kwargs)


class _Unshared:
    """Fit every sparsity of a path by one alternation from one k-means on all features.

    No fit is offered another's labels but where `_carried`: then every sparsity starts from those
    of the next smaller one. `n_init` is not used here, nor by `_AsPrinted`.
    """

    _carried = False
    independent_fits = True

    def _fit_path(self, matrix, partition, weight_steps, *asked):
        effort, (seed,) = self._effort(), seed_sequence(self.random_state).spawn(1)
        labels = partition.start(matrix, np.ones(matrix.n_features), np.random.default_rng(seed))
        limits, fits = {"max_iter": effort.max_iter, "tol": effort.tol}, []
        for weight_step in weight_steps:
            problem = matrix, partition, weight_step
            fits.append(alternate(*problem, start=weigh_partition(*problem, labels), **limits))
            if self._carried:
                labels = fits[-1].labels
        return fits, np.array([fit.objective for fit in fits])


class _AsPrinted(_WithLloyd):
    """Fit every sparsity by one run of Algorithm 1 as it is printed."""

    _overwrites = False
    independent_fits = True

    @one_blas_thread
    def _fit_path(self, matrix, partition, weight_steps, *asked):
        effort, seeds = self._effort(), seed_sequence(self.random_state)
        limits = {"max_iter": effort.max_iter, "tol": effort.tol, "overwrite": self._overwrites}
        fits = [
            run_as_printed(matrix, partition, step, np.random.default_rng(seeds), **limits)
            for step in weight_steps
        ]
        return fits, np.array([fit.objective for fit in fits])


# The parameters are those of the package's own estimators.
LloydKMeans = type("LloydKMeans", (_WithLloyd, KMeans), {})
_CARRIED = {"_carried": True, "independent_fits": False}
CarriedL0KMeans = type("CarriedL0KMeans", (_Unshared, L0KMeans), _CARRIED)
CarriedL1KMeans = type("CarriedL1KMeans", (_Unshared, L1KMeans), _CARRIED)
LloydL0KMeans = type("LloydL0KMeans", (_WithLloyd, _Unshared, L0KMeans), {})
LloydL1KMeans = type("LloydL1KMeans", (_WithLloyd, _Unshared, L1KMeans), {})
PrintedL0KMeans = type("PrintedL0KMeans", (_AsPrinted, L0KMeans), {})
OverwritingL0KMeans = type("OverwritingL0KMeans", (PrintedL0KMeans,), {"_overwrites": True})
