"""Columns and lines of numbers that may be no measurements: annotation, descriptions, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sparsekm.io.readers.messages import say
from sparsekm.io.readers.names import KNOWN, is_a, shape_of, split_measure, tidy, weigh_names

_MANY = 20
_FEW_LEVELS = 10


def few_levels(values: Sequence[str]) -> bool:
    """Tell whether a column of text may hold classes: some values, all of them repeated often."""
    found = set(values) - {""}
    return 2 <= len(found) <= max(2, min(50, len(values) // 2))


def annotating_columns(columns: Sequence[str]) -> list[str]:
    """List the columns that annotate features, where columns hold samples."""
    # One letter may be anything among others, as A, B, F and T are.
    single = [name for name in columns if len(name) == 1]
    kinds = "feature_annotations", "summaries", "feature_heading"
    return [name for name in columns if is_a(name, *kinds) and (len(name) > 1 or len(single) == 1)]


def several_measures(columns: Sequence[str]) -> dict[str, list[str]]:
    """List the columns by measure, best first, where some samples have several: none otherwise."""
    found: dict[str, dict[str, str]] = {}
    for name in columns:
        measure, sample = split_measure(name)
        if measure and sample:
            found.setdefault(measure, {})[sample] = name
    best_first = sorted(found, key=KNOWN["measures"].index)
    shared: dict[str, set[str]] = {}
    for one, two in combinations(best_first, 2):
        samples = {*found[one]} & {*found[two]}
        if len(samples) > 1:
            for kind in (one, two):
                shared.setdefault(kind, set()).update(samples)
    return {
        kind: [name for sample, name in found[kind].items() if sample in shared[kind]]
        for kind in best_first
        if kind in shared
    }


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


def left_out_features(
    features: Sequence[str], X: np.ndarray, keep: Sequence[str], remarks: list[str], *, lines: bool
) -> list[str]:
    """List the features of a matrix (samples, features) that describe the samples or sum them up.

    Where most features are descriptions, as in clinical tables, they are kept with a remark.
    `lines` tells that the features are lines of the table.
    """
    gone, described, rest = set(), {}, []
    for at, name in enumerate(features):
        if name in keep:
            continue
        is_total = name in ("Total", "total") or (
            lines and tidy(name) in ("grand total", "sum", "total")
        )
        if is_total or is_a(name, "special_lines") or (not lines and _is_numbering(name, X, at)):
            gone.add(name)
        if is_a(name, "description", "sample_annotations"):
            described[name] = at
        elif name not in gone:
            rest.append(name)
    classes = [name for name in described if is_a(name, "class_headings")]
    if described and rest:
        is_few = 4 * len(described) <= len(features) >= _MANY
        if is_few or (weigh_names(rest).score > 0 and 2 * len(described) <= len(rest)):
            gone |= {*described}
        else:
            gone |= {name for name in classes if _has_levels(X[:, described[name]])}
            left = [name for name in described if name not in gone]
            remarks += [say("may_describe", names=left)] * bool(left)
    sums = [name for name in rest if len(name) > 1 and is_a(name, "summaries")]
    totals = np.nansum(X, axis=1)[:, np.newaxis]
    may_be = np.flatnonzero(np.isclose(2 * X[:5], totals[:5]).all(axis=0))
    is_sum = np.isclose(2 * X[:, may_be], totals).all(axis=0) & (len(features) > 3)
    sums += [features[at] for at in may_be[is_sum] if features[at] in {*rest} - {*sums}]
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
