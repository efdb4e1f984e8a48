"""What all data go through before they are read: indices are checked, and masks are no values."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.metrics.missing_values import mark_missing


def as_readable(X: Any) -> Any:
    """Return data for scikit-learn's checks, which follow indices and drop masks.

    Every array of a user's is given to this function before anything else reads it.

    Raises
    ------
    ValueError
        As `check_indices`.
    """
    check_indices(X)
    return mark_missing(X)


def check_indices(X: Any) -> None:
    """Check that the indices of a CSR or CSC matrix lie within its shape; pass anything else.

    Raises
    ------
    ValueError
        If some lie outside, or the rows or columns do not divide the stored values.
    """
    if not issparse(X) or X.format not in ("csr", "csc"):
        return
    by_rows = X.format == "csr"
    n_lines, n_places = X.shape if by_rows else X.shape[::-1]
    n_stored = min(len(X.indices), len(X.data))
    starts = X.indptr
    rises = len(starts) == n_lines + 1 and starts[0] == 0 and not (np.diff(starts) < 0).any()
    if not rises or starts[-1] > n_stored:
        raise ValueError(
            f"X.indptr should rise from 0 to at most the number of stored values, {n_stored}, in "
            f"{n_lines + 1} steps of the {X.format.upper()} format."
        )
    used = X.indices[: starts[-1]]
    if len(used) and (used.min() < 0 or used.max() >= n_places):
        wrong = used.min() if used.min() < 0 else used.max()
        raise ValueError(
            f"X.indices holds {wrong}; should be >= 0 and < "
            f"{'n_features' if by_rows else 'n_samples'}={n_places}."
        )


def in_canonical_format(X: Any) -> np.ndarray | csr_array:
    """Return checked data, a CSR or CSC matrix as a csr_array, sorted and without duplicates.

    Nothing is copied that is so already, and nothing of the caller's is changed.
    """
    if not issparse(X):
        return X
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy() if rows is X else rows
        rows.sum_duplicates()
    return csr_array((rows.data, rows.indices, rows.indptr), rows.shape)
