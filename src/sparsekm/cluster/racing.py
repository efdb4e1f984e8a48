"""Many starts on many samples: a race in few dimensions, whose winner goes on to all features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sparsekm.cluster.merge_and_split import merge_and_split
from sparsekm.cluster.partition_step import KMeansPartition
from sparsekm.cluster.principal_subspace import reduce_features
from sparsekm.cluster.scatter import Matrix


def race_starts(
    X: Matrix,
    partition: KMeansPartition,
    rng: np.random.Generator,
    starts: Sequence[np.random.Generator],
) -> np.ndarray:
    """Run k-means on all features from the best of several starts on its principal subspace.

    There the winner's clusters are also merged and split.

    Parameters
    ----------
    X : CentredMatrix or StreamedMatrix
    partition : KMeansPartition
    rng : numpy.random.Generator
        Draws the samples that show the principal axes, and where their search starts.
    starts : sequence of numpy.random.Generator
        One for every start.

    Returns
    -------
    ndarray of shape (n_samples,), int32
    """
    equal = np.ones(X.n_features)
    reduced = reduce_features(X, partition, equal, rng)
    # A k-means in few dimensions is too little to share among threads.
    labels = _run_race(reduced, replace(partition, n_threads=1), starts)
    return partition.refine(X, equal, labels)


def _run_race(reduced, partition, starts) -> np.ndarray:
    """Return the best end of all starts, merged and split; hold but one beside the best."""
    equal = np.ones(reduced.n_features)
    winner, best = None, -1.0
    for rng in starts:
        labels = partition.start(reduced, equal, rng)
        objective = float(np.sum(partition.scores(reduced, labels)))
        if objective > best:
            winner, best = labels, objective
    return merge_and_split(reduced, partition, winner, starts[-1])
