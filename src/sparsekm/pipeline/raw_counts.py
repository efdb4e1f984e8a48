"""Raw counts, as sequencing gives them: how they are told, and what they need first."""

from __future__ import annotations

import numpy as np

from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix

_LARGE_COUNT = 30
"""Genotypes, scores and ranks of a few are whole numbers as well, but smaller."""

_CELLS_AT_ONCE = 2**22


def remark_on_counts(raw: RawMatrix, normalise: str) -> list[str]:
    """List what is to be said where raw counts would be normalised otherwise."""
    if normalise == "counts" or not _are_counts(raw):
        return []
    return [
        f"all values are whole numbers of 0 and above, the largest above {_LARGE_COUNT}: they look "
        "like raw counts, which a few large values and the depth of sequencing would decide about. "
        "Set normalise: counts to divide each sample by its total and take logarithms first."
    ]


def log_counts(raw: RawMatrix) -> None:
    """Turn counts into ``log(1 + count / total * median total)``, in place.

    The total is a sample's sum over all features, the median that over all samples. Negative
    values, and samples without counts, are refused.
    """
    X = raw.X
    X += raw.offset.astype(np.float32)
    raw.offset = np.zeros_like(raw.offset)
    if X.min() < 0:
        raise MatrixError(
            f"normalise: counts needs values of 0 and above; the smallest is {X.min()}. Set "
            "normalise: zscore where values are no counts, or logarithms already."
        )
    totals = X.sum(axis=1, dtype=np.float64)
    if not totals.all():
        raise MatrixError(
            f"normalise: counts needs samples with counts; the total of sample "
            f"{np.flatnonzero(totals == 0)[0] + 1} is 0. Leave such samples out of the file."
        )
    X *= (np.median(totals) / totals).astype(np.float32)[:, np.newaxis]
    np.log1p(X, out=X)


def _are_counts(raw: RawMatrix) -> bool:
    height = max(1, _CELLS_AT_ONCE // raw.X.shape[1])
    largest = 0.0
    for start in range(0, len(raw.X), height):
        values = raw.X[start : start + height] + raw.offset
        if values.min() < 0 or (values != np.rint(values)).any():
            return False
        largest = max(largest, float(values.max()))
    return largest > _LARGE_COUNT
