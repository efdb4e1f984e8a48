"""A checked matrix from values and what its file says of both axes; remarks on what looks odd."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.input_error import is_storable
from sparsekm.io.known_classes import UNKNOWN, distinct_classes
from sparsekm.io.readers.cells import MISSING, MISSING_LABELS
from sparsekm.io.readers.messages import refusal, say, suggest
from sparsekm.io.readers.raw_matrix import RawMatrix, Settings
from sparsekm.io.row_stream import RowStream

MIN_LABELS = 2  # samples with a known class: the comparison needs a pair
DUPLICATES = ("mean", "sum", "max", "first")  # how features of the same name may be merged
_SMALLEST_COUNT = 30


@dataclass
class Parts:
    """What a file says of a matrix of samples x features besides its values."""

    file: Path
    features: Sequence[str] | None
    samples: Sequence[str] | None
    about: Mapping[str, Any] = field(default_factory=dict)  # columns about the samples, by name
    labels: str | None = None  # the column of known classes, if no setting names one
    relevant: np.ndarray | None = None
    positions: np.ndarray | None = None
    lines: str | None = None
    remarks: list[str] = field(default_factory=list)


def check_named(
    file: Path,
    settings: Settings,
    names: Sequence[str],
    where: str,
    other: str = "",
    others: Sequence[str] = (),
) -> None:
    """Refuse a setting with a name that is not among those there are.

    `others` are the names on the other axis, which suggest that the table is transposed.
    """
    for key, name in settings.named.items():
        if name in names:
            continue
        kind, hint = "not_there" if len(names) else "nothing_named", suggest(key, name, names)
        if name in others:
            value = "false" if settings.transpose is True else "true"
            kind, hint = "not_there", say("looks_turned", other=other, value=value)
        raise refusal(kind, file, key=key, name=name, where=where, names=names, hint=hint)


def assemble(parts: Parts, settings: Settings, X: RowStream, offset: np.ndarray) -> RawMatrix:
    """Check the names, the classes and the groups of a matrix, and remark on what looks odd."""
    file, remarks, about = parts.file, parts.remarks, parts.about
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
    words = MISSING_LABELS | set(map(str, settings.missing_values))
    label = settings.labels or parts.labels
    if label is not None:
        raw.labels = _read_classes(file, "label", label, about[label], words)
        n_known = int((raw.labels != UNKNOWN).sum())
        if n_known < MIN_LABELS:
            raise refusal(
                "few_labels", file, name=label, n=n_known, of=X.shape[0], least=MIN_LABELS
            )
    for key, name in (("groups", settings.groups), ("batch", settings.batch)):
        if name is not None:
            setattr(raw, key, _read_groups(file, key, name, about[name], words))
    if settings.weights is not None:
        raw.weights = _read_weights(file, settings.weights, about[settings.weights], words)
    raw.annotations = {name: _read_annotation(about[name], words) for name in settings.annotate}
    raw.remarks = [*remarks, *list_remarks(raw, label or "labels", settings.missing_values)]
    return raw


def _check_names(file: Path, values: Sequence[object], kind: str, remarks: list[str]) -> list[str]:
    """Check that names are there, and append numbers to those that occur more than once."""
    names = pd.Series([str(value) for value in values], dtype=object)
    unnamed = sum(not name.strip() for name in names)
    if unnamed:
        raise refusal("unnamed", file, n=unnamed, kind=kind)
    _check_storable(file, f"{kind} name", names)
    repeated = names[names.duplicated()].unique().tolist()
    if repeated:
        remarks.append(say("repeated_names", n=len(repeated), kind=kind, names=repeated[:3]))
    while names.duplicated().any():
        count = names.groupby(names).cumcount()
        names = names.where(count == 0, names + "_" + (count + 1).astype(str))
    return names.tolist()


def _check_storable(file: Path, what: str, texts: Sequence[str]) -> None:
    odd = next((text for text in texts if not is_storable(text)), None)
    if odd is not None:
        raise refusal("not_storable", file, what=what, text=odd)


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


def _read_classes(
    file: Path, kind: str, name: str, values: Sequence[object], words: frozenset[str]
) -> np.ndarray:
    """Write the classes or groups of a column as strings, `UNKNOWN` where they are missing.

    Integers that were read as floats become integers again: the label 3.0 is "3". -1 is a class.
    """
    known = [None if pd.isna(value) else value for value in values]
    numbers = [value for value in known if isinstance(value, float | np.floating)]
    whole = all(float(number).is_integer() for number in numbers)
    texts = []
    for value in known:
        if isinstance(value, float | np.floating):
            text = str(int(value)) if whole else repr(float(value))
        else:
            # Otherwise surrounding blanks would make a different class of the same word.
            text = UNKNOWN if value is None else str(value).strip()
        texts.append(UNKNOWN if text in words else text)
    _check_storable(file, f"{kind} of {name!r}:", texts)
    return np.array(texts, dtype=object)


def _read_groups(
    file: Path, key: str, name: str, values: Sequence[object], words: frozenset[str]
) -> np.ndarray:
    """Return the group of each sample, of at least two."""
    found = _read_classes(file, key, name, values, words)
    n_missing = int((found == UNKNOWN).sum())
    if n_missing:
        raise refusal("no_group", file, key=key, name=name, n=n_missing, of=len(found))
    if len(set(found)) < 2:
        raise refusal("one_group", file, key=key, name=name, group=found[0])
    return found


def _read_weights(
    file: Path, name: str, values: Sequence[object], words: frozenset[str]
) -> np.ndarray:
    found = _read_annotation(values, words)
    is_number = found.dtype != object
    wrong = [
        value
        for value, weight in zip(values, found, strict=True)
        if not (is_number and np.isfinite(weight) and weight >= 0)
    ]
    if wrong or not found.any():
        raise refusal("weights", file, name=name, value=wrong[0] if wrong else 0)
    return found


def merge_features(
    X: np.ndarray, features: list[str], how: str | None, remarks: list[str]
) -> tuple[np.ndarray, list[str]]:
    """Merge the columns of features of the same name, and return X and the names.

    By default values are averaged; counts are added. Missing values are passed over.
    """
    counts = Counter(features)
    repeated = [name for name, count in counts.items() if count > 1 and name.strip()]
    if not repeated:
        return X, features
    known = X[:50][np.isfinite(X[:50])]
    are_counts = (known >= 0).all() and (known == np.rint(known)).all()
    how = how or ("sum" if are_counts and known.max(initial=0) > _SMALLEST_COUNT else "mean")
    lines = pd.DataFrame(X.T).groupby(np.array(features, dtype=object), sort=False)
    merged = lines.sum(min_count=1) if how == "sum" else lines.agg(how)
    others = " or ".join(word for word in DUPLICATES if word != how)
    remarks.append(say("merged", n=len(repeated), names=repeated[:3], how=how, others=others))
    return merged.to_numpy().T, [*counts]


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
        remarks.append(say("dates", n=len(dates), example=dates[0], names=dates))
    return [*remarks, *_remark_on_values(raw, missing)]


def _remark_on_labels(name: str, labels: np.ndarray, missing: Sequence[object]) -> list[str]:
    """List remarks on classes that may be none, that differ in case only, or are too many."""
    classes = distinct_classes(labels)
    remarks = []
    unknown = [word for word in classes if word.casefold() in _UNKNOWN]
    if unknown:
        remarks.append(say("unknown", words=unknown, name=name, missing=[*missing, *unknown]))
    folded: dict[str, list[str]] = {}
    for word in classes:
        folded.setdefault(" ".join(word.casefold().split()), []).append(word)
    for words in folded.values():
        if len(words) > 1:
            remarks.append(say("case", words=words, name=name, n=len(words)))
    if len(classes) > max(_FEW_DISTINCT, len(labels) // 5):
        remarks.append(say("many_classes", name=name, n=len(classes), of=len(labels)))
    return remarks


def _remark_on_values(raw: RawMatrix, missing: Sequence[object]) -> list[str]:
    """List remarks on sentinels, on samples that are the same, and on a few whole numbers."""
    n, n_features = raw.X.shape
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
        name = raw.samples or [f"sample {at + 1}" for at in range(n)]
        pairs = [f"{name[one]} = {name[two]}" for one, two in same[:3]]
        more = ", ..." * (len(same) > 3)
        remarks.append(say("same_samples", n=len(same), pairs=", ".join(pairs) + more))
    whole = [raw.features[at] for at in np.flatnonzero(is_whole & (low < high))]
    if 0 < len(whole) <= max(_FEW_WHOLE, n_features // 50) and len(whole) * 4 <= n_features:
        remarks.append(say("whole_numbers", names=whole, first=whole[0]))
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
    found = {}
    for number in _SENTINELS:
        gap = inner_low - number if number < 0 else number - inner_high
        is_there = (low if number < 0 else high)[at] == number
        # A negative number among others that are not, too.
        n_far = int((is_there & ((gap > 2 * room) | ((number < 0) & (inner_low >= 0)))).sum())
        if n_far > 1 or (n_far and (n_far == len(low) or abs(number) >= 999)):
            found[int(number) if abs(number) < 1e6 else number] = n_far
    words = ", ".join(f"{number:g} (in {n_far} features)" for number, n_far in found.items())
    return [say("sentinels", words=words, missing=[*missing, *found])] if found else []
