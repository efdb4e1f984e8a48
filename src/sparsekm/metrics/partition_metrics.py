"""Disagreement between a partition of the samples and a known one.

All rates are read off the contingency table n_kk', the number of samples in cluster k of the known
partition and cluster k' of the other. Its occupied cells are counted in integers, so the only
rounding is that of the last division. Only the matching error forms the whole table.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

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
    true_codes, pred_codes = _paired_codes(labels_true, labels_pred, min_samples=2)
    _, _, cells = _occupied_cells(true_codes, pred_codes)
    # Ordered pairs together in just one partition: sum_k n_k^2 + sum_k' n_k'^2 - 2 sum n_kk'^2.
    n_disagreeing = (
        _sum_of_squares(np.bincount(true_codes))
        + _sum_of_squares(np.bincount(pred_codes))
        - 2 * _sum_of_squares(cells)
    )
    n_samples = len(true_codes)
    return n_disagreeing / (n_samples * (n_samples - 1))


def chance_error_rate(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Compute the mean CER of all partitions with the cluster sizes of `labels_pred`.

    Examples
    --------
    >>> round(chance_error_rate(["a", "a", "b", "b"], [0, 0, 0, 1]), 6)
    0.5
    """
    true_codes, pred_codes = _paired_codes(labels_true, labels_pred, min_samples=2)
    n_samples = len(true_codes)
    together = [
        (_sum_of_squares(np.bincount(codes)) - n_samples) / (n_samples * (n_samples - 1))
        for codes in (true_codes, pred_codes)
    ]
    return float(sum(together) - 2 * np.prod(together))


def adjusted_rand_index(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Correct the Rand index for chance: one minus the CER over `chance_error_rate` (ARI).

    It is 1 for the same partition and 0 on average for partitions with these cluster sizes.

    Examples
    --------
    >>> adjusted_rand_index(["a", "a", "b", "b"], [0, 0, 1, 1])
    1.0
    >>> round(adjusted_rand_index(["a", "a", "b", "b"], [0, 1, 0, 1]), 6)
    -0.5
    """
    error = classification_error_rate(labels_true, labels_pred)
    # Without an error by chance there is but one partition of these sizes.
    return 1 - error / chance_error_rate(labels_true, labels_pred) if error else 1.0


def adjusted_mutual_information(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """Correct the mutual information of two partitions for chance (AMI).

    It is 1 for the same partition and 0 on average for partitions with these cluster sizes. The
    information is divided by the mean of the two entropies, as in scikit-learn [1]_.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey (2009). Information theoretic measures for clusterings
       comparison: is a correction for chance necessary? Proceedings of the 26th International
       Conference on Machine Learning, 1073-1080. https://doi.org/10.1145/1553374.1553511

    Examples
    --------
    >>> adjusted_mutual_information(["a", "a", "b", "b"], [0, 0, 1, 1])
    1.0
    >>> round(adjusted_mutual_information(["a", "a", "b", "b"], [0, 1, 0, 1]), 6)
    -0.5
    """
    true_codes, pred_codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    _, _, cells = _occupied_cells(true_codes, pred_codes)
    sizes = np.bincount(true_codes), np.bincount(pred_codes)
    if len(sizes[0]) == len(sizes[1]) == len(cells):
        return 1.0
    entropies = [_entropy(counts) for counts in sizes]
    information = sum(entropies) - _entropy(cells)
    expected = _expected_information(*sizes)
    return float((information - expected) / (np.mean(entropies) - expected))


def chance_corrected_rates(labels_true: ArrayLike, labels_pred: ArrayLike) -> dict[str, float]:
    """Compare two partitions: CER, the CER of chance, ARI and AMI, by their short names."""
    return {
        "cer": classification_error_rate(labels_true, labels_pred),
        "cer_chance": chance_error_rate(labels_true, labels_pred),
        "ari": adjusted_rand_index(labels_true, labels_pred),
        "ami": adjusted_mutual_information(labels_true, labels_pred),
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
    true_codes, pred_codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    _, pred_clusters, cells = _occupied_cells(true_codes, pred_codes)
    commonest = np.zeros(pred_codes.max() + 1, dtype=np.int64)
    np.maximum.at(commonest, pred_clusters, cells)
    n_samples = len(true_codes)
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
    true_codes, pred_codes = _paired_codes(labels_true, labels_pred, min_samples=1)
    shape = int(true_codes.max()) + 1, int(pred_codes.max()) + 1
    if shape[0] * shape[1] > MOST_CELLS:
        raise ValueError(
            f"clusters of labels_true times those of labels_pred={shape[0]} x {shape[1]} should be "
            f"<= {MOST_CELLS}."
        )
    true_clusters, pred_clusters, cells = _occupied_cells(true_codes, pred_codes)
    table = np.zeros(shape, dtype=np.int64)
    table[true_clusters, pred_clusters] = cells
    n_matched = int(table[linear_sum_assignment(table, maximize=True)].sum())
    n_samples = len(true_codes)
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


def _occupied_cells(true_codes, pred_codes):
    """Row, column and count of the contingency table's occupied cells."""
    n_pred = int(pred_codes.max()) + 1
    cells, counts = np.unique(true_codes * n_pred + pred_codes, return_counts=True)
    return cells // n_pred, cells % n_pred, counts


def _sum_of_squares(counts):
    counts = counts.astype(np.int64)
    return int(np.dot(counts, counts))


def _entropy(counts):
    shares = counts / counts.sum()
    return -float(np.dot(shares, np.log(shares)))


def _expected_information(true_sizes, pred_sizes):
    """Return the mean mutual information of all pairs of partitions with these cluster sizes."""
    n_samples = int(true_sizes.sum())
    log_factorials = gammaln(np.arange(n_samples + 1) + 1.0)
    expected = 0.0
    # Clusters of the same size share their terms: at most sqrt(2 n) sizes differ.
    for true_size, n_true in zip(*np.unique(true_sizes, return_counts=True), strict=True):
        for size, n_pred in zip(*np.unique(pred_sizes, return_counts=True), strict=True):
            # The samples that two clusters have in common follow a hypergeometric distribution.
            common = np.arange(max(1, true_size + size - n_samples), min(true_size, size) + 1)
            given = [true_size, size, n_samples - true_size, n_samples - size]
            drawn = [common, true_size - common, size - common]
            drawn.append(n_samples - true_size - size + common)
            log_share = log_factorials[given].sum() - log_factorials[n_samples]
            for counts in drawn:
                log_share = log_share - log_factorials[counts]
            information = common / n_samples * np.log(n_samples * common / (true_size * size))
            expected += n_true * n_pred * float(np.dot(np.exp(log_share), information))
    return expected
