"""Whether values are raw counts, which are to be normalised before they are clustered.

Ratings, questionnaires, genotypes and images are whole numbers, too, but of one scale: most of
their features come near its top. Counts of RNA, species or words differ by orders of magnitude from
feature to feature. What makes them raw is that the totals of samples differ by more than chance.
One sign without the other leaves a doubt.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import chi2

# Fewer features are a panel, whose totals mean something.
FEWEST_FEATURES = 200
# A few features, such as the age of who answers, may have another scale than all others: the top is
# the largest value of all but this share of the features.
OF_OTHER_SCALE = 0.05
# The share of the features that reach half of the top: of simulated counts 0.3 at most, if means
# are not nearly all alike; of answers and images 1. More than the middle one is one scale.
SURELY_COUNTS, OF_ONE_SCALE, SURELY_ONE_SCALE = 0.3, 0.5, 0.9
# Chance, at most, that samples of one depth are taken for samples of several.
CHANCE = 1e-4
CELLS_AT_ONCE = 2**18
WARNING = (
    "X looks like raw counts: whole numbers >= 0 whose totals differ from sample to sample. The "
    "totals and a few large values would dominate the result. Normalise and log-transform first: "
    "np.log1p(X / X.sum(axis=1, keepdims=True) * 1e4), or scanpy.pp.normalize_total and "
    "scanpy.pp.log1p; if a layer holds such values, name it (layer=)."
)


class Judgement(NamedTuple):
    """Whether values are raw counts, and whether that is beyond doubt."""

    are_counts: bool
    is_sure: bool


def judge_counts(blocks: Iterable[np.ndarray | csr_array]) -> Judgement:
    """Judge whether rows, in blocks, are raw counts; missing values are left out.

    The roots of counts vary alike whatever their mean, so no feature alone decides. Where samples
    have one depth, the variance of their sums is about the sum of the variances.
    """
    sums, top, of_roots, of_values = [], np.zeros(1), np.zeros(1), np.zeros(1)
    for block in blocks:
        values = block.data if issparse(block) else np.nan_to_num(block)
        if block.shape[1] < FEWEST_FEATURES or (values < 0).any() or (values % 1).any():
            return Judgement(are_counts=False, is_sure=True)
        counts = block.astype(np.float64) if issparse(block) else values.astype(np.float64)
        roots, largest = np.sqrt(counts), counts.max(axis=0)
        sums.append(roots.sum(axis=1))
        top = np.maximum(top, largest.toarray() if issparse(largest) else largest)
        of_roots, of_values = of_roots + roots.sum(axis=0), of_values + counts.sum(axis=0)
    of_samples = np.concatenate(sums)
    n_samples = len(of_samples)
    within = (of_values - of_roots**2 / n_samples).sum()
    between = (n_samples - 1) * np.square(of_samples - of_samples.mean()).sum()
    # Of no features at all, the mean would be undefined.
    top = top[top > 0] if top.any() else np.ones(1)
    near = np.mean(2 * top >= np.quantile(top, 1 - OF_OTHER_SCALE))
    differ = between > chi2.isf(CHANCE, n_samples - 1) * within
    are_counts = bool(differ and near <= OF_ONE_SCALE)
    is_sure = near <= SURELY_COUNTS if are_counts else near > SURELY_ONE_SCALE
    return Judgement(are_counts, bool(is_sure))


def warn_of_raw_counts(X: np.ndarray | csr_array) -> None:
    """Warn whoever called an estimator's `fit` if X holds raw counts."""
    height = max(1, CELLS_AT_ONCE // X.shape[1])
    blocks = (X[start : start + height] for start in range(0, X.shape[0], height))
    if judge_counts(blocks).are_counts:
        warnings.warn(WARNING, UserWarning, stacklevel=3)
