"""Normalisation of a user's matrix before clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.pipeline.raw_counts import log_counts
from sparsekm.pipeline.zscore import zscore

NORMALISATIONS = ("zscore", "counts", "none")


@dataclass(frozen=True)
class Normalised:
    """A matrix of n samples and p features, ready to be clustered.

    `kept` marks its features among those of the raw matrix. `dropped` names the constant features,
    which have no z-score and cannot separate clusters.
    """

    X: np.ndarray
    kept: np.ndarray
    dropped: list[str]


def normalise(raw: RawMatrix, how: str = "zscore") -> Normalised:
    """Normalise a matrix in place.

    "zscore" gives each feature mean 0 and standard deviation 1 (ddof = 1) and drops constant
    features; "counts" does the same after `log_counts`; "none" leaves the values as they are.
    """
    if how not in NORMALISATIONS:
        raise ValueError(f"normalise={how!r} should be one of {list(NORMALISATIONS)}.")
    if how == "counts":
        log_counts(raw)
    X = raw.X
    if how == "none":
        X += raw.offset.astype(np.float32)
        kept = np.ones(X.shape[1], dtype=bool)
        varies = bool((X != X[0]).any())
    else:
        kept = ~zscore(X, raw.offset)
        varies = bool(kept.any())
    if not varies:
        raise MatrixError(f"all n_features={X.shape[1]} are constant; at least one should vary.")
    dropped = [name for name, keep in zip(raw.features, kept, strict=True) if not keep]
    return Normalised(X=X[:, kept] if dropped else X, kept=kept, dropped=dropped)
