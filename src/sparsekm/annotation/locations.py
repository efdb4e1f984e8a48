"""Where a feature is highest: the group of samples with the largest mean, effect size and lead.

The effect size is Cohen's d of the group against all other samples: the difference of the two
means in units of their pooled standard deviation. The lead is how far the group's mean exceeds
that of the second-highest group, in the units of the data: a specific feature has a large one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from sparsekm.io.known_classes import is_known
from sparsekm.io.matrix_file import RowSource, row_blocks


class Highest(NamedTuple):
    """Where each feature is highest: arrays of shape (p,)."""

    group: np.ndarray
    effect: np.ndarray
    lead: np.ndarray


def find_highest(X: RowSource, codes: np.ndarray, n_groups: int) -> Highest:
    """Find the group in which each feature has its largest mean, its effect size and lead there.

    `X`, of shape (n, p), is read twice, in blocks of samples. `codes` are groups in
    ``range(n_groups)``, which may be empty; samples with code -1 are left out. Ties go to the
    lowest group. The effect is Cohen's d, at least 0, or NaN if the pooled standard deviation is
    not defined: all samples are in one group, or the feature is constant in both parts. A constant
    feature is highest in the first group. The lead is NaN if only one group has samples.

    Examples
    --------
    >>> found = find_highest(np.array([[0.0], [2.0], [9.0], [11.0]]), [0, 0, 1, 1], 2)
    >>> int(found.group[0]), round(float(found.effect[0]), 3), float(found.lead[0])
    (1, 6.364, 9.0)
    """
    codes = np.asarray(codes, dtype=np.intp)
    sizes = np.bincount(codes[codes >= 0], minlength=n_groups)
    sums, scale = np.zeros((n_groups, X.shape[1])), np.zeros(X.shape[1])
    for groups, block in _grouped_blocks(X, codes):
        for group in np.unique(groups):
            sums[group] += block[groups == group].sum(axis=0)
        np.maximum(scale, np.abs(block).max(axis=0), out=scale)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(sizes[:, None] > 0, sums / sizes[:, None], -np.inf)
        best = means.argmax(axis=0)
        inside = np.take_along_axis(means, best[None], axis=0)[0]
        other_sums = sums.sum(axis=0) - np.take_along_axis(sums, best[None], axis=0)[0]
        outside = other_sums / (sizes.sum() - sizes[best])
        squares = _sum_squares(X, codes, best, inside, outside)
        pooled = np.sqrt(squares / (sizes.sum() - 2))
        effect = (inside - outside) / pooled
    # For a constant feature, rounding can leave a small nonzero divisor.
    effect[~(pooled > 1e-12 * np.maximum(scale, np.finfo(float).tiny))] = np.nan
    np.put_along_axis(means, best[None], -np.inf, axis=0)
    second = means.max(axis=0)
    return Highest(best, effect, np.where(np.isfinite(second), inside - second, np.nan))


def _sum_squares(
    X: RowSource, codes: np.ndarray, best: np.ndarray, inside: np.ndarray, outside: np.ndarray
) -> np.ndarray:
    """Sum, for each feature, squared distances to the means inside and outside its best group."""
    squares = np.zeros(len(best))
    for groups, block in _grouped_blocks(X, codes):
        block -= np.where(groups[:, None] == best, inside, outside)
        squares += np.square(block, out=block).sum(axis=0)
    return squares


def _grouped_blocks(X: RowSource, codes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the groups and values of the samples that have a group, block by block."""
    for rows, block in row_blocks(X):
        grouped = codes[rows] >= 0
        if grouped.all():
            yield codes[rows], block
        elif grouped.any():
            yield codes[rows][grouped], block[grouped]


def locate_features(
    X: RowSource, clusters: np.ndarray, labels: np.ndarray | None = None
) -> pd.DataFrame:
    """Tabulate the cluster and the known class in which each feature is highest: effect and lead.

    Clusters are numbers in ``range(K)``; samples without a known class are left out of the classes.
    """
    clusters = np.asarray(clusters)
    highest, effect, lead = find_highest(X, clusters, int(clusters.max()) + 1)
    table = pd.DataFrame(
        {"highest_cluster": highest, "effect_cluster": effect, "lead_cluster": lead}
    )
    if labels is not None:
        known = is_known(labels)
        names, known_codes = np.unique(labels[known].astype(str), return_inverse=True)
        codes = np.full(len(labels), -1)
        codes[known] = known_codes
        highest, effect, lead = find_highest(X, codes, len(names))
        table["highest_label"] = names[highest].astype(object)
        table["effect_label"] = effect
        table["lead_label"] = lead
    return table
