"""Many starts on many samples: a race on a sample, whose best are carried to all samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsekm.cluster.partition_step import SEEDING_SAMPLE, KMeansPartition, draw_samples
from sparsekm.cluster.scatter import Matrix

# How many starts go on to all samples.
FINALISTS = 3


def race_starts(
    X: Matrix, partition: KMeansPartition, generators: Sequence[np.random.Generator]
) -> np.ndarray:
    """Run k-means on all features from several starts and return the most promising partition.

    Beyond `SEEDING_SAMPLE` samples all starts run on the same sample of that size, and the best
    `FINALISTS` of them on all samples: a start costs far less than a k-means on everything.

    Parameters
    ----------
    X : CentredMatrix or StreamedMatrix
    partition : KMeansPartition
    generators : sequence of numpy.random.Generator
        One for each start.

    Returns
    -------
    ndarray of shape (n_samples,), int32
    """
    equal = np.ones(X.n_features)
    if X.n_samples <= SEEDING_SAMPLE:
        starts = [partition.start(X, equal, rng) for rng in generators]
        return _rank(X, partition, starts)[0]
    sample = X.take(draw_samples(X, generators[0]))
    starts = [partition.start(sample, equal, rng) for rng in generators]
    finalists = [
        partition.refine(X, equal, partition.extend(X, equal, sample, start))
        for start in _rank(sample, partition, starts)[:FINALISTS]
    ]
    return _rank(X, partition, finalists)[0]


def _rank(X, partition, starts) -> list[np.ndarray]:
    """Sort partitions by their objective on all features, best first."""
    objectives = [float(np.sum(partition.scores(X, labels))) for labels in starts]
    return [starts[i] for i in np.argsort(-np.array(objectives), kind="stable")]
