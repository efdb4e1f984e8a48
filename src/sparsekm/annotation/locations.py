"""Where a feature is highest: the group of samples with the largest mean, and by how much.

The effect size is Cohen's d of the group against all other samples: the difference of the two
means in units of their pooled standard deviation.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sparsekm.annotation.known_classes import is_known

_COLUMNS_AT_ONCE = 512


def find_highest(X: np.ndarray, codes: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the group in which each feature has its largest mean.

    Parameters
    ----------
    X : array of shape (n, p)
    codes : int array of shape (n,)
        Groups in ``range(n_groups)``; one may have no samples.
    n_groups : int

    Returns
    -------
    group : int64 array of shape (p,)
        Ties go to the lowest group.
    effect : float64 array of shape (p,)
        Cohen's d, at least 0. NaN where no spread is left to compare with: all samples are in one
        group, or the feature is constant in both parts. A constant feature is highest in the first
        group.

    Examples
    --------
    >>> group, effect = find_highest(np.array([[0.0], [2.0], [9.0], [11.0]]), [0, 0, 1, 1], 2)
    >>> int(group[0]), round(float(effect[0]), 3)
    (1, 6.364)
    """
    X, codes = np.asarray(X), np.asarray(codes, dtype=np.intp)
    member = np.zeros((n_groups, len(codes)))
    member[codes, np.arange(len(codes))] = 1
    groups, effects = np.empty(X.shape[1], np.int64), np.empty(X.shape[1])
    for start in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        part = slice(start, start + _COLUMNS_AT_ONCE)
        groups[part], effects[part] = _find_highest(X[:, part].astype(np.float64), member)
    return groups, effects


def _find_highest(X: np.ndarray, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n_samples, sizes = len(X), member.sum(axis=1)
    # Sums run over samples in their order (einsum, not BLAS): the same bits for any threads.
    sums = np.einsum("gn,np->gp", member, X, optimize=False)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(sizes[:, None] > 0, sums / sizes[:, None], -np.inf)
        best = means.argmax(axis=0)
        columns = np.arange(X.shape[1])
        size, inside = sizes[best], means[best, columns]
        outside = (X.sum(axis=0) - sums[best, columns]) / (n_samples - size)
        within = member[best].T.astype(bool)
        residual = np.where(within, X - inside, X - outside)
        pooled = np.sqrt(np.square(residual).sum(axis=0) / (n_samples - 2))
        effect = (inside - outside) / pooled
    scale = np.maximum(np.abs(X).max(axis=0), np.finfo(float).tiny)
    # Of a constant, rounding leaves something to divide by.
    effect[~(pooled > 1e-12 * scale)] = np.nan
    return best, effect


def locate_features(
    X: np.ndarray, clusters: np.ndarray, labels: np.ndarray | None = None
) -> pd.DataFrame:
    """Tabulate in which cluster, and in which known class, each feature is highest.

    Parameters
    ----------
    X : array of shape (n, p)
    clusters : int array of shape (n,)
        Labels in ``range(K)``.
    labels : array of str, shape (n,), optional
        Known classes, as the regions of an atlas. Samples without one are left out.

    Returns
    -------
    table : DataFrame of p rows
        Columns ``highest_cluster`` and ``effect_cluster``, and where labels are known
        ``highest_label`` and ``effect_label``.
    """
    clusters = np.asarray(clusters)
    highest, effect = find_highest(X, clusters, int(clusters.max()) + 1)
    table = pd.DataFrame({"highest_cluster": highest, "effect_cluster": effect})
    if labels is not None:
        known = is_known(labels)
        names, codes = np.unique(np.asarray(labels)[known].astype(str), return_inverse=True)
        highest, effect = find_highest(X if known.all() else X[known], codes, len(names))
        table["highest_label"] = names[highest].astype(object)
        table["effect_label"] = effect
    return table
