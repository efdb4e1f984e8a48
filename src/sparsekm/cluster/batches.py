"""Compare clusters with batches, and with the clusters of values centred within batches.

Both results are given, because centring distorts the clusters if the batches hold different
classes.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.estimator_input import read_data
from sparsekm.cluster.matrices.dense_parts import feature_means
from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.metrics import label_codes

LEAST_AGREEMENT = 0.8
"""Results whose adjusted Rand index is lower are reported to disagree."""
COINCIDE = 0.55
"""The association above which clusters and batches are said to coincide.

In simulations with 40 to 300 samples, it is reached by fewer than 1 in 1,000 partitions that do not
depend on the batches, and by 98 to 100 % of those that differ from the batches in a tenth of the
samples (``python -m benchmarks batches``).
"""
# In tables, this ends the name of the column of clusters after centring within batches.
WITHIN_SUFFIX = "_within_batches"
# A smaller cluster may lie in one batch by chance.
SMALLEST_TOLD = 5
LEAST_SAMPLES = 2


def check_batch(batch: ArrayLike, X: Any) -> tuple[np.ndarray, pd.Index]:
    """Check the batch of each sample; return its number, (n_samples,), and the batches' names."""
    if issparse(X) or isinstance(X, FeatureMatrix):
        raise TypeError(
            f"batch: X is of type {type(X).__name__}, and centring within batches would make it "
            "dense. Give X as a NumPy array or a pandas DataFrame."
        )
    n_samples = np.shape(X)[0]
    if np.shape(batch) != (n_samples,):
        raise ValueError(f"batch: shape={np.shape(batch)} should be ({n_samples},).")
    codes = label_codes(batch, "batch")
    sizes = np.bincount(codes)
    names = pd.Index(pd.unique(pd.Series(batch)).tolist(), dtype=object)
    if len(sizes) < 2:
        raise ValueError(f"batch={names[:1].tolist()} should be at least two batches.")
    if sizes.min() < LEAST_SAMPLES:
        raise ValueError(
            f"batch {names[sizes.argmin()]!r} has {sizes.min()} sample; a batch should have "
            f">= {LEAST_SAMPLES}, because centring turns a single sample into the mean of all "
            "samples. Merge this batch with another one."
        )
    return codes, names


def centre_within(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Give every batch the means of all samples, (n_samples, n_features)."""
    X = np.asarray(X)
    X = X if X.dtype == np.float32 else X.astype(np.float64)
    centred = X.copy()
    everyone = feature_means(X)
    for code in range(int(codes.max()) + 1):
        own = codes == code
        centred[own] -= feature_means(X[own]) - everyone
    return centred


def centre_batches(data: ScaledData) -> ScaledData:
    """Return z-scores of values that are centred within the batches of their description."""
    codes, _ = check_batch(data.about.batch, data.X)
    centred = replace(data, X=centre_within(data.X, codes))
    return centred.standardise_by(np.arange(len(codes)))


def count_batches(labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Count the samples of each cluster in each batch, without the samples that are set aside.

    Examples
    --------
    >>> count_batches(np.array([0, 0, 1, -1]), np.array([0, 1, 1, 0])).tolist()
    [[1, 1], [0, 1]]
    """
    inside = labels >= 0
    counts = np.zeros((int(labels.max()) + 1, int(codes.max()) + 1), np.int64)
    np.add.at(counts, (labels[inside], codes[inside]), 1)
    return counts


def conclude_with_batches(conclusion: str, counts: np.ndarray) -> str:
    """Begin a conclusion with the clusters that coincide with batches."""
    warning = describe_association(counts)
    return f"{warning[0].upper()}{warning[1:]}. {conclusion}" if warning else conclusion


def compare_batches(estimator: Any, X: Any, batch: ArrayLike, **options: Any) -> None:
    """Fit a copy of an estimator to X centred within batches; store and report the differences.

    The attributes are described in `SparseKMeans`. `options` are the other arguments of `fit`.
    """
    codes, names = check_batch(batch, X)
    centred: Any = centre_within(read_data(estimator, X), codes)
    if isinstance(X, pd.DataFrame):
        centred = pd.DataFrame(centred, X.index, X.columns)
    estimator.batch_centred_ = clone(estimator).fit(centred, **options)
    labels, others = np.asarray(estimator.labels_), estimator.batch_centred_.labels_
    counts, both = count_batches(labels, codes), (labels >= 0) & (others >= 0)
    estimator.batch_agreement_ = float(adjusted_rand_score(labels[both], others[both]))
    shares = pd.DataFrame(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), columns=names)
    shares = shares.rename_axis(index="cluster", columns="batch")
    estimator.batch_shares_ = shares.sort_index(axis=1, key=lambda batches: batches.astype(str))
    said = [associated] if (associated := describe_association(counts)) else []
    if estimator.batch_agreement_ < LEAST_AGREEMENT:
        said.append(
            "the results with and without centring within batches have an adjusted Rand index of "
            f"only {estimator.batch_agreement_:.2f} (< {LEAST_AGREEMENT})"
        )
    if said:
        warnings.warn(
            f"{'; '.join(said)}. `labels_` holds the clusters of X as given, "
            "`batch_centred_.labels_` the clusters of X centred within batches. If the true "
            "clusters have different shares in different batches, centring distorts the clusters.",
            UserWarning,
            stacklevel=3,
        )


def association(counts: np.ndarray) -> float:
    """Return how strongly the rows and columns of a table of counts are associated.

    This is Cramer's V with the bias correction of Bergsma (2013, doi:10.1016/j.jkss.2012.10.002).
    It is 0 on average for independent partitions, and 1 if one determines the other.

    Examples
    --------
    >>> association(np.array([[5, 0], [0, 5]])), association(np.array([[5, 5], [5, 5]]))
    (1.0, 0.0)
    """
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)].astype(float)
    n = counts.sum()
    lengths = np.array(counts.shape)
    # The number expected by chance is subtracted from each.
    freedom = lengths - 1 - np.square(lengths - 1) / max(n - 1, 1)
    if freedom.min() <= 0:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    square = (np.square(counts - expected) / expected).sum() / n - np.prod(lengths - 1) / (n - 1)
    return float(np.sqrt(np.clip(square / freedom.min(), 0, 1)))


def clusters_of_batches(counts: np.ndarray) -> list[int]:
    """Return the clusters that coincide with batches; `counts` (n_clusters, n_batches) are samples.

    Each cluster is compared with all others. If none coincides, but the partition as a whole does,
    for example because each batch divides the same classes, all clusters are returned.
    """
    rest = counts.sum(axis=0) - counts
    alone = [association(np.array(both)) >= COINCIDE for both in zip(counts, rest, strict=True)]
    few = np.minimum(counts.sum(axis=1), rest.sum(axis=1)) < SMALLEST_TOLD
    coinciding = np.flatnonzero(alone & ~few)
    if not len(coinciding) and association(counts) >= COINCIDE:
        coinciding = np.flatnonzero(counts.any(axis=1))
    return coinciding.tolist()


def describe_association(counts: np.ndarray) -> str:
    """Say, as part of a sentence, which clusters coincide with batches; empty if none does."""
    coinciding, n_clusters = clusters_of_batches(counts), np.count_nonzero(counts.any(axis=1))
    if not coinciding:
        return ""
    strength = f"(bias-corrected Cramér's V {association(counts):.2f})"
    if len(coinciding) == n_clusters:
        return f"clusters and batches coincide and cannot be told apart {strength}"
    numbers = ", ".join(map(str, coinciding))
    which = f"clusters {numbers} coincide"
    if len(coinciding) == 1:
        which = f"cluster {numbers} coincides"
    return f"{which} with batches and cannot be told from them {strength}"


def describe_within(labels: np.ndarray, within: np.ndarray | None) -> str:
    """Describe, in a sentence after a conclusion, the clusters after centring, if there are any."""
    if within is None:
        return ""
    sizes = np.unique(within[within >= 0], return_counts=True)[1]
    agreement = adjusted_rand_score(labels, within)
    return (
        f" After centring within batches, all samples form {len(sizes)} clusters of "
        f"{', '.join(map(str, sizes))} samples. Their adjusted Rand index with the clusters above "
        f"is {agreement:.2f}. See the report, and the column cluster_sparse{WITHIN_SUFFIX} of "
        "clusters.csv."
    )
