"""Standardised features, dense or sparse, in the order in which the engine keeps them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsekm.cluster.matrices.scatter import Block
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock


def feature_totals(block: Block, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Sum a function of the centred values of every feature: (n_features,), float64."""
    if not isinstance(block, SparseBlock):
        return np.array([np.sum(function(column.astype(np.float64))) for column in block])
    rows, (n_features, n_samples) = block.rows, block.shape
    stored = function(rows.data - block.means[rows.indices])
    n_zeros = n_samples - np.bincount(rows.indices, minlength=n_features)
    zeros = n_zeros * function(block.means)
    return zeros + np.bincount(rows.indices, stored, minlength=n_features)


def standardise(block: Block, deviations: np.ndarray) -> Block:
    """Divide centred features by their standard deviations; the dtype stays."""
    if isinstance(block, SparseBlock):
        return block.divide(deviations)
    return block / deviations.astype(block.dtype)[:, None]
