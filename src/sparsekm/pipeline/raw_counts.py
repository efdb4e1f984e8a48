"""Raw counts from sequencing: how to detect and to transform them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.pipeline.variable_features import most_variable
from sparsekm.pipeline.zscore import stored_parts

_LARGE_COUNT = 30
"""Larger values suggest counts: genotypes, scores and small ranks are whole numbers too."""

_CELLS_AT_ONCE = 2**22


def remark_on_counts(raw: RawMatrix, normalise: str) -> list[str]:
    """Return a remark if raw counts would not be normalised as counts."""
    if normalise == "counts" or _largest_count(raw) <= _LARGE_COUNT:
        return []
    return [
        f"all values are whole numbers >= 0, the largest above {_LARGE_COUNT}: they look like raw "
        "counts, where a few large values and the sequencing depth would dominate the result. "
        "Set normalise: counts to divide each sample by its total and take logarithms first."
    ]


def log_counts(raw: RawMatrix) -> None:
    """Transform counts to ``log(1 + count / total * median total)``, in place.

    The total is the sum of a sample over all features, and the median is over all samples. Negative
    values, and samples without counts, are refused.
    """
    X = raw.X
    if not issparse(X):
        X += raw.offset.astype(np.float32)
        raw.offset = np.zeros_like(raw.offset)
    if X.min() < 0:
        raise MatrixError(
            f"normalise: counts requires values >= 0; the smallest is {X.min()}. Set normalise: "
            "zscore if the values are not counts, or already log-transformed."
        )
    totals = _totals(X)
    if not totals.all():
        raise MatrixError(
            f"normalise: counts requires a total > 0 for each sample; the total of sample "
            f"{np.flatnonzero(totals == 0)[0] + 1} is 0. Remove such samples from the file."
        )
    shares = (np.median(totals) / totals).astype(np.float32)
    if issparse(X):
        for (start, stop), share in zip(pairwise(X.indptr), shares, strict=True):
            X.data[start:stop] *= share
        np.log1p(X.data, out=X.data)
    else:
        X *= shares[:, np.newaxis]
        np.log1p(X, out=X)


def _totals(X: np.ndarray | csr_array) -> np.ndarray:
    if not issparse(X):
        return X.sum(axis=1, dtype=np.float64)
    rows = pairwise(X.indptr)
    return np.array([X.data[start:stop].sum(dtype=np.float64) for start, stop in rows])


def most_variable_counts(raw: RawMatrix, n_features: int) -> np.ndarray:
    """Return the `most_variable` features, ascending; values that are not counts are refused."""
    if _largest_count(raw) < 0:
        raise MatrixError(
            "n_top_features chooses by the variance of raw counts: all values should be whole "
            "numbers >= 0. Leave it out if they are already log-transformed."
        )
    X = raw.X if issparse(raw.X) else raw.X + raw.offset.astype(np.float32)
    return most_variable(X, n_features)


def _largest_count(raw: RawMatrix) -> float:
    """Return the largest value, or -1 if some value is negative or not a whole number."""
    largest = 0.0
    for values in _blocks(raw):
        if values.min() < 0 or (values != np.rint(values)).any():
            return -1.0
        largest = max(largest, float(values.max()))
    return largest


def _blocks(raw: RawMatrix) -> Iterator[np.ndarray]:
    """Yield the values in parts; of a sparse matrix those that are stored."""
    if issparse(raw.X):
        for part in stored_parts(raw.X):
            yield raw.X.data[part]
        return
    height = max(1, _CELLS_AT_ONCE // raw.X.shape[1])
    for start in range(0, len(raw.X), height):
        yield raw.X[start : start + height] + raw.offset
