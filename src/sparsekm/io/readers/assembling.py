"""A checked matrix from values and what stands on both axes, with remarks on what looks odd."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.input_error import is_storable
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.io.readers.cells import MISSING, MISSING_LABELS
from sparsekm.io.readers.raw_matrix import (
    MIN_LABELS,
    MatrixError,
    RawMatrix,
    listed,
    quoted,
    shown,
)
from sparsekm.io.row_stream import RowStream

DUPLICATES = ("mean", "sum", "max", "first")
"""How the values of features of the same name may be merged."""
_SMALLEST_COUNT = 30

Column = tuple[str, Sequence[Any]]
"""The name of known classes or groups, and the values, one for each sample."""


@dataclass
class Parts:
    """What a file says of a matrix of samples x features besides its values."""

    file: Path
    features: Sequence[str] | None
    samples: Sequence[str] | None
    labels: Column | None = None
    groups: Column | None = None
    annotations: dict[str, Sequence[Any]] = field(default_factory=dict)
    relevant: np.ndarray | None = None
    positions: np.ndarray | None = None
    lines: str | None = None
    missing: Sequence[object] = ()  # words for a missing value or class
    remarks: list[str] = field(default_factory=list)


def assemble(parts: Parts, X: RowStream, offset: np.ndarray) -> RawMatrix:
    """Check the names, the classes and the groups of a matrix, and remark on what looks odd."""
    file, remarks = parts.file, parts.remarks
    features = parts.features
    if features is None:
        features = [f"feature{j + 1}" for j in range(X.shape[1])]
    raw = RawMatrix(
        X=X,
        offset=offset,
        features=_check_names(file, features, "feature", remarks),
        relevant=parts.relevant,
        positions=parts.positions,
        lines=parts.lines,
    )
    if parts.samples is not None:
        raw.samples = _check_names(file, parts.samples, "sample", remarks)
    words = MISSING_LABELS | set(map(str, parts.missing))
    if parts.labels is not None:
        name, values = parts.labels
        found = _strings(file, "label", name, values, words)
        n_known = len(found) - found.count(UNKNOWN)
        if n_known < MIN_LABELS:
            raise MatrixError(
                f"{file}: labels {name!r} are known for {n_known} of {len(found)} samples; they "
                f"should be known for at least {MIN_LABELS}, or be left out."
            )
        raw.labels = np.array(found, dtype=object)
    if parts.groups is not None:
        raw.groups = _check_groups(file, *parts.groups, words)
    raw.annotations = {
        name: _read_annotation(values, words) for name, values in parts.annotations.items()
    }
    label = parts.labels[0] if parts.labels else "labels"
    raw.remarks = [*remarks, *list_remarks(raw, label, parts.missing)]
    return raw


def _check_names(file: Path, values: Iterable[object], kind: str, remarks: list[str]) -> list[str]:
    """Check that names are there, and append numbers to those that occur more than once."""
    names = [str(value) for value in values]
    unnamed = sum(not name.strip() for name in names)
    if unnamed:
        raise MatrixError(
            f"{file}: {unnamed} {kind}s have no name; each needs one: name it in the file."
        )
    odd = next((name for name in names if not is_storable(name)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} name {odd!r} should be text without NUL or unpaired surrogates."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if not repeated:
        return names
    taken, seen = set(names), Counter[str]()
    for at, name in enumerate(names):
        seen[name] += 1
        new = name
        while seen[name] > 1 and new in taken:
            new = f"{name}_{seen[name]}"
            seen[name] += new in taken
        taken.add(new)
        names[at] = new
    remarks.append(
        f"{len(repeated)} {kind} names occur more than once, such as {shown(repeated, 3)}: numbers "
        "are appended."
    )
    return names


def _read_annotation(values: Sequence[object], words: frozenset[str]) -> np.ndarray:
    """Return a column of annotations: float64 if each known value is a number, else objects.

    Unknown values are NaN, or None among texts.
    """
    texts = [None if pd.isna(value) else str(value).strip() for value in values]
    known = [None if text in words else text for text in texts]
    try:
        numbers = [np.nan if text is None else float(text.replace(",", ".")) for text in known]
    except ValueError:
        return np.array(known, dtype=object)
    return np.array(numbers)


def _check_groups(
    file: Path, name: str, values: Sequence[object], words: frozenset[str]
) -> np.ndarray:
    groups = _strings(file, "group", name, values, words)
    n_missing = groups.count(UNKNOWN)
    if n_missing:
        raise MatrixError(
            f"{file}: groups {name!r} are missing for {n_missing} of {len(groups)} samples; every "
            "sample should have one. Fill them in, or leave out groups."
        )
    if len(set(groups)) < 2:
        raise MatrixError(
            f"{file}: groups {name!r} are all {groups[0]!r}; there should be at least two, or "
            "groups should be left out."
        )
    return np.array(groups, dtype=object)


def _strings(
    file: Path, kind: str, name: str, values: Sequence[object], words: frozenset[str]
) -> list[str]:
    """Write the classes or groups of a column as strings, `UNKNOWN` where they are missing.

    Integers that were read as floats become integers again: the label 3.0 is "3". -1 is a class.
    """
    values = [
        None if (v.strip() in words if isinstance(v, str) else pd.isna(v)) else v for v in values
    ]
    numbers = [value for value in values if isinstance(value, float | np.floating)]
    whole = all(float(number).is_integer() for number in numbers)

    def write(value: object) -> str:
        if isinstance(value, float | np.floating):
            return str(int(value)) if whole else repr(float(value))
        # Otherwise surrounding blanks would make a different class of the same word.
        return UNKNOWN if value is None else str(value).strip()

    names = [*map(write, values)]
    odd = next((each for each in names if not is_storable(each)), None)
    if odd is not None:
        raise MatrixError(
            f"{file}: {kind} {odd!r} of {name!r} should be text without NUL or unpaired surrogates."
        )
    return names


def merge_features(
    X: np.ndarray, features: list[str], how: str | None, remarks: list[str]
) -> tuple[np.ndarray, list[str]]:
    """Merge the columns of features of the same name, and return X and the names.

    By default values are averaged; counts are added. Missing values are passed over.
    """
    at = defaultdict(list)
    for column, name in enumerate(features):
        at[name].append(column)
    repeated = [name for name, columns in at.items() if len(columns) > 1 and name.strip()]
    if not repeated:
        return X, features
    known = X[:50][np.isfinite(X[:50])]
    are_counts = (known >= 0).all() and (known == np.rint(known)).all()
    how = how or ("sum" if are_counts and known.max(initial=0) > _SMALLEST_COUNT else "mean")
    merge: dict[str, Callable] = {"mean": np.nanmean, "sum": np.nansum, "max": np.nanmax}
    merged = X[:, [columns[0] for columns in at.values()]]
    for place, columns in enumerate(at.values()):
        if len(columns) > 1 and how != "first":
            values = X[:, columns]
            some = ~np.isnan(values).all(axis=1)
            merged[some, place] = merge[how](values[some], axis=1)
    others = [word for word in DUPLICATES if word != how]
    remarks.append(
        f"{len(repeated)} feature names occur more than once, such as {shown(repeated, 3)}: their "
        f"values are merged by {how}. Set duplicates: {' or '.join(others)} to merge otherwise."
    )
    return merged, [*at]


_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
_DATE = re.compile(
    rf"\d{{1,2}}[-./]({_MONTH})|({_MONTH})[-./]\d{{1,2}}|\d{{4}}-\d\d-\d\d( 00:00:00)?",
    re.IGNORECASE,
)
# What stands for a missing class as often as it names one.
_UNKNOWN = {*MISSING, "unknown", "unk", "other/unknown", "not available", "not known", "-1"}
_UNKNOWN -= {"", "na", "nan", "n/a", "#n/a"}
_SENTINELS = (-999, -9999, -99, -99999, -9, -1, 999, 9999, 99999, -1e30, 1e30)
_FEW_DISTINCT = 10
_FEW_WHOLE = 5


def list_remarks(raw: RawMatrix, labels: str, missing: Sequence[object]) -> list[str]:
    """List all remarks on a matrix; `labels` is the name of its known classes."""
    remarks = [] if raw.labels is None else _remark_on_labels(labels, raw.labels, missing)
    dates = [name for name in raw.features if _DATE.fullmatch(name)]
    if dates:
        remarks.append(
            f"{len(dates)} feature names are dates, such as {dates[0]!r}: spreadsheets convert "
            "gene symbols such as SEPT2 or MARCH1 to dates. Correct the names in the file, or set "
            f"ignore: {listed(dates)}."
        )
    return [*remarks, *_remark_on_values(raw, missing)]


def _remark_on_values(raw: RawMatrix, missing: Sequence[object]) -> list[str]:
    """List remarks on numbers that stand for missing values, and on the few whole-number features.

    Also on samples that are the same value for value.
    """
    n_features = raw.X.shape[1]
    is_whole = np.ones(n_features, dtype=bool)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    seen, same = {}, []
    for rows, block in raw.X.blocks():
        dense = as_dense(block)
        for at, row in enumerate(dense, rows.start):
            other = seen.setdefault(hash(row.tobytes()), at)
            if other != at:
                same.append((other, at))
        values = _in_file(dense, raw.offset)
        is_whole &= ((values == np.rint(values)) | np.isnan(values)).all(axis=0)
        low, high = np.fmin(low, np.fmin.reduce(values)), np.fmax(high, np.fmax.reduce(values))
    remarks = _sentinels(raw, low, high, missing)
    if same and n_features > 1:
        name = raw.samples or [f"sample {at + 1}" for at in range(raw.X.shape[0])]
        pairs = [f"{name[one]} = {name[two]}" for one, two in same]
        remarks.append(
            f"{len(same)} samples have the same values as another one ({shown(pairs, 3)[1:-1]}): "
            "copies are found together in any clustering. Delete those that are no samples of "
            "their own."
        )
    whole = np.flatnonzero(is_whole & (low < high))
    if 0 < len(whole) <= max(_FEW_WHOLE, n_features // 50) and len(whole) * 4 <= n_features:
        names = [raw.features[at] for at in whole]
        told = "\n".join(remarks + raw.remarks)
        if not all(quoted(name) in told for name in names):
            remarks.append(
                f"features {shown(names)} contain only whole numbers, unlike the others. If they "
                f"are not features, set ignore: {listed(names)}, or labels: {quoted(names[0])} for "
                "known classes."
            )
    return remarks


def _in_file(dense: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the values in the file, up to the rounding to single precision."""
    return np.round(dense.astype(np.float64) + offset, 4)


def _sentinels(
    raw: RawMatrix, low: np.ndarray, high: np.ndarray, missing: Sequence[object]
) -> list[str]:
    """Name numbers such as -999 that are far from everything else in their features."""
    at = np.flatnonzero(np.isin(low, _SENTINELS) | np.isin(high, _SENTINELS))
    if not len(at):
        return []
    inner_low, inner_high = np.full(len(at), np.inf), np.full(len(at), -np.inf)
    for _, block in raw.X.blocks():
        values = _in_file(as_dense(block[:, at]), raw.offset[at])
        values[np.isin(values, _SENTINELS)] = np.nan
        inner_low = np.fmin(inner_low, np.fmin.reduce(values))
        inner_high = np.fmax(inner_high, np.fmax.reduce(values))
    room = np.maximum(inner_high - inner_low, 1e-9)
    found = []
    for number in _SENTINELS:
        gap = inner_low - number if number < 0 else number - inner_high
        is_there = (low if number < 0 else high)[at] == number
        # A negative number among others that are not, too.
        n_far = int((is_there & ((gap > 2 * room) | ((number < 0) & (inner_low >= 0)))).sum())
        if n_far > 1 or (n_far and (n_far == len(low) or abs(number) >= 999)):
            found.append((number, n_far))
    words = [f"{number:g} (in {n_far} features)" for number, n_far in found]
    numbers = [*missing, *(int(number) if abs(number) < 1e6 else number for number, _ in found)]
    if not words:
        return []
    return [
        f"{', '.join(words)} is far from all other values and may stand for a missing one. Set "
        f"missing_values: {listed(numbers)} if it does."
    ]


def _remark_on_labels(name: str, labels: np.ndarray, missing: Sequence[object]) -> list[str]:
    """List remarks on classes that may be none, that differ in case only, or are too many."""
    classes = distinct_classes(labels)
    remarks = []
    unknown = [word for word in classes if word.casefold() in _UNKNOWN]
    if unknown:
        remarks.append(
            f"classes {shown(unknown)} of {name!r} may mean that the class is not known. Set "
            f"missing_values: {listed([*missing, *unknown])} if they do."
        )
    folded: dict[str, list[str]] = {}
    for word in classes:
        folded.setdefault(" ".join(word.casefold().split()), []).append(word)
    for words in folded.values():
        if len(words) > 1:
            remarks.append(
                f"classes {shown(words)} of {name!r} differ in case or blanks only and count as "
                f"{len(words)}. Write them alike in the file if they are one class."
            )
    if len(classes) > max(_FEW_DISTINCT, len(labels) // 5):
        remarks.append(
            f"labels {name!r} have {len(classes)} classes for {len(labels)} samples, and so many "
            "clusters will be sought. Set n_clusters, or choose other labels."
        )
    return remarks
