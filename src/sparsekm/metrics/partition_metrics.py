"""Disagreement between a partition of the samples and a known one.

Pairs and contingency tables are counted by scikit-learn, in integers. Only the matching error forms
a dense table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from sparsekm.metrics.missing_values import mark_missing

MOST_CELLS = 25_000_000
"""Largest table of true by predicted clusters in which a matching is sought."""


def classification_error_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the share of sample pairs on which two partitions disagree (CER).

    Two partitions disagree on a pair of samples when one puts both into the same cluster and the
    other does not. CER is one minus the Rand index: symmetric, and blind to the clusters' names.

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
        are fewer than two samples, hence no pair.

    References
    ----------
    .. [1] H. Chipman and R. Tibshirani (2006). Hybrid hierarchical clustering with applications
       to microarray data. Biostatistics 7(2), 286-301. https://doi.org/10.1093/biostatistics/kxj007

    Examples
    --------
    >>> classification_error_rate(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.5
    """
    pairs = pair_confusion_matrix(*_paired_codes(labels_true, labels_pred, min_samples=2))
    return float((pairs[0, 1] + pairs[1, 0]) / pairs.sum())


def chance_error_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the mean CER of all partitions with the cluster sizes of `labels_pred`.

    Examples
    --------
    >>> round(chance_error_rate(["a", "a", "b", "b"], [0, 0, 0, 1]), 6)
    0.5
    """
    pairs = pair_confusion_matrix(*_paired_codes(labels_true, labels_pred, min_samples=2))
    together = [pairs[1].sum() / pairs.sum(), pairs[:, 1].sum() / pairs.sum()]
    return float(sum(together) - 2 * np.prod(together))


def chance_corrected_rates(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """Compare two partitions: CER, the CER of chance, ARI and AMI, by their short names."""
    codes = _paired_codes(labels_true, labels_pred, min_samples=2)
    return {
        "cer": classification_error_rate(*codes),
        "cer_chance": chance_error_rate(*codes),
        "ari": float(adjusted_rand_score(*codes)),
        "ami": float(adjusted_mutual_info_score(*codes)),
    }


def error_clustering_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute one minus the purity of a partition (ECR).

    The purity is the share of samples that belong to the commonest true cluster of their predicted
    cluster. It is not symmetric: splitting a true cluster costs nothing, merging two does.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        As in `classification_error_rate`.

    Returns
    -------
    float
        Between 0 (every predicted cluster lies within one true cluster) and 1, exclusive.

    Raises
    ------
    ValueError
        If the labels are not one-dimensional and of equal length, if one is missing, or if there
        is no sample.

    Examples
    --------
    >>> error_clustering_rate(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.25
    >>> error_clustering_rate(["a", "a", "b", "b"], [0, 1, 2, 3])
    0.0
    """
    codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    commonest = contingency_matrix(*codes, sparse=True).max(axis=0)
    n_samples = len(codes[0])
    return (n_samples - int(commonest.sum())) / n_samples


def matching_error_rate(labels_true, labels_pred) -> float:
    """Compute the share of samples outside their cluster under the best matching of clusters.

    Every predicted cluster is matched to at most one true cluster and every true one to at most one
    predicted, so that as many samples as possible lie in matched clusters. The others are errors:
    splitting a cluster costs as merging does. Symmetric, and blind to the clusters' names.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        As in `classification_error_rate`.

    Returns
    -------
    float
        Between 0 (the same partition) and 1, exclusive.

    Raises
    ------
    ValueError
        If the labels are not one-dimensional and of equal length, if one is missing, if there
        is no sample, or if the numbers of clusters multiply to more than 25,000,000.

    References
    ----------
    .. [1] D. F. Crouse (2016). On implementing 2D rectangular assignment algorithms. IEEE
       Transactions on Aerospace and Electronic Systems 52(4), 1679-1696.
       https://doi.org/10.1109/TAES.2016.140952

    Examples
    --------
    >>> matching_error_rate(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.25
    >>> matching_error_rate(["a", "a", "b", "b"], [0, 1, 2, 3])
    0.5
    """
    codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    counts = contingency_matrix(*codes, sparse=True)
    n_true, n_pred = counts.shape
    if n_true * n_pred > MOST_CELLS:
        raise ValueError(
            f"clusters of labels_true times those of labels_pred={n_true} x {n_pred} should be "
            f"<= {MOST_CELLS}."
        )
    table = counts.toarray()
    n_matched = int(table[linear_sum_assignment(table, maximize=True)].sum())
    n_samples = len(codes[0])
    return (n_samples - n_matched) / n_samples


def _paired_codes(labels_true, labels_pred, *, min_samples):
    true_codes = label_codes(labels_true, "labels_true")
    pred_codes = label_codes(labels_pred, "labels_pred")
    if len(true_codes) != len(pred_codes):
        raise ValueError(
            f"labels_true and labels_pred should have the same length, got {len(true_codes)} and "
            f"{len(pred_codes)}."
        )
    if len(true_codes) < min_samples:
        raise ValueError(f"n_samples={len(true_codes)} should be >= {min_samples}.")
    return true_codes, pred_codes


def label_codes(labels: ArrayLike, name: str) -> np.ndarray:
    """Replace labels by numbers 0, 1, ... in the order in which they appear; none may be missing.

    `name` is that of the argument. Returns int64 of shape (n_samples,).
    """
    labels = mark_missing(labels)
    if not isinstance(labels, np.ndarray | pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        # dtype=object, because without it [1, "1"] would turn into two equal strings.
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
