r"""Does the partition come again when samples are left out? One resampling at a time.

Two schemes. "subsample": a random share of the samples is fitted, every sample goes to the nearest
of its centres, and that is compared with the partition fitted to all. "halves": the samples are
cut into two halves, each is fitted, every sample goes to the nearest centre of either, and the two
are compared (Lange, Roth, Braun & Buhmann 2004, doi:10.1162/089976604773717621, and, with labels
for a truth, prediction strength: Tibshirani & Walther 2005, doi:10.1198/106186005X59243).

Partitions are compared by the adjusted Rand index, which chance alone leaves at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.kmeans.assignment import WeightedFeatures, nearest_centers
from sparsekm.cluster.matrices.centers import cluster_centers
from sparsekm.cluster.matrices.dense_parts import feature_means
from sparsekm.cluster.matrices.sparse_matrix import centred_block

SCHEMES = ["subsample", "halves"]
# The share of the samples in a subsample: enough for the fit to be nearly the whole's.
SUBSAMPLE = 0.8


@dataclass(frozen=True)
class Resampling:
    """What one resampling says at every sparsity.

    Attributes
    ----------
    agreement : ndarray of shape (n_sparsities,)
        Adjusted Rand index of the two partitions of all samples.
    n_fits : int
        Paths fitted to a part of the samples.
    selections : ndarray of shape (n_sparsities, n_features), int64
        How many of them keep a feature.
    """

    agreement: np.ndarray
    n_fits: int
    selections: np.ndarray


def split_rows(n_samples: int, scheme: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Draw the parts of the samples that are fitted, each in ascending order.

    Parameters
    ----------
    n_samples : int
    scheme : {"subsample", "halves"}
        One part of `SUBSAMPLE` of the samples, or two parts of half of them that share none; with
        an odd number of samples one is left out.
    rng : numpy.random.Generator

    Returns
    -------
    list of ndarray
    """
    order = rng.permutation(n_samples)
    if scheme == "halves":
        half = n_samples // 2
        return [np.sort(order[:half]), np.sort(order[half : 2 * half])]
    return [np.sort(order[: int(np.ceil(SUBSAMPLE * n_samples))])]


def resample(
    estimator,
    X: np.ndarray | csr_array,
    sparsities: np.ndarray,
    *,
    scheme: str,
    index: int,
    seed: int,
    labels: np.ndarray | None = None,
) -> Resampling:
    """Fit the path again on parts of the samples and compare.

    Parameters
    ----------
    estimator : estimator with `path` and `n_clusters`
        Its own `random_state` is not used.
    X : ndarray or csr_array of shape (n_samples, n_features)
    sparsities : ndarray of shape (n_sparsities,)
    scheme : {"subsample", "halves"}
    index : int
        Which resampling. Its parts depend on (`seed`, `index`) and the scheme alone.
    seed : int
        Root seed.
    labels : ndarray of shape (n_sparsities, n_samples)
        The partitions of all samples that a subsample's are compared with; halves need none.

    Returns
    -------
    Resampling
    """
    own_seed = np.random.SeedSequence(seed, spawn_key=(index, 2 + SCHEMES.index(scheme)))
    rows_seed, *fit_seeds = own_seed.spawn(3)
    parts = split_rows(X.shape[0], scheme, np.random.default_rng(rows_seed))
    partitions = []
    selections = np.zeros((len(sparsities), X.shape[1]), dtype=np.int64)
    for rows, fit_seed in zip(parts, fit_seeds, strict=False):
        part = X[rows]
        fitted = clone(estimator).set_params(random_state=int(fit_seed.generate_state(1)[0]))
        path = fitted.path(part, sparsities)
        selections += path.weights > 0
        partitions.append(
            [label_everyone(X, part, *fit) for fit in zip(path.labels, path.weights, strict=True)]
        )
    if scheme == "subsample":
        partitions.append(labels)
    agreement = np.array([adjusted_rand_score(a, b) for a, b in zip(*partitions, strict=True)])
    return Resampling(agreement, len(parts), selections)


def gather_resamplings(resamplings: Sequence[Resampling]) -> tuple[np.ndarray, np.ndarray, int]:
    """Stack the agreements (n_splits, n_sparsities), and add up the selections and the fits."""
    return (
        np.array([resampling.agreement for resampling in resamplings]),
        np.sum([resampling.selections for resampling in resamplings], axis=0),
        sum(resampling.n_fits for resampling in resamplings),
    )


def label_everyone(
    X: np.ndarray | csr_array,
    part: np.ndarray | csr_array,
    labels: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Label all samples by the nearest centre of a partition of a part, in its kept features.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
    part : ndarray or csr_array of shape (n_part, n_features)
    labels : ndarray of shape (n_part,), int32
        Every label from 0 to the largest occurs.
    weights : ndarray of shape (n_features,)

    Returns
    -------
    ndarray of shape (n_samples,), int32
    """
    support = np.flatnonzero(weights)
    kept = part[:, support]
    centers = cluster_centers(kept, labels, int(labels.max()) + 1)
    # Centred at the part's own means: distances do not change, and rounding stays small.
    shift = feature_means(kept)
    columns = centred_block(X[:, support], shift)
    features = WeightedFeatures(np.arange(len(support)), np.asarray(weights)[support])
    return nearest_centers(
        columns, features, (centers - shift).T, np.zeros(X.shape[0], dtype=np.int32)
    )
