"""Remarks on what looks odd in a matrix: its classes, names and values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.cells import MISSING
from sparsekm.io.readers.messages import say

if TYPE_CHECKING:
    from sparsekm.io.readers.raw_matrix import RawMatrix

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
_DATE = re.compile(
    rf"(?i)\d{{1,2}}[-./]({_MONTH})|({_MONTH})[-./]\d{{1,2}}|\d{{4}}-\d\d-\d\d( 00:00:00)?"
)
# What stands for a missing class as often as it names one.
_UNKNOWN = {*MISSING, "unknown", "unk", "other/unknown", "not available", "not known", "-1"}
_UNKNOWN -= {"", "na", "nan", "n/a", "#n/a"}
_SENTINELS = (-999, -9999, -99, -99999, -9, -1, 999, 9999, 99999, -1e30, 1e30)
_FEW_DISTINCT = 10
_FEW_WHOLE = 5


def list_remarks(raw: RawMatrix, labels: str, missing: Sequence[object]) -> list[str]:
    """List all remarks on a matrix; `labels` is the name of its known classes."""
    remarks = [] if raw.labels is None else _on_labels(labels, raw.labels, missing)
    dates = [name for name in raw.features if _DATE.fullmatch(name)]
    if dates:
        remarks.append(say("dates", n=len(dates), example=dates[0], names=dates))
    return [*remarks, *_on_values(raw, missing)]


def _on_labels(name: str, labels: np.ndarray, missing: Sequence[object]) -> list[str]:
    """List remarks on classes that may be none, that differ in case only, or are too many."""
    classes, remarks = distinct_classes(labels), []
    unknown = [word for word in classes if word.casefold() in _UNKNOWN]
    if unknown:
        remarks.append(say("unknown", words=unknown, name=name, missing=[*missing, *unknown]))
    folded: dict[str, list[str]] = {}
    for word in classes:
        folded.setdefault(" ".join(word.casefold().split()), []).append(word)
    alike = (words for words in folded.values() if len(words) > 1)
    remarks += [say("case", words=words, name=name, n=len(words)) for words in alike]
    if len(classes) > max(_FEW_DISTINCT, len(labels) // 5):
        remarks.append(say("many_classes", name=name, n=len(classes), of=len(labels)))
    return remarks


def _on_values(raw: RawMatrix, missing: Sequence[object]) -> list[str]:
    """List remarks on sentinels, on samples that are the same, and on a few whole numbers."""
    n, p = raw.X.shape
    is_whole, seen, same = np.ones(p, dtype=bool), {}, []
    # The smallest and largest number of each feature, with sentinels and without.
    low, high, inner_low, inner_high = np.array([[np.inf], [-np.inf]] * 2) * np.ones(p)
    for rows, block in raw.X.blocks():
        dense = as_dense(block)
        for at, row in enumerate(dense, rows.start):
            other = seen.setdefault(hash(row.tobytes()), at)
            same += [(other, at)] * (other != at)
        # As in the file, up to the rounding to single precision.
        values = np.round(dense.astype(np.float64) + raw.offset, 4)
        is_whole &= ((values == np.rint(values)) | np.isnan(values)).all(axis=0)
        low, high = np.fmin(low, np.fmin.reduce(values)), np.fmax(high, np.fmax.reduce(values))
        values[np.isin(values, _SENTINELS)] = np.nan
        inner_low = np.fmin(inner_low, np.fmin.reduce(values))
        inner_high = np.fmax(inner_high, np.fmax.reduce(values))
    remarks, found = [], {}
    room = np.maximum(inner_high - inner_low, 1e-9)
    for number in _SENTINELS:
        gap = inner_low - number if number < 0 else number - inner_high
        is_there = (low if number < 0 else high) == number
        # A negative number among others that are not, too.
        n_far = int((is_there & ((gap > 2 * room) | ((number < 0) & (inner_low >= 0)))).sum())
        if n_far > 1 or (n_far and (n_far == p or abs(number) >= 999)):
            found[int(number) if abs(number) < 1e6 else number] = n_far
    if found:
        words = ", ".join(f"{number:g} (in {n_far} features)" for number, n_far in found.items())
        remarks.append(say("sentinels", words=words, missing=[*missing, *found]))
    if same and p > 1:
        name = raw.samples or [f"sample {at + 1}" for at in range(n)]
        pairs = [f"{name[one]} = {name[two]}" for one, two in same[:3]] + ["..."] * (len(same) > 3)
        remarks.append(say("same_samples", n=len(same), pairs=", ".join(pairs)))
    whole = [raw.features[at] for at in np.flatnonzero(is_whole & (low < high))]
    if 0 < len(whole) <= max(_FEW_WHOLE, p // 50) and len(whole) * 4 <= p:
        remarks.append(say("whole_numbers", names=whole, first=whole[0]))
    return remarks
