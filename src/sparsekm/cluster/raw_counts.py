"""Whether values are raw counts, which should be normalised before clustering.

Ratings, questionnaires, genotypes and images are also whole numbers, but on one scale: most of
their features come near the top of the scale. Counts of RNA, species or words differ by orders of
magnitude from feature to feature. Counts are raw if the totals of samples differ by more than
chance. If only one of the two signs is present, the case is doubtful.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.stats import chi2

# Fewer features are a panel, whose totals have a meaning.
FEWEST_FEATURES = 200
# A few features, such as a person's age, may have another scale than the others. Therefore the top
# is the largest value after leaving out this share of the features.
OF_OTHER_SCALE = 0.05
# The share of the features that reach half of the top is at most 0.3 in simulated counts whose
# means differ, and 1 in questionnaires and images. A larger share than this means one scale.
SURELY_COUNTS, OF_ONE_SCALE, SURELY_ONE_SCALE = 0.3, 0.5, 0.9
# The largest probability that samples of one depth are taken for samples of several depths.
CHANCE = 1e-4
CELLS_AT_ONCE = 2**18
WARNING = (
    "X looks like raw counts: whole numbers >= 0 whose totals differ from sample to sample. The "
    "totals and a few large values would dominate the result. Normalise and log-transform first: "
    "np.log1p(X / X.sum(axis=1, keepdims=True) * 1e4), or scanpy.pp.normalize_total and "
    "scanpy.pp.log1p. If a layer of an AnnData already holds the transformed values, pass its "
    "name: sparsekm.tl.sparse_kmeans(adata, layer=...)."
)


class Judgement(NamedTuple):
    """Whether values are raw counts, and whether this is certain."""

    are_counts: bool
    is_sure: bool


def judge_counts(blocks: Iterable[np.ndarray | csr_array]) -> Judgement:
    """Judge whether blocks of rows are raw counts; missing values are left out.

    The square roots of counts have about the same variance for any mean, so no single feature
    decides. If samples have one depth, the variance of their sums is about the sum of the
    variances.
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
    # Without features, the mean would be undefined.
    top = top[top > 0] if top.any() else np.ones(1)
    near = np.mean(2 * top >= np.quantile(top, 1 - OF_OTHER_SCALE))
    differ = between > chi2.isf(CHANCE, n_samples - 1) * within
    are_counts = bool(differ and near <= OF_ONE_SCALE)
    is_sure = near <= SURELY_COUNTS if are_counts else near > SURELY_ONE_SCALE
    return Judgement(are_counts, bool(is_sure))


def warn_of_raw_counts(X: np.ndarray | csr_array) -> None:
    """Warn the caller of an estimator's `fit` if X holds raw counts."""
    height = max(1, CELLS_AT_ONCE // X.shape[1])
    blocks = (X[start : start + height] for start in range(0, X.shape[0], height))
    if judge_counts(blocks).are_counts:
        warnings.warn(WARNING, UserWarning, stacklevel=3)
