"""Batches beside clusters: the answer with and without centring within batches.

Values of two batches can differ for technical reasons, and clusters can follow that. Subtracting
the means of each batch removes such differences, but where batches hold different classes it also
moves the classes. Neither answer is right in general, so both are given with how far they agree.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.stats import hypergeom
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from sparsekm.cluster.matrices.containers import StreamedMatrix
from sparsekm.cluster.matrices.matrix import CentredMatrix
from sparsekm.cluster.matrices.sparse_matrix import SparseMatrix
from sparsekm.metrics import label_codes

LEAST_AGREEMENT = 0.8
"""Answers that agree less by their adjusted Rand index are said to disagree."""
# A cluster is a batch if so many of its samples are of it, no more of the other samples are, and
# as many come together by chance at most so often.
MOSTLY = 0.9
OTHERS = 0.5
CHANCE = 0.01
LEAST_SAMPLES = 2


def check_batch(batch: ArrayLike, X: Any) -> tuple[np.ndarray, pd.Index]:
    """Check the batch of each sample; return its number, (n_samples,), and the batches' names.

    Raises
    ------
    TypeError
        If X is sparse or streamed: centring within batches would fill it.
    ValueError
        If `batch` is not one per sample, lacks a value, or has a single batch or a batch of a
        single sample.
    """
    if issparse(X) or isinstance(X, StreamedMatrix | SparseMatrix | CentredMatrix):
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


def compare_batches(estimator: Any, X: Any, batch: ArrayLike | None, **given: Any) -> None:
    """Fit a copy of a fitted estimator to X centred within batches; set and say what differs.

    These are set on the estimator: ``batch_centred_``, the copy; ``batch_agreement_``, the adjusted
    Rand index of its labels with those of the estimator; ``batch_shares_``, a DataFrame of
    (n_clusters, n_batches) with the share of each batch in each cluster. `given` are the other
    arguments of `fit`. Without batches, those of an earlier fit are removed.
    """
    if batch is None:
        for name in ("batch_centred_", "batch_agreement_", "batch_shares_"):
            estimator.__dict__.pop(name, None)
        return
    codes, names = check_batch(batch, X)
    centred: Any = centre_within(X, codes)
    if isinstance(X, pd.DataFrame):
        centred = pd.DataFrame(centred, X.index, X.columns)
    other = clone(estimator).fit(centred, **given)
    labels = np.asarray(estimator.labels_)
    # Samples that are set aside are in no cluster.
    inside = labels >= 0
    counts = np.zeros((int(labels.max()) + 1, len(names)), np.int64)
    np.add.at(counts, (labels[inside], codes[inside]), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    estimator.batch_centred_ = other
    both = inside & (other.labels_ >= 0)
    estimator.batch_agreement_ = float(adjusted_rand_score(labels[both], other.labels_[both]))
    table = pd.DataFrame(shares, columns=names).rename_axis(index="cluster", columns="batch")
    estimator.batch_shares_ = table.sort_index(axis=1, key=lambda batches: batches.astype(str))
    said = describe_batches(counts, names, estimator.batch_agreement_)
    if said:
        warnings.warn(said, UserWarning, stacklevel=3)


def clusters_of_batches(counts: np.ndarray) -> list[tuple[int, int]]:
    """Return which clusters are a batch, or part of one, and which batch each is.

    `counts` (n_clusters, n_batches) are samples. At least 90 % of the samples of the cluster and at
    most half of the others are of the batch, and at most one random set of samples of this size in
    a hundred has as many of it.
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
