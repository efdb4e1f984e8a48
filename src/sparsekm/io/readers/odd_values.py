"""Remarks on names, classes and values that look odd, with the setting that helps."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.cells import MISSING
from sparsekm.io.readers.messages import say
from sparsekm.io.readers.raw_matrix import RawMatrix

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
