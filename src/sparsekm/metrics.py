"""How well a partition and a choice of features agree with known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import issparse
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix
from sklearn.utils.validation import check_consistent_length

__all__ = [
    "classification_error_rate",
    "error_clustering_rate",
    "matching_error_rate",
    "n_nonzero_weights",
    "proper_nonzero_weights",
    "proper_zero_weights",
]

MOST_CELLS = 25_000_000
"""Largest table of true by predicted clusters for which a matching is computed."""


def classification_error_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the share of sample pairs that one partition joins and the other does not (CER).

    CER is one minus the Rand index. It is symmetric, and does not depend on the names of clusters
    (Chipman & Tibshirani 2006, doi:10.1093/biostatistics/kxj007).

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Cluster of each sample: numbers, strings or any other hashable values, none missing.

    Returns
    -------
    float
        Between 0 (the same partition) and 1.

    Raises
    ------
    ValueError
        If the labels are not one-dimensional and of equal length, if one is missing, or if there
        are fewer than two samples and therefore no pair.

    Examples
    --------
    >>> classification_error_rate(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.5
    """
    pairs = pair_confusion_matrix(*_paired_codes(labels_true, labels_pred, min_samples=2))
    return float((pairs[0, 1] + pairs[1, 0]) / pairs.sum())


def chance_corrected_rates(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """Compare two partitions by CER, ARI and AMI; add the mean CER of random partitions."""
    codes = _paired_codes(labels_true, labels_pred, min_samples=2)
    pairs = pair_confusion_matrix(*codes)
    together = [pairs[1].sum() / pairs.sum(), pairs[:, 1].sum() / pairs.sum()]
    return {
        "cer": classification_error_rate(*codes),
        "cer_chance": float(sum(together) - 2 * np.prod(together)),
        "ari": float(adjusted_rand_score(*codes)),
        "ami": float(adjusted_mutual_info_score(*codes)),
    }


def error_clustering_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute one minus the purity of a partition (ECR).

    The purity is the share of samples whose true cluster is the most common one in their predicted
    cluster. The rate is not symmetric: splitting a true cluster costs nothing, but merging two
    does.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Cluster of each sample: numbers, strings or any other hashable values, none missing.

    Returns
    -------
    float
        At least 0 (every predicted cluster lies within one true cluster), and below 1.

    Raises
    ------
    ValueError
        If the labels are not one-dimensional and of equal length, or if one is missing.

    Examples
    --------
    >>> error_clustering_rate(["a", "a", "b", "b"], [0, 1, 2, 3])
    0.0
    """
    codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    commonest = contingency_matrix(*codes, sparse=True).max(axis=0)
    return (len(codes[0]) - int(commonest.sum())) / len(codes[0])


def matching_error_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the share of samples that are errors under the best matching of clusters.

    Clusters are matched one to one, so that as many samples as possible lie in matched clusters
    (Crouse 2016, doi:10.1109/TAES.2016.140952). The other samples are errors, so splitting a
    cluster costs as much as merging two. The rate is symmetric and ignores the clusters' names.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Cluster of each sample: numbers, strings or any other hashable values, none missing.

    Returns
    -------
    float
        At least 0 (the same partition), and below 1.

    Raises
    ------
    ValueError
        If the labels are not one-dimensional and of equal length, if one is missing, or if the
        product of the two numbers of clusters exceeds 25,000,000.

    Examples
    --------
    >>> matching_error_rate(["a", "a", "b", "b"], [0, 1, 2, 3])
    0.5
    """
    codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    counts = contingency_matrix(*codes, sparse=True)
    n_true, n_pred = counts.shape
    if n_true * n_pred > MOST_CELLS:
        raise ValueError(
            f"clusters of labels_true x clusters of labels_pred = {n_true} x {n_pred} should be "
            f"<= {MOST_CELLS}."
        )
    table = counts.toarray()
    n_matched = int(table[linear_sum_assignment(table, maximize=True)].sum())
    return (len(codes[0]) - n_matched) / len(codes[0])


def _paired_codes(labels_true, labels_pred, *, min_samples):
    true_codes = label_codes(labels_true, "labels_true")
    pred_codes = label_codes(labels_pred, "labels_pred")
    check_consistent_length(true_codes, pred_codes)
    if len(true_codes) < min_samples:
        raise ValueError(f"n_samples={len(true_codes)} should be >= {min_samples}.")
    return true_codes, pred_codes


def label_codes(labels: ArrayLike, name: str) -> np.ndarray:
    """Return numbers of labels, int64, from 0 by first appearance; messages call them `name`."""
    labels = mark_missing(labels)
    if not isinstance(labels, np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        # Without dtype=object, [1, "1"] would become two equal strings.
        labels = np.asarray(labels, dtype=object)
    if labels.ndim != 1:
        raise ValueError(f"{name} should be one-dimensional, got shape {labels.shape}.")
    codes, _ = pd.factorize(labels)
    missing = np.flatnonzero(codes < 0)
    if missing.size:
        raise ValueError(
            f"{name} should have no missing value, got {missing.size} (the first at position "
            f"{missing[0]})."
        )
    return codes.astype(np.int64)


def n_nonzero_weights(weights: ArrayLike) -> int:
    """Count the features kept (NW).

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        Feature weights; a boolean support counts as weights of one and zero.

    Returns
    -------
    int
        Number of weights different from zero.

    Raises
    ------
    ValueError
        If `weights` is not one-dimensional, not numeric, or holds NaN or infinity.

    Examples
    --------
    >>> n_nonzero_weights([0.0, 0.6, 0.8])
    2
    """
    return int(np.count_nonzero(_support(weights, "weights")))


def proper_zero_weights(true_support: ArrayLike, weights: ArrayLike) -> int:
    """Count the noise features that were dropped (PZW).

    Parameters
    ----------
    true_support : array-like of shape (n_features,)
        Whether each feature is relevant: booleans, or weights that are zero for irrelevant
        features. Not a list of indices.
    weights : array-like of shape (n_features,)
        Feature weights of the fit; a boolean support counts as weights of one and zero.

    Returns
    -------
    int
        Number of features that are not relevant and whose weight is zero.

    Raises
    ------
    ValueError
        If `true_support` or `weights` is not one-dimensional, not numeric, or contains NaN or
        infinity, or if their lengths differ.

    Examples
    --------
    >>> proper_zero_weights([True, True, False, False], [1.0, 0.0, 0.0, 1.0])
    1
    """
    relevant, kept = _paired_supports(true_support, weights)
    return int(np.count_nonzero(~relevant & ~kept))


def proper_nonzero_weights(true_support: ArrayLike, weights: ArrayLike) -> int:
    """Count the relevant features that were kept (PNW).

    Parameters
    ----------
    true_support : array-like of shape (n_features,)
        Whether each feature is relevant: booleans, or weights that are zero for irrelevant
        features. Not a list of indices.
    weights : array-like of shape (n_features,)
        Feature weights of the fit; a boolean support counts as weights of one and zero.

    Returns
    -------
    int
        Number of features that are relevant and whose weight is not zero.

    Raises
    ------
    ValueError
        If `true_support` or `weights` is not one-dimensional, not numeric, or contains NaN or
        infinity, or if their lengths differ.

    Examples
    --------
    >>> proper_nonzero_weights([True, True, False, False], [1.0, 0.5, 0.0, 1.0])
    2
    """
    relevant, kept = _paired_supports(true_support, weights)
    return int(np.count_nonzero(relevant & kept))


def _paired_supports(true_support, weights):
    relevant, kept = _support(true_support, "true_support"), _support(weights, "weights")
    check_consistent_length(relevant, kept)
    return relevant, kept


def _support(weights, name):
    values = np.asarray(mark_missing(weights))
    if values.ndim != 1:
        raise ValueError(f"{name} should be one-dimensional, got shape {values.shape}.")
    if values.dtype.kind not in "buif":
        raise ValueError(f"{name} should be boolean or numeric, got dtype {values.dtype}.")
    for position in np.flatnonzero(~np.isfinite(values))[:1]:
        raise ValueError(f"{name} should be finite, got {values[position]} at position {position}.")
    return values != 0


def mark_missing(values: Any) -> Any:
    """Return an argument with NaN for missing values, or with None if values are not numbers.

    Masked values are missing, also in a list of arrays or a sparse matrix. So are NA, NaT and None
    in columns of pandas, and the values that a sparse column of pandas does not store, except 0.
    """
    if isinstance(values, list | tuple) and any(isinstance(v, np.ma.MaskedArray) for v in values):
        values = np.ma.array([None if v is np.ma.masked else v for v in values])
    if isinstance(values, np.ma.MaskedArray):
        values = _fill(values)
    if issparse(values) and isinstance(getattr(values, "data", None), np.ma.MaskedArray):
        values, stored = values.copy(), values.data
        values.data = _fill(stored)
    elif isinstance(values, pd.DataFrame):
        kinds = list(values.dtypes)
        if all(isinstance(kind, pd.SparseDtype) for kind in kinds):
            zeros = all(kind.fill_value == 0 for kind in kinds)
            return values if zeros else values.sparse.to_dense()
        if any(kind.kind in "OmM" for kind in kinds) and (missing := values.isna()).any(axis=None):
            marked = np.where(missing, np.nan, values.to_numpy(dtype=object))
            return pd.DataFrame(marked, values.index, values.columns)
    elif isinstance(values, np.ndarray) and values.dtype.kind in "OmM":
        missing = pd.isna(values)
        return np.where(missing, np.nan, values.astype(object)) if missing.any() else values
    return values


def _fill(values: np.ma.MaskedArray) -> np.ndarray:
    if not np.ma.is_masked(values):
        return np.ma.getdata(values)
    if values.dtype.kind in "fbiu":
        kind = values.dtype if values.dtype.kind == "f" else np.float64
        return np.ma.filled(values.astype(kind), np.nan)
    filled = np.ma.getdata(values).astype(object)
    filled[np.ma.getmaskarray(values)] = None
    return filled
