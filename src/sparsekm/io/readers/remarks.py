"""Remarks on what looks odd in a matrix that can be read, each with a setting to correct it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.known_classes import distinct_classes
from sparsekm.io.readers.cells import MISSING
from sparsekm.io.readers.raw_matrix import RawMatrix, listed, quoted, shown

_MONTH = "jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec"
_DATE = re.compile(
    rf"\d{{1,2}}[-./]({_MONTH})|({_MONTH})[-./]\d{{1,2}}|\d{{4}}-\d\d-\d\d( 00:00:00)?",
    re.IGNORECASE,
)
# What stands for a missing class as often as it names one.
_UNKNOWN = {*MISSING, "unknown", "unk", "other/unknown", "not available", "not known", "-1"}
_UNKNOWN -= {"", "na", "nan", "n/a", "#n/a"}
_SENTINELS = (-999, -9999, -99, -99999, 999, 9999, 99999, -1e30, 1e30)
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
    is_whole, varies = np.ones(n_features, dtype=bool), np.zeros(n_features, dtype=bool)
    low, high = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    first, seen, same = None, {}, []
    for rows, block in raw.X.blocks():
        dense = as_dense(block)
        for at, row in enumerate(dense, rows.start):
            other = seen.setdefault(hash(row.tobytes()), at)
            if other != at:
                same.append((other, at))
        values = _in_file(dense, raw.offset)
        is_whole &= ((values == np.rint(values)) | np.isnan(values)).all(axis=0)
        first = dense[0] if first is None else first
        varies |= (dense != first).any(axis=0)
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
    whole = np.flatnonzero(is_whole & varies)
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
        n_far = int((is_there & (gap > 2 * room)).sum())
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
