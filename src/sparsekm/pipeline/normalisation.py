"""From a user's table to a matrix for clustering: missing values, then normalisation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.io.input_error import check_file, reason_of
from sparsekm.io.readers.messages import MatrixError, of_file, refusal, say, written
from sparsekm.io.readers.raw_matrix import RawMatrix, check_size
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.table_settings import reader_settings
from sparsekm.pipeline import scales

NORMALISATIONS = ("zscore", "counts", "log2", "none")
IMPUTATIONS = {
    "low_rank": "a low-rank approximation of the table",
    "median": "the median of the feature",
    "half_minimum": "half of the smallest value of the feature",
    "drop": "",
}
"""The ways to fill missing values, in words; "drop" leaves out features with missing values."""
MAX_MISSING = 0.5
"""The default of the largest share of missing values in a feature, and then in a sample."""


@dataclass
class NormalisedMatrix(RawMatrix):
    """A matrix for clustering, and the results of its normalisation."""

    # (p,): the values to subtract from a sparse matrix; means and deviations before
    # standardisation.
    center: np.ndarray | None = None
    means: np.ndarray | None = None
    deviations: np.ndarray | None = None
    library_size: float | None = None  # the median of the samples' totals of counts
    dropped: Sequence[str] = ()  # the constant features
    n_filtered: int = 0  # features that `n_top_features` left out
    # The settings that were chosen because the values are raw counts, and the normalisation that
    # should also be tried if this is doubtful.
    chosen: Mapping[str, Any] = field(default_factory=dict)
    doubted_for: str = ""


def read_normalised_table(
    file: str | Path, settings: Mapping[str, Any], *, quick: bool = False
) -> tuple[RawMatrix, NormalisedMatrix]:
    """Read a user's matrix with the settings of its entry, fill missing values, and normalise it.

    Return the matrix before and after normalisation. Remarks list all guesses, omissions and
    changes. `quick` is for the summary before a run: settings for raw counts are chosen if they are
    open, and medians replace missing values.
    """
    before = _last_change(file)
    raw = read_matrix(file, **reader_settings(settings))
    judged, chosen = scales.judge(raw), {}
    normalise_by, most = settings.get("normalise"), settings.get("n_top_features")
    if quick:
        chosen = scales.settings_of_counts(raw, judged, normalise_by, most)
        raw.remarks += [say("chosen_normalise")] * ("normalise" in chosen)
    normalise_by = chosen.get("normalise", normalise_by or "zscore")
    most = chosen.get("n_top_features", None if most == "all" else most)
    if most is not None and most < raw.shape[1]:
        raw.remarks.append(say("top_features", n=most, p=raw.shape[1]))
    raw.remarks += scales.remark_on_scale(raw, judged, normalise_by)
    with of_file(file):
        if most is not None:
            scales.refuse_other_than_counts(raw)
        on_logs = normalise_by in ("counts", "log2")
        impute, limit = settings.get("impute"), settings.get("max_missing")
        raw = settle_missing(raw, impute, limit, on_logs=on_logs, quick=quick)
        found = normalise(raw, normalise_by, most)
        if _last_change(file) != before:
            raise refusal("still_written")
    instead = scales.doubted_for(judged, normalise_by)
    found = replace(found, chosen=chosen, doubted_for=instead)
    if found.dropped:
        raw.remarks.append(say("constant", n=len(found.dropped), names=found.dropped))
    return raw, found


def _last_change(file: str | Path) -> tuple[int, int] | None:
    """Return the size of a file and its time of modification; None if there is no file."""
    try:
        status = Path(file).stat()
    except OSError:
        return None  # reading the file reports the error
    return status.st_size, status.st_mtime_ns


def settle_doubts(matrices: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """List the settings to add to a configuration for tables that can be read in several ways.

    `matrices` are the settings of each table, with its path, by the name of the data set.
    """
    lines = []
    for name, entry in matrices.items():
        try:
            read_matrix(entry["path"], **reader_settings(entry))
        except MatrixError as error:
            ways = error.ways
            lines += [f"  {name}:  # {str(error).partition(' Set ')[0]}"] * bool(ways)
            for way in ways:
                mark = "" if way is ways[0] else "# "
                lines += [f"    {mark}{written({key: way.settings[key]})}" for key in way.settings]
                lines[-1] += f"  # {way.meaning}" * bool(way.meaning)
        except OSError:
            continue  # the job of this table reports the error
    return lines


def read_feature_groups(file: str | Path, features: Sequence[str]) -> np.ndarray:
    """Read the group of each feature (p,), str; a feature that is not in the file forms a group."""
    check_file(file)
    with of_file(file):
        try:
            table = pd.read_csv(file, sep=None, engine="python", dtype=str, na_filter=False)
        except (ValueError, UnicodeDecodeError) as error:
            raise refusal("groups_no_table", reason=reason_of(error)) from error
        if absent := {"feature", "group"} - {*table}:
            raise refusal("groups_columns", names=[*table], absent=[*absent])
        groups = table.set_index("feature")["group"]
        if groups.index.has_duplicates:
            names = groups.index[groups.index.duplicated()].tolist()
            raise refusal("groups_twice", names=names)
        if not groups.index.isin(features).any():
            raise refusal("groups_of_others", names=[*groups.index], features=features)
    return np.array([groups.get(name, name) for name in features], dtype=object)


def normalise(
    raw: RawMatrix, how: str = "zscore", n_top_features: int | None = None
) -> NormalisedMatrix:
    """Normalise a matrix.

    Constant features are dropped. "zscore" gives each other feature mean 0 and standard deviation 1
    (ddof = 1); "counts" does the same after `log_counts`, and "log2" after `log_values`; "none"
    does not change values. With `n_top_features`, this number of features of raw counts is kept, by
    `most_variable_counts`; totals include all features.
    """
    if how not in NORMALISATIONS:
        raise ValueError(f"normalise={how!r} should be one of {list(NORMALISATIONS)}.")
    n_features = raw.shape[1]
    chosen = np.arange(n_features)
    if n_top_features is not None:
        chosen = scales.most_variable_counts(raw, n_top_features)
    known: dict[str, Any] = {"n_filtered": n_features - len(chosen)}
    if how == "counts":
        raw, known["library_size"] = scales.log_counts(raw)
    elif how != "zscore":
        raw = scales.log_values(raw) if how == "log2" else scales.file_values(raw)
    X = raw.select(chosen) if len(chosen) < n_features else raw
    mean, deviation = scales.measure_moments(X)
    kept, dropped = np.flatnonzero(deviation), np.flatnonzero(deviation == 0)
    if not len(kept):
        raise refusal("all_constant", p=X.shape[1])
    known["dropped"] = X.about.select(dropped).features
    if len(dropped):
        X, mean, deviation = X.select(kept), mean[kept], deviation[kept]
    if X.is_sparse:
        known["center"] = np.zeros(len(kept)) if how == "none" else mean / deviation
    if how != "none":
        known |= {"means": mean + X.offset, "deviations": deviation}
        X = X.change(lambda block, rows: scales.z_scores(block, mean, deviation))
    return NormalisedMatrix(**vars(X), **known)


def settle_missing(
    raw: RawMatrix,
    impute: str | None = None,
    max_missing: float | None = None,
    *,
    on_logs: bool = False,
    quick: bool = False,
) -> RawMatrix:
    """Drop features and samples above the limit, and fill the other missing values.

    The default is a low-rank approximation, as with ``missing="impute"`` of the estimators. It
    works `on_logs` if logarithms will be clustered. Remarks of the matrix describe the changes.
    With `quick`, medians are used, which takes less time.
    """
    impute = impute or "low_rank"
    limit = MAX_MISSING if max_missing is None else max_missing
    if impute not in IMPUTATIONS:
        raise ValueError(f"impute={impute!r} should be one of {list(IMPUTATIONS)}.")
    if raw.is_sparse:
        return raw
    n, p = raw.shape
    counts = [(np.isnan(b).sum(axis=0), np.isnan(b).sum(axis=1)) for _, b in raw.blocks()]
    by_feature = np.sum([of_block for of_block, _ in counts], axis=0)
    by_sample = np.concatenate([of_block for _, of_block in counts])
    total = int(by_feature.sum())
    if not total:
        return raw
    check_size(n, p)
    lack = {"p": np.count_nonzero(by_feature), "of": np.count_nonzero(by_sample)}
    remarks = [say("missing", n=total, percent=100 * total / (n * p), **lack)]
    columns = np.flatnonzero((by_feature <= limit * n) & (by_feature < n))
    X = raw.collect()[:, columns]
    rows = np.flatnonzero(np.isnan(X).sum(axis=1) <= limit * max(1, len(columns)))
    X = X[rows]
    # The remaining values of a feature may all have been in dropped samples.
    some = ~np.isnan(X).all(axis=0)
    X, columns = X[:, some], columns[some]
    names = ("feature", raw.about.features, columns), ("sample", raw.sample_names, rows)
    for kind, all_of, kept in names:
        gone = [all_of[at] for at in np.setdiff1d(np.arange(len(all_of)), kept)]
        if gone:
            lack = {"kind": kind, "limit": limit, "names": gone}
            remarks.append(say("lack_too_much", n=len(gone), **lack))
    if impute == "drop":
        whole = ~np.isnan(X).any(axis=0)
        X, columns = X[:, whole], columns[whole]
        remarks.append(say("lack_any", n=np.count_nonzero(~whole)))
    # The order is by rows, because the rounding of sums over samples depends on it.
    X = np.ascontiguousarray(X)
    lacking = np.isnan(X)
    if len(rows) < 3 or not len(columns):
        settings, left = {"impute": impute, "limit": limit}, {"n": len(rows), "p": len(columns)}
        raise refusal("little_left", missing=remarks[0], **settings, **left)
    offset = raw.offset[columns]
    names = np.array(raw.sample_names, dtype=object)
    n_filled = lacking.sum(axis=1)
    filled = [f"{names[rows[at]]} ({n_filled[at]})" for at in np.flatnonzero(n_filled)]
    if lacking.any():
        remarks.append(say("imputed", n=int(lacking.sum()), how=IMPUTATIONS[impute]))
        way = "median" if quick and impute == "low_rank" else impute
        _fill(X, offset, lacking, way, on_logs=on_logs)
    first, *others = (name for name in IMPUTATIONS if name != impute)
    cure = say("cure_of_missing", impute=first, others=", ".join(others), max_missing=limit)
    raw.remarks.append(say("joined", text="; ".join(remarks), cure=cure))
    excluded = np.delete(names, rows).tolist()
    return replace(raw.take(X, rows, columns), excluded=excluded, filled=filled)


def _fill(
    X: np.ndarray, offset: np.ndarray, lacking: np.ndarray, impute: str, *, on_logs: bool
) -> None:
    """Fill the missing values of (n, p) float32, less `offset`, in place."""
    columns = np.flatnonzero(lacking.any(axis=0))
    fill = np.zeros(X.shape[1], X.dtype)
    if impute == "half_minimum":
        lowest = np.nanmin(X[:, columns], axis=0) + offset[columns]
        if lowest.min() <= 0:
            raise refusal("half_of_negative", smallest=lowest.min())
        fill[columns] = lowest / 2 - offset[columns]
    elif impute == "median":
        fill[columns] = np.nanmedian(X[:, columns], axis=0)
    else:
        # Not imported at the top: it takes a tenth of a second, and most tables are complete.
        from sparsekm.cluster.imputation import fill_missing

        if on_logs:
            logs = X + offset.astype(X.dtype)
            # Values are not filled with negative values, because logarithms refuse these.
            np.log1p(np.maximum(logs, 0, out=logs), out=logs)
            fill = fill_missing(logs)
            np.maximum(np.expm1(fill, out=fill), 0, out=fill)
            fill -= offset.astype(X.dtype)
        else:
            fill = fill_missing(X)
    np.copyto(X, fill, where=lacking)
