"""Default sparsities: a geometric grid between a handful of features and all of them."""

from __future__ import annotations

import numpy as np

from sparsekm.cluster.matrices.varying_features import VaryingFeatures
from sparsekm.cluster.validation import check_choice
from sparsekm.cluster.weight_step import PENALTIES, resolve_sparsities


def default_sparsities(penalty: str, n_features: int, n_sparsities: int = 10) -> np.ndarray:
    """Return a geometric grid of sparsities, ascending and distinct.

    For "l0" the grid runs from about sqrt(n_features) / 2 features to all of them, in whole
    numbers; for "l1" from a bound of 1.2 to sqrt(n_features), where the bound stops binding. It has
    `n_sparsities` values, or fewer if there are not as many distinct whole numbers.
    """
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    grid = np.geomspace(*step.grid_range(n_features), n_sparsities)
    return np.unique(np.rint(grid) if step.counts_features else grid)


def search_grid(penalty: str, sparsities, features: VaryingFeatures) -> np.ndarray:
    """Return the ascending grid of a search among the features that vary; None is the default.

    There constant features are left out, so more features than vary are those that vary.
    """
    step = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    n_varying = features.n_features - features.n_constant
    if sparsities is None:
        sparsities = default_sparsities(penalty, n_varying)
    grid = resolve_sparsities(penalty, sparsities, features.n_features, features.n_constant)
    return np.unique(np.minimum(grid, n_varying) if step.counts_features else grid)


def refined_sparsities(
    penalty: str, sparsities: np.ndarray, peak: int, n_refined: int
) -> np.ndarray:
    """Add `n_refined` sparsities between the neighbours of one of an ascending grid.

    They are fewer where they agree with others; numbers of features are whole.

    Examples
    --------
    >>> refined_sparsities("l0", np.array([100, 165, 272, 448]), 2, 4)
    array([100., 165., 201., 246., 272., 300., 367., 448.])
    """
    low, high = sparsities[max(peak - 1, 0)], sparsities[min(peak + 1, len(sparsities) - 1)]
    finer = np.geomspace(low, high, n_refined + 2)[1:-1]
    if PENALTIES[penalty].counts_features:
        finer = np.rint(finer)
    known = np.isclose(finer[:, None], sparsities).any(axis=1)
    return np.union1d(sparsities, finer[~known])
