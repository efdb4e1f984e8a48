"""Normalisation of a user's matrix before clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse

from sparsekm.cluster.matrices.dense_parts import varying_features
from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.pipeline.raw_counts import log_counts, most_variable_counts
from sparsekm.pipeline.zscore import scale_stored, zscore

NORMALISATIONS = ("zscore", "counts", "none")


@dataclass(frozen=True)
class Normalised:
    """A matrix of n samples and p features, ready to be clustered.

    A sparse `X` is not centred: z-scores are X less `center`.
    `kept` marks its features among those of the raw matrix. `dropped` names the constant features,
    which have no z-score and cannot separate clusters. `n_filtered`
    counts the features that `n_top_features` left out.
    """

    X: np.ndarray | csr_array
    kept: np.ndarray
    dropped: list[str]
    n_filtered: int = 0
    center: np.ndarray | None = None


def normalise(raw: RawMatrix, how: str = "zscore", n_top_features: int | None = None) -> Normalised:
    """Normalise a matrix in place.

    "zscore" gives each feature mean 0 and standard deviation 1 (ddof = 1) and drops constant
    features; "counts" does the same after `log_counts`; "none" leaves the values as they are.
    With `n_top_features`, that many of the features of raw counts are kept, the `most_variable`
    ones; totals are of all features.
    """
    if how not in NORMALISATIONS:
        raise ValueError(f"normalise={how!r} should be one of {list(NORMALISATIONS)}.")
    n_features = raw.X.shape[1]
    filters = n_top_features is not None and n_top_features < n_features
    chosen = most_variable_counts(raw, n_top_features) if filters else np.arange(n_features)
    if how == "counts":
        log_counts(raw)
    X, offset = (raw.X[:, chosen], raw.offset[chosen]) if filters else (raw.X, raw.offset)
    kept, center = np.ones(X.shape[1], dtype=bool), None
    if how == "none":
        if issparse(X):
            center = np.zeros(X.shape[1])
        else:
            X += offset.astype(np.float32)
        varies = bool(varying_features(X).any())
    else:
        if issparse(X):
            constant, center = scale_stored(X)
        else:
            constant = zscore(X, offset)
        kept = ~constant
        varies = bool(kept.any())
    if not varies:
        raise MatrixError(f"all n_features={X.shape[1]} are constant; at least one should vary.")
    dropped = [raw.features[feature] for feature in chosen[~kept]]
    return Normalised(
        X=X[:, kept] if dropped else X,
        kept=np.isin(np.arange(n_features), chosen[kept]),
        dropped=dropped,
        n_filtered=n_features - len(chosen),
        center=None if center is None else center[kept],
    )
