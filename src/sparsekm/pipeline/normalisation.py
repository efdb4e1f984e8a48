"""From a user's table to a matrix ready to be clustered: missing values, then normalisation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.io.input_error import reason_of
from sparsekm.io.readers.messages import MatrixError, shown
from sparsekm.io.readers.raw_matrix import RawMatrix, check_size
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.row_stream import RowStream
from sparsekm.pipeline.scales import (
    are_counts,
    file_values,
    log_counts,
    log_values,
    measure_moments,
    most_variable_counts,
    remark_on_scale,
)

NORMALISATIONS = ("zscore", "counts", "log2", "none")
IMPUTATIONS = {
    "knn": "k nearest neighbours",
    "low_rank": "what the features have in common",
    "median": "the median of the feature",
    "half_minimum": "half of the smallest value of the feature",
    "drop": "",
}
"""How missing values may be filled, in words; "drop" leaves out the features that lack any."""
MAX_MISSING = 0.5
"""The largest share of missing values of a feature, and then of a sample, by default."""

_NEIGHBOURS = 5
_MOST_DONORS = 2000
_SAMPLES_AT_ONCE = 500


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
    if absent := {"feature", "group"} - {*table}:
        known = f"has columns {shown([*table])}; it lacks {shown([*absent])}"
        raise MatrixError(f"{file}: feature_groups {known}.")
    groups = table.set_index("feature")["group"]
    twice = groups.index[groups.index.duplicated()].tolist()
    if twice:
        raise MatrixError(f"{file}: feature_groups should name each feature once: {shown(twice)}.")
    if not groups.index.isin(features).any():
        raise MatrixError(
            f"{file}: feature_groups names none of the features; it names {shown([*groups.index])},"
            f" and the table {shown(features)}."
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
    X, offset, size = raw.X, np.zeros(n_features), None
    if how == "counts":
        X, size = log_counts(raw)
    elif how == "log2":
        X = log_values(raw)
    elif how == "none":
        X = file_values(raw)
    else:
        offset = raw.offset
    if len(chosen) < n_features:
        X, offset = X.select(chosen), offset[chosen]
    moments = measure_moments(X, offset)
    kept, center, own = ~moments.constant, None, None
    if not kept.any():
        raise MatrixError(f"all n_features={X.shape[1]} are constant; at least one should vary.")
    if X.is_sparse:
        center = np.zeros(np.count_nonzero(kept))
    if how != "none":
        own = np.array([moments.mean + offset, moments.deviation])[:, kept]
        center = None if center is None else moments.mean[kept] / moments.deviation[kept]
        X = X.change(moments.scale)
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


def settle_missing(
    raw: RawMatrix,
    impute: str | None = None,
    max_missing: float | None = None,
    *,
    quick: bool = False,
) -> RawMatrix:
    """Drop features and samples above the limit, and fill what else is missing, in place.

    By default with the mean of the five most similar samples (``knn``; distances are of z-scores
    and pass over missing values), or by what features have in common (``low_rank``, a shrunk
    singular value decomposition). Remarks of the matrix say what was done. With `quick`, medians
    stand in for these two, which take longer.
    """
    impute = impute or "knn"
    limit = MAX_MISSING if max_missing is None else max_missing
    if impute not in IMPUTATIONS:
        raise ValueError(f"impute={impute!r} should be one of {list(IMPUTATIONS)}.")
    if raw.X.is_sparse:
        return raw
    n, p = raw.X.shape
    counts = [(np.isnan(b).sum(axis=0), np.isnan(b).sum(axis=1)) for _, b in raw.X.blocks()]
    by_feature = np.sum([of_block for of_block, _ in counts], axis=0)
    by_sample = np.concatenate([of_block for _, of_block in counts])
    total = int(by_feature.sum())
    if not total:
        return raw
    check_size(n, p)
    said = [
        f"{total} values ({100 * total / (n * p):.2g} %) are missing, of "
        f"{np.count_nonzero(by_feature)} features and {np.count_nonzero(by_sample)} samples"
    ]
    columns = np.flatnonzero((by_feature <= limit * n) & (by_feature < n))
    X = raw.X.collect()[:, columns]
    rows = np.flatnonzero(np.isnan(X).sum(axis=1) <= limit * max(1, len(columns)))
    names = raw.samples or [f"sample {i + 1}" for i in range(n)]
    for kind, all_of, kept in (("features", raw.features, columns), ("samples", names, rows)):
        gone = [all_of[at] for at in np.setdiff1d(np.arange(len(all_of)), kept)]
        if gone:
            said.append(
                f"{len(gone)} {kind} lack more than {100 * limit:g} % and are dropped: "
                f"{shown(gone)}"
            )
    X = X[rows]
    lacking = np.isnan(X)
    # What was left of a feature may all have been in samples that were dropped.
    some = ~(lacking.any(axis=0) if impute == "drop" else lacking.all(axis=0))
    if impute == "drop":
        said.append(f"{np.count_nonzero(~some)} other features that lack values are dropped")
    # In rows, as sums over samples depend on it by rounding.
    X = np.ascontiguousarray(X[:, some])
    columns, lacking = columns[some], lacking[:, some]
    if len(rows) < 3 or not len(columns):
        raise MatrixError(
            f"{said[0]}: with impute: {impute} and max_missing: {limit}, {len(rows)} samples and "
            f"{len(columns)} features are left; there should be at least 3 and 1. Set max_missing: "
            "0.9, or impute: knn."
        )
    offset = raw.offset[columns]
    if lacking.any():
        said.append(f"{int(lacking.sum())} are imputed by {IMPUTATIONS[impute]}")
        _fill(X, offset, lacking, "median" if quick and impute in ("knn", "low_rank") else impute)
    others = [name for name in IMPUTATIONS if name != impute]
    raw.remarks.append(
        f"{'; '.join(said)}. Set impute: {others[0]} (or {', '.join(others[1:])}), or max_missing: "
        f"{limit:g} to another share, to change this."
    )
    raw.take(X, offset, rows, columns)
    return raw


def _fill(X: np.ndarray, offset: np.ndarray, lacking: np.ndarray, impute: str) -> None:
    """Fill the missing values of (n, p) float32, less `offset`, in place."""
    whole = are_counts(X, offset)
    columns = np.flatnonzero(lacking.any(axis=0))
    if impute == "half_minimum":
        lowest = np.nanmin(X[:, columns], axis=0) + offset[columns]
        if lowest.min() <= 0:
            raise MatrixError(
                "impute: half_minimum requires values > 0, such as intensities that were not "
                f"logged; the smallest is {lowest.min():g}. Set impute: knn."
            )
        fill = np.broadcast_to(lowest / 2 - offset[columns], (len(X), len(columns)))
    elif impute == "median":
        fill = np.broadcast_to(np.nanmedian(X[:, columns], axis=0), (len(X), len(columns)))
    elif impute == "low_rank":
        # Whatever else reads a table has no need of compiled kernels, which take 100 MB.
        from sparsekm.cluster.missing import fill_missing

        fill = fill_missing(X)[:, columns]
    else:
        fill = _nearest(X, columns)
    if whole:
        fill = np.rint(fill + offset[columns]) - offset[columns]
    X[:, columns] = np.where(lacking[:, columns], fill, X[:, columns])


def _nearest(X: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the columns filled with the means of the nearest samples, scikit-learn's."""
    from sklearn.impute import KNNImputer

    with warnings.catch_warnings(action="ignore"):
        mean, deviation = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scale = np.where(deviation > 0, deviation, 1)
    Z = (X - mean) / scale
    donors = np.unique(np.linspace(0, len(Z) - 1, min(len(Z), _MOST_DONORS)).astype(int))
    imputer = KNNImputer(n_neighbors=_NEIGHBOURS, keep_empty_features=True).fit(Z[donors])
    parts = (Z[at : at + _SAMPLES_AT_ONCE] for at in range(0, len(Z), _SAMPLES_AT_ONCE))
    filled = np.concatenate([imputer.transform(part)[:, columns] for part in parts])
    return filled * scale[columns] + mean[columns]
