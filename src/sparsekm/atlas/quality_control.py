"""Quality control: which genes and voxels have enough data to be kept.

Both shares of missing values are computed on the full matrix, so that the result does not depend on
which is dropped first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_CELLS_AT_ONCE = 2**19


@dataclass(frozen=True)
class Screening:
    """Result of the screening."""

    voxels: np.ndarray  # (n_voxels,), bool: kept rows
    genes: np.ndarray  # (n_genes,), bool: kept columns: enough data, and not constant
    # (n_genes,), bool: genes with enough data whose measured values do not vary over the kept
    # voxels.
    constant: np.ndarray
    voxel_missing: np.ndarray  # (n_voxels,): share of genes without data
    gene_missing: np.ndarray  # (n_genes,): share of voxels without data
    max_missing_per_gene: float  # the threshold

    def reasons(self) -> np.ndarray:
        """Return why each gene is not kept: "missing", "constant", or "" if it passes."""
        missing = self.gene_missing >= self.max_missing_per_gene
        return np.select([missing, self.constant], ["missing", "constant"], "").astype(object)


def screen_expression(
    X: np.ndarray, *, max_missing_per_gene: float = 0.3, max_missing_per_voxel: float = 0.3
) -> Screening:
    """Find the genes and voxels whose share of missing values is below the thresholds.

    X has shape (n_voxels, n_genes), with NaN for missing values. Thresholds are in (0, 1]; a share
    equal to the threshold is too large.
    """
    for name, value in (
        ("max_missing_per_gene", max_missing_per_gene),
        ("max_missing_per_voxel", max_missing_per_voxel),
    ):
        if not 0 < value <= 1:
            raise ValueError(f"{name}={value} should be > 0 and <= 1.")
    missing_in_gene = np.zeros(X.shape[1], dtype=np.int64)
    missing_in_voxel = np.zeros(X.shape[0], dtype=np.int64)
    for rows in row_blocks(X.shape):
        missing = np.isnan(X[rows])
        missing_in_gene += missing.sum(axis=0)
        missing_in_voxel[rows] = missing.sum(axis=1)
    gene_missing = missing_in_gene / X.shape[0]
    voxel_missing = missing_in_voxel / X.shape[1]
    voxels = voxel_missing < max_missing_per_voxel
    enough = gene_missing < max_missing_per_gene
    constant = enough & ~_varies(X, voxels)
    genes = enough & ~constant
    if not voxels.any() or not genes.any():
        raise ValueError(
            f"n_voxels={voxels.sum()} and n_genes={genes.sum()} after quality control should be "
            f">= 1 with max_missing_per_gene={max_missing_per_gene} and "
            f"max_missing_per_voxel={max_missing_per_voxel}."
        )
    return Screening(voxels, genes, constant, voxel_missing, gene_missing, max_missing_per_gene)


def row_blocks(shape: tuple[int, int]) -> list[slice]:
    """Divide the rows of a matrix into blocks that limit the memory of a step."""
    n_rows, n_columns = shape
    step = max(1, _CELLS_AT_ONCE // max(1, n_columns))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def take_submatrix(X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Copy the kept rows and columns as float32, without an intermediate copy."""
    row_index, column_index = np.flatnonzero(rows), np.flatnonzero(columns)
    taken = np.empty((len(row_index), len(column_index)), dtype=np.float32)
    for block in row_blocks(taken.shape):
        taken[block] = X[np.ix_(row_index[block], column_index)]
    return taken


def drop_columns(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Drop columns of a C-contiguous matrix in place, and return the result, which shares memory.

    `X` must not be used afterwards. `columns` is true for the columns to drop.
    """
    n_kept = int(np.count_nonzero(~columns))
    flat = X.reshape(-1)
    # Rows move towards the front and never overwrite rows that are still to be read.
    for rows in row_blocks(X.shape):
        kept = X[rows][:, ~columns]
        flat[rows.start * n_kept : rows.stop * n_kept] = kept.ravel()
    return flat[: len(X) * n_kept].reshape(len(X), n_kept)


def _varies(X: np.ndarray, voxels: np.ndarray) -> np.ndarray:
    """Return whether each gene has two different values among the kept voxels."""
    low = np.full(X.shape[1], np.inf)
    high = np.full(X.shape[1], -np.inf)
    for rows in row_blocks(X.shape):
        kept = X[rows][voxels[rows]]
        if len(kept):
            low = np.fmin(low, np.fmin.reduce(kept, axis=0))
            high = np.fmax(high, np.fmax.reduce(kept, axis=0))
    return high > low
