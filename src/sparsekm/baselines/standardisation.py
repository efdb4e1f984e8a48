"""Standardised features, dense or sparse, in the order in which the engine keeps them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.scatter import Block
from sparsekm.cluster.matrices.sparse_matrix import SparseBlock

AnyBlock = TypeVar("AnyBlock", np.ndarray, SparseBlock)


def feature_totals(block: Block, function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Sum a function of the centred values of every feature: (n_features,), float64."""
    if not isinstance(block, SparseBlock):
        return np.array([np.sum(function(column.astype(np.float64))) for column in block])
    rows, (n_features, n_samples) = block.rows, block.shape
    stored = function(rows.data - block.means[rows.indices])
    n_zeros = n_samples - np.bincount(rows.indices, minlength=n_features)
    zeros = n_zeros * function(block.means)
    return zeros + np.bincount(rows.indices, stored, minlength=n_features)


def standardise(block: AnyBlock, deviations: np.ndarray) -> AnyBlock:
    """Divide centred features by their standard deviations; the dtype stays."""
    scales = deviations.astype(block.dtype)
    if not isinstance(block, SparseBlock):
        return block / scales[:, None]
    rows = block.rows
    scaled = csr_array((rows.data / scales[rows.indices], rows.indices, rows.indptr), rows.shape)
    return SparseBlock(scaled, block.means / deviations)
