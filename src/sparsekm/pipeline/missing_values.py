"""Missing values of a user's matrix: what lacks too many is dropped, the others are imputed."""

from __future__ import annotations

import warnings

import numpy as np

from sparsekm.io.readers.messages import MatrixError, shown
from sparsekm.io.readers.raw_matrix import RawMatrix, check_size
from sparsekm.pipeline.raw_counts import are_counts

IMPUTATIONS = ("knn", "low_rank", "median", "half_minimum", "drop")
"""How missing values may be filled; "drop" leaves out the features that lack any."""
MAX_MISSING = 0.5
"""The largest share of missing values of a feature, and then of a sample, by default."""

_NEIGHBOURS = 5
_MOST_DONORS = 2000
_SAMPLES_AT_ONCE = 500


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
    by_feature, by_sample = np.zeros(p, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for rows, block in raw.X.blocks():
        lacking = np.isnan(block)
        by_feature += lacking.sum(axis=0)
        by_sample[rows] = lacking.sum(axis=1)
    total = int(by_feature.sum())
    if not total:
        return raw
    check_size("the matrix, which lacks values,", n, p)
    columns = np.flatnonzero((by_feature <= limit * n) & (by_feature < n))
    said = [
        f"{total} values ({100 * total / (n * p):.2g} %) are missing, of "
        f"{np.count_nonzero(by_feature)} features and {np.count_nonzero(by_sample)} samples"
    ]
    said += _say_dropped("features", raw.features, columns, limit)
    X = raw.X.collect()[:, columns]
    lacking = np.isnan(X)
    rows = np.flatnonzero(lacking.sum(axis=1) <= limit * max(1, len(columns)))
    said += _say_dropped(
        "samples", raw.samples or [f"sample {i + 1}" for i in range(n)], rows, limit
    )
    X, lacking = X[rows], lacking[rows]
    if impute == "drop":
        complete = ~lacking.any(axis=0)
        said.append(f"{np.count_nonzero(~complete)} other features that lack values are dropped")
        X, columns = X[:, complete], columns[complete]
    else:
        # What was left of a feature may all have been in samples that were dropped.
        some = ~lacking.all(axis=0)
        X, columns, lacking = X[:, some], columns[some], lacking[:, some]
    if len(rows) < 3 or not len(columns):
        raise MatrixError(
            f"{said[0]}: with impute: {impute} and max_missing: {limit}, {len(rows)} samples and "
            f"{len(columns)} features are left; there should be at least 3 and 1. Set max_missing: "
            "0.9, or impute: knn."
        )
    offset = raw.offset[columns]
    if impute != "drop" and lacking.any():
        X = X.copy() if X.base is not None else X
        how = {
            "knn": "k nearest neighbours",
            "low_rank": "what the features have in common",
            "median": "the median of the feature",
        }
        said.append(
            f"{int(lacking.sum())} are imputed by "
            f"{how.get(impute, 'half of the smallest value of the feature')}"
        )
        _fill(X, offset, lacking, "median" if quick and impute in ("knn", "low_rank") else impute)
    others = [name for name in IMPUTATIONS if name != impute]
    raw.remarks.append(
        f"{'; '.join(said)}. Set impute: {others[0]} (or {', '.join(others[1:])}), or max_missing: "
        f"{limit:g} to another share, to change this."
    )
    raw.take(np.ascontiguousarray(X), offset, rows, columns)
    return raw


def _say_dropped(kind: str, names: list[str], kept: np.ndarray, limit: float) -> list[str]:
    gone = np.setdiff1d(np.arange(len(names)), kept)
    if not len(gone):
        return []
    which = shown([names[at] for at in gone])
    return [f"{len(gone)} {kind} lack more than {100 * limit:g} % and are dropped: {which}"]


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
    for place, column in enumerate(columns):
        X[lacking[:, column], column] = fill[lacking[:, column], place]


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
