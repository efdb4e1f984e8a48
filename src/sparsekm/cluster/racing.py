"""Many starts on many samples: races in few dimensions, whose winners go on to all features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sparsekm.cluster.partition_step import KMeansPartition, draw_samples
from sparsekm.cluster.principal_subspace import principal_axes_of, project
from sparsekm.cluster.scatter import Matrix

# Dimensions beyond the number of clusters: the last axes of an iteration are its worst.
EXTRA_AXES = 3


def race_starts(
    X: Matrix,
    partition: KMeansPartition,
    rng: np.random.Generator,
    races: Sequence[Sequence[np.random.Generator]],
) -> list[np.ndarray]:
    """Run k-means on all features from the best of several starts on its principal subspace.

    Parameters
    ----------
    X : CentredMatrix or StreamedMatrix
    partition : KMeansPartition
    rng : numpy.random.Generator
        Draws the samples that show the principal axes, and where their search starts.
    races : sequence of sequences of numpy.random.Generator
        A generator for every start of every race.

    Returns
    -------
    list of ndarray of shape (n_samples,), int32
        The winner of every race, run to its end on all features.
    """
    winners = _run_races(_reduce_features(X, partition, rng), partition, races)
    equal = np.ones(X.n_features)
    return [partition.refine(X, equal, labels) for labels in winners]


def _reduce_features(X, partition, rng) -> Matrix:
    n_axes = partition.n_clusters + EXTRA_AXES
    if X.n_features <= n_axes:
        return X
    sample = X.take(draw_samples(X, rng))
    axes = principal_axes_of(sample, n_axes, rng, partition.n_threads)
    return project(X, axes, partition.n_threads)


def _run_races(reduced, partition, races) -> list[np.ndarray]:
    """Return the best end of each race, holding no more than one beside the best."""
    equal = np.ones(reduced.n_features)
    winners = []
    for generators in races:
        winner, best = None, -1.0
        for rng in generators:
            labels = partition.start(reduced, equal, rng)
            objective = float(np.sum(partition.scores(reduced, labels)))
            if objective > best:
                winner, best = labels, objective
        winners.append(winner)
    return winners
