"""A checked matrix from values and what stands on both axes, whatever the format of the file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.io.input_error import is_storable
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.readers.cells import MISSING_LABELS
from sparsekm.io.readers.raw_matrix import MIN_LABELS, MatrixError, RawMatrix, shown
from sparsekm.io.readers.remarks import list_remarks
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
