"""Normalisation of a user's matrix before clustering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.messages import MatrixError, shown
from sparsekm.io.readers.raw_matrix import RawMatrix
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.row_stream import RowStream
from sparsekm.pipeline.missing_values import settle_missing
from sparsekm.pipeline.raw_counts import (
    file_values,
    log_counts,
    log_values,
    most_variable_counts,
    remark_on_scale,
)
from sparsekm.pipeline.zscore import measure_moments

NORMALISATIONS = ("zscore", "counts", "log2", "none")


@dataclass(frozen=True)
class Normalised:
    """A matrix of n samples and p features, ready to be clustered.

    A sparse `X` is not centred: z-scores are X less `center`.
    `kept` marks its features among those of the raw matrix. `dropped` names the constant features,
    which cannot separate clusters. `n_filtered` counts the features that `n_top_features` left out.
    """

    X: RowStream
    kept: np.ndarray
    dropped: list[str]
    n_filtered: int = 0
    center: np.ndarray | None = None
    # (2, p): means and standard deviations before z-scoring.
    moments: np.ndarray | None = None
    library_size: float | None = None  # of counts: the median of the samples' totals


def read_normalised_table(
    file: str | Path,
    reading: Mapping[str, Any],
    normalise_by: str = "zscore",
    n_top_features: int | None = None,
    impute: str | None = None,
    max_missing: float | None = None,
    *,
    quick: bool = False,
) -> tuple[RawMatrix, Normalised]:
    """Read a user's matrix with the settings `reading`, fill what is missing, and normalise it.

    Remarks of the matrix say all that was guessed, left out or changed. `quick` is for a summary:
    everything is as in the run except for the values that nearest neighbours fill in.
    """
    raw = read_matrix(file, **reading)
    raw.remarks += remark_on_scale(raw, normalise_by)
    try:
        raw = settle_missing(raw, impute, max_missing, quick=quick)
        found = normalise(raw, normalise_by, n_top_features)
    except MatrixError as error:
        raise MatrixError(f"{file}: {error}") from error
    if found.dropped:
        raw.remarks.append(
            f"{len(found.dropped)} features are constant, which separates nothing, and are "
            f"dropped: {shown(found.dropped)}."
        )
    return raw, found


def read_feature_groups(file: str | Path, features: Sequence[str]) -> np.ndarray:
    """Read the group of each feature (p,), str; a feature that is not in the file is its own."""
    try:
        table = pd.read_csv(file, sep=None, engine="python", dtype=str, na_filter=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise MatrixError(f"{file}: feature_groups is no table ({reason_of(error)}).") from error
    absent = {"feature", "group"} - {*table}
    if absent:
        known = shown([*table])
        raise MatrixError(
            f"{file}: feature_groups has columns {known}; it lacks {shown([*absent])}."
        )
    twice = table.loc[table["feature"].duplicated(), "feature"].tolist()
    if twice:
        raise MatrixError(f"{file}: feature_groups should name each feature once: {shown(twice)}.")
    groups = dict(zip(table["feature"], table["group"], strict=True))
    if not groups.keys() & {*features}:
        raise MatrixError(
            f"{file}: feature_groups names none of the features; it names {shown([*groups])}, and "
            f"the table {shown(features)}."
        )
    return np.array([groups.get(name, name) for name in features], dtype=object)


def normalise(raw: RawMatrix, how: str = "zscore", n_top_features: int | None = None) -> Normalised:
    """Normalise a matrix.

    Constant features are dropped. "zscore" gives each other feature mean 0 and standard deviation 1
    (ddof = 1); "counts" does the same after `log_counts`, "log2" after `log_values`; "none" leaves
    the values as they are.
    With `n_top_features`, that many of the features of raw counts are kept, those of
    `most_variable_counts`; totals are of all features.
    """
    if how not in NORMALISATIONS:
        raise ValueError(f"normalise={how!r} should be one of {list(NORMALISATIONS)}.")
    n_features = raw.X.shape[1]
    chosen = np.arange(n_features)
    if n_top_features is not None:
        chosen = most_variable_counts(raw, n_top_features)
    X, offset, size = raw.X, raw.offset, None
    if how == "counts":
        (X, size), offset = log_counts(raw), np.zeros(n_features)
    elif how == "log2":
        X, offset = log_values(raw), np.zeros(n_features)
    elif how == "none":
        X = file_values(raw)
    if len(chosen) < n_features:
        X, offset = X.select(chosen), offset[chosen]
    center, own = None, None
    if how == "none":
        kept = _varying(X)
        if X.is_sparse:
            center = np.zeros(np.count_nonzero(kept))
    else:
        moments = measure_moments(X, offset)
        kept = ~moments.constant
        own = np.array([moments.mean + offset, moments.deviation])[:, kept]
        X = X.change(moments.scale)
        if X.is_sparse:
            center = (moments.mean / np.where(kept, moments.deviation, 1))[kept]
    if not kept.any():
        raise MatrixError(f"all n_features={X.shape[1]} are constant; at least one should vary.")
    dropped = [raw.features[feature] for feature in chosen[~kept]]
    return Normalised(
        X=X.select(np.flatnonzero(kept)) if dropped else X,
        kept=np.isin(np.arange(n_features), chosen[kept]),
        dropped=dropped,
        n_filtered=n_features - len(chosen),
        center=center,
        moments=own,
        library_size=size,
    )


def _varying(X: RowStream) -> np.ndarray:
    """Return which features take more than one value, (p,), bool."""
    first, varies = None, np.zeros(X.shape[1], dtype=bool)
    for _, block in X.blocks():
        values = as_dense(block)
        first = values[0].copy() if first is None else first
        varies |= (values != first).any(axis=0)
    return varies
