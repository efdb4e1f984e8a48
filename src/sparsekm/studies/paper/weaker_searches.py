"""Searches as other programs run them: Lloyd's k-means, single starts, labels carried along.

They are no improvement and stand in no registry. Run beside the package's own estimators on the
same data, they tell how much of a difference from published numbers is due to the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.cluster.alternation import Fit, alternate, weigh_partition
from sparsekm.cluster.estimators import KMeans, L0KMeans, L1KMeans
from sparsekm.cluster.kmeans.seeding import nearest_seeds
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.search.crossover import canonical_labels
from sparsekm.runtime.one_blas_thread import one_blas_thread
from sparsekm.runtime.random_state import seed_sequence


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
        """Iterate on weighted samples; give the labels and the rounds."""
        labels, rounds = iterate_lloyd(rows, labels, self.n_clusters, self.max_iter)
        return canonical_labels(labels, self.n_clusters), rounds


def iterate_lloyd(
    rows: np.ndarray, labels: np.ndarray, n_clusters: int, max_iter: int
) -> tuple[np.ndarray, int]:
    """Iterate Lloyd's algorithm on few samples with int32 labels, and count the iterations.

    An empty cluster takes the sample farthest from its own centre.
    """
    rounds = 0
    while rounds < max_iter:
        rounds += 1
        members = np.equal(labels, np.arange(n_clusters)[:, None]).astype(np.float64)
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
    return labels, rounds


def _weighted_rows(X, weights):
    support = np.flatnonzero(weights)
    return np.ascontiguousarray(X.columns[support].T * np.sqrt(weights[support]), np.float64)


def run_as_printed(X, partition, weight_step, rng, *, max_iter, tol, overwrite=False) -> Fit:
    """Run the paper's Algorithm 1 word for word, with `partition.start` for "standard k-means".

    Every round finds its clusters afresh, under dissimilarities w_j d, and forgets the last ones;
    the objective may fall. Step 2 reads "transform d <- w_j d", of the data's own dissimilarities,
    as in step iii of the paper's framework. With `overwrite` it transforms what the last round
    left: then a feature that was dropped once never returns.

    The paper has no limit of the rounds: `max_iter` is ours, and the last clusters are kept.
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
        return matrix, LloydPartition(
            partition.n_clusters,
            partition.min_size,
            max_iter=partition.max_iter,
            n_threads=partition.n_threads,
        )

    @one_blas_thread
    def _fit_path(self, *args, **kwargs):
        return super()._fit_path(*args, **kwargs)


class _Unshared:
    """Fit every sparsity of a path by one alternation, offering no fit another's labels.

    Only the first k-means, on all features, has `n_init` starts; nothing restarts after it. Every
    sparsity starts from the end of that k-means or, where `_carried`, from the labels in which
    the next smaller sparsity ended.
    """

    _carried = False
    independent_fits = True

    def _fit_path(
        self, matrix, partition, weight_steps, search, progress=None, objectives_only=False
    ):
        effort = self._effort()
        seeds = seed_sequence(self.random_state).spawn(effort.n_init)
        generators = [np.random.default_rng(seed) for seed in seeds]
        equal = np.ones(matrix.n_features)
        starts = [partition.start(matrix, equal, rng) for rng in generators]
        labels = max(starts, key=lambda start: np.sum(partition.scores(matrix, start)))
        fits = []
        for weight_step in weight_steps:
            fit = alternate(
                matrix,
                partition,
                weight_step,
                matrix.n_features,
                start=weigh_partition(matrix, partition, weight_step, labels),
                max_iter=effort.max_iter,
                tol=effort.tol,
                restart=False,
            )
            fits.append(fit)
            if self._carried:
                labels = fit.labels
        return fits, np.array([fit.objective for fit in fits])


class _AsPrinted(_WithLloyd):
    """Fit every sparsity of a path by Algorithm 1 as it is printed, and by nothing else.

    The paper does not say how often it is started: of `n_init` runs the best is kept.
    """

    _overwrites = False
    independent_fits = True

    @one_blas_thread
    def _fit_path(
        self, matrix, partition, weight_steps, search, progress=None, objectives_only=False
    ):
        effort, seeds = self._effort(), seed_sequence(self.random_state)
        fits = []
        for weight_step in weight_steps:
            rng = np.random.default_rng(seeds)
            runs = [
                run_as_printed(
                    matrix,
                    partition,
                    weight_step,
                    rng,
                    max_iter=effort.max_iter,
                    tol=effort.tol,
                    overwrite=self._overwrites,
                )
                for _ in range(effort.n_init)
            ]
            fits.append(max(runs, key=lambda run: run.objective))
        return fits, np.array([fit.objective for fit in fits])


class LloydKMeans(_WithLloyd, KMeans):
    """k-means by Lloyd's iteration from k-means++ starts; parameters as in `KMeans`."""


class UnsharedL0KMeans(_Unshared, L0KMeans):
    """l0-k-means, every sparsity from the k-means partition; parameters as in `L0KMeans`."""


class UnsharedL1KMeans(_Unshared, L1KMeans):
    """l1-k-means, every sparsity from the k-means partition; parameters as in `L1KMeans`."""


class CarriedL0KMeans(UnsharedL0KMeans):
    """l0-k-means carried from bound to bound; parameters as in `L0KMeans`."""

    _carried = True
    independent_fits = False


class CarriedL1KMeans(UnsharedL1KMeans):
    """l1-k-means carried from bound to bound; parameters as in `L1KMeans`."""

    _carried = True
    independent_fits = False


class LloydL0KMeans(_WithLloyd, UnsharedL0KMeans):
    """`UnsharedL0KMeans` with Lloyd's iteration."""


class LloydL1KMeans(_WithLloyd, UnsharedL1KMeans):
    """`UnsharedL1KMeans` with Lloyd's iteration."""


class PrintedL0KMeans(_AsPrinted, L0KMeans):
    """l0-k-means by Algorithm 1 as it is printed; parameters as in `L0KMeans`."""


class OverwritingL0KMeans(PrintedL0KMeans):
    """`PrintedL0KMeans` whose dissimilarities are overwritten from round to round."""

    _overwrites = True
