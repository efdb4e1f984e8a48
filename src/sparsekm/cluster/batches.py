"""Batches beside clusters: the answer with and without centring within batches.

Where batches hold different classes, centring moves the classes: so both answers are given.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.stats import hypergeom
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.matrices.matrix import FeatureMatrix
from sparsekm.cluster.matrices.scaled_data import ScaledData
from sparsekm.metrics import label_codes

LEAST_AGREEMENT = 0.8
"""Answers that agree less by their adjusted Rand index are said to disagree."""
# A cluster is a batch if this share of its samples is of it, at most that of the other samples is,
# and at most this share of random sets of so many samples has as many of it.
MOSTLY = 0.9
OTHERS = 0.5
CHANCE = 0.01
LEAST_SAMPLES = 2


def check_batch(batch: ArrayLike, X: Any) -> tuple[np.ndarray, pd.Index]:
    """Check the batch of each sample; return its number, (n_samples,), and the batches' names."""
    if issparse(X) or isinstance(X, FeatureMatrix):
        raise TypeError(
            f"batch: X is of type {type(X).__name__}, and centring within batches would fill it: "
            "give X as a NumPy array or a pandas DataFrame."
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
            f"batch {names[sizes.argmin()]!r} has {sizes.min()} sample; should have >= "
            f"{LEAST_SAMPLES}: centring would leave nothing of it. Merge it with another batch."
        )
    return codes, names


def centre_within(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Give every batch the means of all samples, (n_samples, n_features)."""
    X = np.asarray(X)
    X = X if X.dtype == np.float32 else X.astype(np.float64)
    centred = X.copy()
    # Of what is observed; a batch may lack all values of a feature.
    average = np.nanmean if np.isnan(X).any() else np.mean
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        everyone = average(X, axis=0, dtype=np.float64)
        for code in range(int(codes.max()) + 1):
            own = codes == code
            centred[own] -= average(X[own], axis=0, dtype=np.float64) - everyone
    return centred


def centre_batches(data: ScaledData) -> ScaledData:
    """Return z-scores of values that are centred within the batches of their description."""
    codes, _ = check_batch(data.about.batch, data.X)
    centred = replace(data, X=centre_within(data.X, codes))
    return centred.standardise_by(np.arange(len(codes)))


def compare_batches(estimator: Any, X: Any, batch: ArrayLike, **given: Any) -> None:
    """Fit a copy of a fitted estimator to X centred within batches; set and say what differs.

    The attributes are described in `SparseKMeans`. `given` are the other arguments of `fit`.
    """
    codes, names = check_batch(batch, X)
    centred: Any = centre_within(X, codes)
    if isinstance(X, pd.DataFrame):
        centred = pd.DataFrame(centred, X.index, X.columns)
    estimator.batch_centred_ = clone(estimator).fit(centred, **given)
    labels, others = np.asarray(estimator.labels_), estimator.batch_centred_.labels_
    # Samples that are set aside are in no cluster.
    inside = labels >= 0
    counts = np.zeros((int(labels.max()) + 1, len(names)), np.int64)
    np.add.at(counts, (labels[inside], codes[inside]), 1)
    both = inside & (others >= 0)
    estimator.batch_agreement_ = float(adjusted_rand_score(labels[both], others[both]))
    shares = pd.DataFrame(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), columns=names)
    shares = shares.rename_axis(index="cluster", columns="batch")
    estimator.batch_shares_ = shares.sort_index(axis=1, key=lambda batches: batches.astype(str))
    said = describe_batches(counts, names, estimator.batch_agreement_)
    if said:
        warnings.warn(said, UserWarning, stacklevel=3)


def clusters_of_batches(counts: np.ndarray) -> list[tuple[int, int]]:
    """Return which clusters are a batch, or part of one, and which batch each is.

    `counts` (n_clusters, n_batches) are samples; see `MOSTLY`, `OTHERS` and `CHANCE`.
    """
    total, of_batch, of_cluster = counts.sum(), counts.sum(axis=0), counts.sum(axis=1)
    found = []
    for cluster, own in enumerate(counts):
        batch, size = int(own.argmax()), of_cluster[cluster]
        rest = of_batch[batch] - own[batch]
        if own[batch] >= MOSTLY * size and rest <= OTHERS * (total - size):
            chance = hypergeom.sf(own[batch] - 1, total, of_batch[batch], size)
            if chance <= CHANCE:
                found.append((cluster, batch))
    return found


def describe_batches(counts: np.ndarray, names: pd.Index, agreement: float) -> str:
    """Say which clusters are batches and whether the two answers disagree; empty if neither."""
    said = [
        f"cluster {cluster} is a batch: {counts[cluster, batch]} of its {counts[cluster].sum()} "
        f"samples are of batch {names[batch]!r}"
        for cluster, batch in clusters_of_batches(counts)
    ]
    if agreement < LEAST_AGREEMENT:
        said.append(
            "the answers with and without centring within batches agree with an adjusted Rand "
            f"index of {agreement:.2f} only (< {LEAST_AGREEMENT})"
        )
    if not said:
        return ""
    return (
        f"{'; '.join(said)}. labels_ are those of X as given, batch_centred_.labels_ those of X "
        "centred within batches. Where batches hold different classes, centring moves the classes."
    )
