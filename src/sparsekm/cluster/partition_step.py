"""The partition step: any clustering whose criterion is a sum over features (the paper's step ii).

k-means is built in. Other clusterings need the three methods of `PartitionStep`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sparsekm.cluster.kmeans.few_samples import FEW_SWEEPS, ROUNDING, exchange_until_stable
from sparsekm.cluster.kmeans.many_samples import (
    exchange_in_batches,
    fill_clusters,
    nearest_centers,
)
from sparsekm.cluster.matrices.matrix import (
    CentredMatrix,
    FeatureMatrix,
    cluster_sizes,
    feature_scores,
    matrix_sums,
)
from sparsekm.cluster.matrices.sample_rows import (
    Rows,
    add_row,
    distance,
    new_points,
    pack_rows,
    set_norm,
)
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock
from sparsekm.cluster.screening import marginal_scores
from sparsekm.runtime.compiled import compiled
from sparsekm.runtime.random_state import draw_samples

# Up to this number of samples, they move one at a time, and searches use them all. Beyond it, they
# move all at once, which is less thorough but far cheaper, and searches draw a sample of this size.
SEEDING_SAMPLE = 2048
SEEDING_PER_CLUSTER = 2
# Limits the sweeps of one refinement. Data do not reach it.
MAX_SWEEPS = 10_000
# The names that `init` accepts besides labels and None.
STARTS = ["random", "screened"]
# In a search, a refinement that gains no more than this share of the objective is the last.
SMALL_GAIN = 3e-4


class PartitionStep(Protocol):
    """The methods of a clustering that the alternation calls.

    `X` can be any type that the step understands, because the alternation only hands it on.
    """

    def start(self, X: Any, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return labels, shape (n_samples,), for the weighted features, from scratch."""
        ...

    def refine(self, X: Any, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return labels at least as good as `labels`; returning them unchanged is allowed."""
        ...

    def scores(self, X: Any, labels: np.ndarray) -> np.ndarray:
        """Return each feature's contribution to the criterion, shape (n_features,), >= 0."""
        ...


@dataclass(frozen=True)
class KMeansPartition:
    """k-means on weighted features.

    It makes exchange moves from k-means++ seeds: one at a time up to `SEEDING_SAMPLE` samples, in
    batches beyond.
    """

    n_clusters: int
    min_size: int = 1  # smallest cluster allowed
    max_iter: int = MAX_SWEEPS  # largest number of sweeps in one `refine`
    # Smallest gain of a sweep, as a share of the objective, worth another.
    tol: float = 0.0
    # The same for batches in a search, which need not go to the end.
    roughness: float = 0.0
    n_threads: int = 1

    @property
    def exact(self) -> KMeansPartition:
        """The same step, refined to the end."""
        return replace(self, roughness=0.0)

    @property
    def sample_size(self) -> int:
        """The number of samples that a search draws if there are more."""
        return max(SEEDING_SAMPLE, SEEDING_PER_CLUSTER * self.n_clusters)

    def draw(self, X: FeatureMatrix, rng) -> tuple[np.ndarray, FeatureMatrix, KMeansPartition]:
        """Return the samples that a search uses, ascending, their matrix, and the step for them.

        They are all samples, or are drawn from more. `min_size` shrinks in proportion.
        """
        rows = draw_samples(X.n_samples, self.sample_size, rng)
        if len(rows) == X.n_samples:
            return rows, X, self
        min_size = max(1, self.min_size * len(rows) // X.n_samples)
        return rows, X.take(rows), replace(self, min_size=min_size)

    def start(self, X: FeatureMatrix, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Run k-means from k-means++ seeds, drawn from a sample if there are many samples."""
        draws, k = rng.random(self.n_clusters), self.n_clusters
        _, sample, own = self.draw(X, rng)
        # The result of a start is refined later, so more precision is not needed.
        packed = _pack(sample.in_unit()[0], weights, np.float32)
        labels = np.zeros(sample.n_samples, np.int32)
        nearest_seeds(packed, k, draws, labels)
        # Clusters need not be filled before the seeds have settled.
        exchange_until_stable(packed, labels, k, 1, FEW_SWEEPS, 0.0)
        exchange_until_stable(packed, labels, k, own.min_size, self.max_iter, self.tol)
        labels = canonical_labels(labels, k)
        if sample is X:
            return labels
        return self.refine(X, weights, self.extend(X, weights, sample, labels))

    def refine(self, X: FeatureMatrix, weights: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Run k-means from `labels`, on small data until no exchange gains."""
        return self.refine_counted(X, weights, labels)[0]

    def refine_counted(self, X, weights, labels) -> tuple[np.ndarray, int]:
        """Run k-means as `refine` does; return the labels and the number of sweeps."""
        if X.n_samples > SEEDING_SAMPLE:
            labels, sweeps = exchange_in_batches(X, weights, labels, self)
        else:
            labels = labels.copy()
            packed = _pack(X, weights, np.float64)
            sweeps = exchange_until_stable(
                packed, labels, self.n_clusters, self.min_size, self.max_iter, self.tol
            )
        return canonical_labels(labels, self.n_clusters), sweeps

    def run(self, X: FeatureMatrix, n_init: int, seeds) -> tuple[np.ndarray, int, bool]:
        """Run k-means on all features; return labels, rounds and whether the rounds sufficed.

        The best of twice `n_init` starts is refined to the end. With many samples, the starts use
        some of them.
        """
        *generators, rng = [np.random.default_rng(seed) for seed in seeds.spawn(n_init + 1)]
        _, sample, own = self.draw(X, rng)
        equal = np.ones(X.n_features)
        starts = [own.start(sample, equal, rng) for rng in [*generators, *generators]]
        labels = max(starts, key=lambda start: float(np.sum(own.scores(sample, start))))
        if sample is not X:
            labels = own.extend(X, equal, sample, labels)
        rounds, converged = 0, False
        while not converged and rounds < self.max_iter:
            rest = replace(self.exact, max_iter=self.max_iter - rounds)
            refined, taken = rest.refine_counted(X, equal, labels)
            rounds += taken
            # With tol=0 a refinement that moved a sample is repeated from its result.
            ended = self.tol > 0 and taken < rest.max_iter
            before, gained = (float(np.sum(self.scores(X, one))) for one in (labels, refined))
            converged = ended or gained <= before * (1.0 + ROUNDING)
            labels = refined
        return labels, rounds, converged

    def admit(self, X: FeatureMatrix, labels: np.ndarray) -> np.ndarray:
        """Make an allowed partition of labels by filling the clusters that are too small."""
        equal = np.ones(X.n_features)
        filled = fill_clusters(X, equal, labels, self.n_clusters, self.min_size)
        return canonical_labels(filled, self.n_clusters)

    def scores(self, X: FeatureMatrix, labels: np.ndarray) -> np.ndarray:
        """Return the scores a_j."""
        return feature_scores(X, labels, self.n_clusters, self.n_threads)

    def extend(self, X, weights, sample: FeatureMatrix, labels) -> np.ndarray:
        """Label all samples of X by the nearest centre of a labelled `sample`."""
        support = np.flatnonzero(weights)
        sums = matrix_sums(sample.select(support), labels, self.n_clusters)
        centers = sums / np.maximum(cluster_sizes(labels, self.n_clusters), 1)
        return label_in_blocks(X.select(support), weights[support], centers, self.n_threads)


@compiled
def nearest_seeds(packed, n_clusters, draws, labels):
    """Choose seeds by k-means++ from uniform `draws` (n_clusters,), and label by the nearest."""
    n = packed.shape[0]
    distances = np.full(n, np.inf)
    point = new_points(packed, 1)
    seed = int(draws[0] * n)
    for k in range(n_clusters):
        if k > 0:
            total = 0.0
            for i in range(n):
                total += distances[i]
            target = draws[k] * total
            seed = n - 1
            for i in range(n):
                target -= distances[i]
                if target < 0.0:
                    seed = i
                    break
        point[:] = 0.0
        add_row(packed, seed, point, 0, 1.0)
        set_norm(packed, point, 0)
        for i in range(n):
            d = distance(packed, i, point, 0)
            if d < distances[i]:
                distances[i] = d
                labels[i] = k


@compiled
def canonical_labels(labels, n_clusters):
    """Rename clusters by first appearance: equal partitions get equal labels."""
    names = np.full(n_clusters, -1)
    renamed = np.empty_like(labels)
    following = 0
    for i in range(labels.shape[0]):
        k = labels[i]
        if names[k] < 0:
            names[k] = following
            following += 1
        renamed[i] = names[k]
    return renamed


def label_in_blocks(X: FeatureMatrix, values, centers, n_threads: int) -> np.ndarray:
    """Label all samples of a matrix by their nearest centre (n_kept, n_clusters)."""
    labels = np.zeros(X.n_samples, np.int32)
    for start, columns in X.blocks():
        here = slice(start, start + columns.shape[1])
        labels[here] = nearest_centers(columns, values, centers, labels[here], n_threads)
    return labels


# If there are this many times more features than kept ones, the kept ones count as few.
FEW_OF = 8


def _pack(X: FeatureMatrix, weights: np.ndarray, dtype: type) -> Rows:
    """Return the weighted features of all samples, (n_samples, n_kept); if dense, of this dtype."""
    dense, support = isinstance(X, CentredMatrix), np.flatnonzero(weights)
    if (weights == 1.0).all():
        return X.rows.astype(dtype, copy=False) if dense else X.rows
    factors = np.sqrt(weights[support]).astype(dtype if dense else np.float64)
    if dense and FEW_OF * len(support) <= X.n_features:
        # All features of a sample are not needed at once, and perhaps never.
        return np.ascontiguousarray((X.columns[support] * factors[:, None]).T, dtype)
    return pack_rows(X.rows, support, factors)


def dense_if_few(matrix: FeatureMatrix) -> FeatureMatrix:
    """Return a matrix of few samples in the form that a search reads."""
    few = matrix.n_samples <= 2 * SEEDING_SAMPLE and not isinstance(matrix, CentredMatrix)
    return matrix.take(np.arange(matrix.n_samples)) if few else matrix


def propose_starts(
    X, partition: KMeansPartition, weight_steps, init: str | np.ndarray, n_starts: int, seeds
) -> list[list[np.ndarray]]:
    """Return the partitions that a checked `init` stands for at every sparsity.

    They are the labels, random partitions, or the best k-means partition on screened features.
    """
    if not isinstance(init, str):
        return [[partition.admit(X, init)]] * len(weight_steps)
    own, sampling = seeds.spawn(2)
    own_seeds = own.spawn(n_starts)
    if init == "random":
        k, size = partition.n_clusters, X.n_samples
        generators = [np.random.default_rng(seed) for seed in own_seeds]
        drawn = [rng.integers(k, size=size, dtype=np.int32) for rng in generators]
        return [[partition.admit(X, labels) for labels in drawn]] * len(weight_steps)
    rng = np.random.default_rng(sampling)
    block = X.take(draw_samples(X.n_samples, SEEDING_SAMPLE, rng)).block
    rows = block.rows if isinstance(block, SparseBlock) else block.T
    scores = marginal_scores(rows, n_jobs=partition.n_threads)
    starts = []
    for weight_step in weight_steps:
        # Squared scores replace a_j. Scores of 0 are left out, unless all are 0.
        weights = weight_step.weigh(scores**2)
        if scores.any():
            weights[scores == 0] = 0
        # Every sparsity uses the same draws.
        generators = [np.random.default_rng(seed) for seed in own_seeds]
        partitions = [partition.start(X, weights, rng) for rng in generators]
        objectives = [partition.scores(X, labels) @ weights for labels in partitions]
        starts.append([partitions[int(np.argmax(objectives))]])
    return starts
