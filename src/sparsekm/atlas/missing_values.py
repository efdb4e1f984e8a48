"""Put values where no section covers a voxel. Missing values never enter a mean."""

from __future__ import annotations

import numpy as np

from sparsekm.atlas.quality_control import row_blocks

FILLS = ("none", "zero", "gene_mean", "region_mean")


def fill_missing(X: np.ndarray, method: str, regions: np.ndarray) -> int:
    """Fill the NaN of X (n_voxels, n_genes; float32) in place, and tell how many there were.

    ``none`` leaves them, ``zero`` and ``gene_mean`` are what they say. ``region_mean`` is the
    gene's mean over the voxels of the same region that have data, and its mean over all where the
    region has none. `regions`, of shape (n_voxels,), may be of any type that compares.
    """
    if method not in FILLS:
        raise ValueError(f"fill={method!r} should be one of {', '.join(FILLS)}.")
    n_missing = sum(int(np.isnan(X[rows]).sum()) for rows in row_blocks(X.shape))
    if method == "none" or not n_missing:
        return n_missing
    if method == "zero":
        for rows in row_blocks(X.shape):
            np.nan_to_num(X[rows], copy=False, nan=0.0)
        return n_missing
    _, code = np.unique(regions, return_inverse=True)
    if method == "gene_mean":
        code = np.zeros(len(X), dtype=np.int64)
    means = _group_means(X, code)
    for rows in row_blocks(X.shape):
        block = X[rows]
        at_row, at_column = np.nonzero(np.isnan(block))
        block[at_row, at_column] = means[code[rows][at_row], at_column]
    return n_missing


def _group_means(X: np.ndarray, code: np.ndarray) -> np.ndarray:
    """Means over measured values, of shape (n_groups, n_genes)."""
    n_groups = int(code.max()) + 1
    total = np.zeros((n_groups, X.shape[1]))
    measured = np.zeros((n_groups, X.shape[1]), dtype=np.int64)
    for rows in row_blocks(X.shape):
        valid = ~np.isnan(X[rows])
        values = np.where(valid, X[rows], 0)
        for group in np.unique(code[rows]):
            members = code[rows] == group
            total[group] += values[members].sum(axis=0, dtype=np.float64)
            measured[group] += valid[members].sum(axis=0)
    everywhere = measured.sum(axis=0)
    if not everywhere.all():
        raise ValueError(
            f"gene at column {int(np.argmin(everywhere))} should have a measured value."
        )
    overall = total.sum(axis=0) / everywhere
    return np.where(measured > 0, total / np.maximum(measured, 1), overall)
