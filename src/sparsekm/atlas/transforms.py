"""Transforms of expression energies before the z-score, in place; missing values stay missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsekm.atlas.quality_control import row_blocks


def transform_energies(X: np.ndarray, name: str) -> None:
    """Transform energies in place.

    Parameters
    ----------
    X : ndarray of float32 of shape (n_voxels, n_genes)
        Non-negative or NaN; overwritten.
    name : {"none", "log2"}
        ``log2`` is log2(x + 1).

    Raises
    ------
    ValueError
        If the transform is not known.
    """
    if name not in TRANSFORMS:
        raise ValueError(f"transform={name!r} should be one of {', '.join(TRANSFORMS)}.")
    TRANSFORMS[name](X)


def _leave(X: np.ndarray) -> None:
    """Leave energies as they are."""


def _take_log2(X: np.ndarray) -> None:
    for rows in row_blocks(X.shape):
        block = X[rows]
        np.log1p(block, out=block)
        block /= np.float32(np.log(2))


TRANSFORMS: dict[str, Callable[[np.ndarray], None]] = {"none": _leave, "log2": _take_log2}
"""Transforms by name; each maps 0 to 0, so that filling with zero may come before or after."""
