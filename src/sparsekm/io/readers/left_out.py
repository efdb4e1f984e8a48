"""Which lines and columns of numbers are no measurements: annotation, descriptions, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import say
from sparsekm.io.readers.names import KNOWN, is_a, shape_of, split_measure, weigh_names

_MANY = 20
_FEW_LEVELS = 10


def annotating_columns(columns: Sequence[str]) -> list[str]:
    """List the columns that annotate features, where columns hold samples."""
    # One letter may be anything among others, as A, B, F and T are.
    single = [name for name in columns if len(name) == 1]
    kinds = "feature_annotations", "summaries", "feature_heading"
    return [name for name in columns if is_a(name, *kinds) and (len(name) > 1 or len(single) == 1)]


def annotating_lines(lines: Sequence[str]) -> list[str]:
    """List the lines that annotate or sum up features, where lines hold samples."""
    left = [name for name in lines if is_a(name, "summaries") and len(name) > 1]
    # Masses and retention times stand above the samples.
    return left + [*takewhile(lambda name: is_a(name, "feature_annotations"), lines)]


def several_measures(columns: Sequence[str]) -> dict[str, list[str]]:
    """List the columns by measure, best first, where some samples have several: none otherwise."""
    split = [(*split_measure(name), name) for name in columns]
    found = pd.DataFrame(split, columns=["measure", "sample", "name"])
    found = found[(found["measure"] != "") & (found["sample"] != "")]
    found = found[found.groupby("sample")["measure"].transform("nunique") > 1]
    if found["sample"].nunique() < 2:
        return {}
    names = found.groupby("measure")["name"].agg(list)
    return {measure: names[measure] for measure in KNOWN["measures"] if measure in names}


def doubtful_columns(columns: Sequence[str], X: np.ndarray) -> list[str]:
    """List the columns of numbers, (lines, columns), that may annotate features and not be samples.

    Their names differ from most others and contain a word for an annotation, or their values are
    of another kind: the only whole numbers, or of another size by far.
    """
    if len(columns) < 3:
        return []
    annotate = [at for at, name in enumerate(columns) if is_a(name, "annotating")]
    common, count = Counter(map(shape_of, columns)).most_common(1)[0]
    others = [
        at
        for at, name in enumerate(columns)
        if (weigh_names([name]).score >= 0 or is_a(name, "comparing"))
        and (shape_of(name) != common or 2 * count <= len(columns))
    ]
    if len(others) == len(columns):
        others = annotate
    plain = np.setdiff1d(np.arange(len(columns)), others).astype(int)
    if not len(plain):
        return []
    finite = [column[np.isfinite(column)] for column in X.T]
    whole = np.array([(np.rint(x) == x).all() for x in finite])
    size = np.log10([1e-9 + (np.median(abs(x)) if len(x) else 0) for x in finite])
    is_odd = abs(size - np.median(size[plain])) > 1.3
    if not whole[plain].any():
        is_odd |= whole
    doubtful = {at for at in others if is_odd[at] or at in annotate}
    # Those next to them are of the same kind.
    for at in [*others, *reversed(others)]:
        if {at - 1, at + 1} & doubtful:
            doubtful.add(at)
    return [columns[at] for at in sorted(doubtful)]


def describing_features(
    features: Sequence[str], X: np.ndarray, keep: Sequence[str], remarks: list[str], *, lines: bool
) -> list[str]:
    """List the features of a matrix (samples, features) that describe the samples or sum them up.

    Where most features are descriptions, as in clinical tables, they are kept with a remark.
    `lines` tells that the features are lines of the table.
    """
    index = {name: at for at, name in enumerate(features) if name not in keep}
    kinds = ("special_lines", *(["totals"] if lines else []))
    gone = {name for name in index if is_a(name, *kinds)}
    gone |= {name for name in index if not lines and _is_numbering(name, X, index[name])}
    described = [name for name in index if is_a(name, "description", "sample_annotations")]
    rest = [name for name in features if name in index and name not in {*described, *gone}]
    classes = [name for name in described if is_a(name, "class_headings")]
    if described and rest:
        is_few = 4 * len(described) <= len(features) >= _MANY
        if is_few or (weigh_names(rest).score > 0 and 2 * len(described) <= len(rest)):
            gone |= {*described}
        else:
            gone |= {name for name in classes if _has_levels(X[:, index[name]])}
            left = [name for name in described if name not in gone]
            remarks += [say("may_describe", names=left)] * bool(left)
    sums = [name for name in rest if len(name) > 1 and is_a(name, "summaries")]
    # The first samples tell most features apart from the sum of the others.
    first = np.isclose(2 * X[:5], np.nansum(X[:5], axis=1, keepdims=True)).all(axis=0)
    for at in np.flatnonzero(first) if len(features) > 3 else ():
        if np.allclose(2 * X[:, at], np.nansum(X, axis=1)) and features[at] in {*rest} - {*sums}:
            sums.append(features[at])
    if sums and len(sums) < len(rest):
        remarks.append(say("may_sum_up", names=sums))
    found = [name for name in classes if name in gone]
    if found and not lines:
        remarks.append(say("may_be_classes", name=found[0]))
    return [name for name in features if name in gone]


def _is_numbering(name: str, X: np.ndarray, at: int) -> bool:
    """Tell whether a column numbers the samples: different whole numbers, called so or in order."""
    values, n = X[:, at], len(X)
    if at == 0 and n > _FEW_LEVELS and any((values == np.arange(k, n + k)).all() for k in (0, 1)):
        return True
    if not is_a(name, "numbering") or (len(name) == 1 and name != "X"):
        return False
    steps = np.diff(np.sort(values))
    return len(steps) > 1 and bool((steps >= 0.999).all() and (steps % 1 == 0).all())


def _has_levels(values: np.ndarray) -> bool:
    return len(np.unique(values[np.isfinite(values)])) <= _FEW_LEVELS
