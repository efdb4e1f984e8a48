"""Columns and lines of numbers that are no measurements, but annotation, descriptions, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sparsekm.io.readers.names import (
    NUMBERING,
    describes_samples,
    has_annotating_word,
    is_known,
    shape_of,
    tidy,
    weigh_names,
)
from sparsekm.io.readers.raw_matrix import listed, quoted

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
    return [
        name
        for name in columns
        if is_known(name, "feature_annotations") or is_known(name, "summaries")
        if name not in single or len(single) == 1
    ]


def doubtful_columns(columns: Sequence[str], X: np.ndarray) -> list[str]:
    """List the columns of numbers, (lines, columns), that may annotate features and not be samples.

    Their names differ from most others and contain a word for an annotation, or their values are
    of another kind: the only whole numbers, or of another size by far.
    """
    if len(columns) < 3:
        return []
    shapes = Counter(map(shape_of, columns))
    common, count = shapes.most_common(1)[0]
    others = [
        at
        for at, name in enumerate(columns)
        if weigh_names([name]).score >= 0
        and (shape_of(name) != common or 2 * count <= len(columns))
    ]
    if len(others) == len(columns):
        others = [at for at in others if has_annotating_word(columns[at])]
    plain = np.setdiff1d(np.arange(len(columns)), others).astype(int)
    if not len(plain):
        return []
    finite = [column[np.isfinite(column)] for column in X.T]
    whole = np.array([(np.rint(x) == x).all() for x in finite])
    size = np.log10([1e-9 + (np.median(abs(x)) if len(x) else 0) for x in finite])
    doubtful = {
        at
        for at in others
        if has_annotating_word(columns[at])
        or (whole[at] and not whole[plain].any())
        or abs(size[at] - np.median(size[plain])) > 1.3
    }
    # Those next to them are of the same kind.
    for at in [*others, *reversed(others)]:
        if {at - 1, at + 1} & doubtful:
            doubtful.add(at)
    return [columns[at] for at in sorted(doubtful)]


def left_out_features(
    features: Sequence[str],
    X: np.ndarray,
    keep: Sequence[str],
    remarks: list[str],
    *,
    lines: bool,
) -> list[str]:
    """List the features of a matrix (samples, features) that describe the samples or sum them up.

    Where most features are descriptions, as in clinical tables, they are kept with a remark.
    `lines` tells that the features are lines of the table.
    """
    asked = [(at, name) for at, name in enumerate(features) if name not in keep]
    totals = ("grand total", "sum", "total")
    gone = {
        name
        for at, name in asked
        if is_known(name, "special_lines")
        or name in ("Total", "total")
        or (lines and tidy(name) in totals)
        or (not lines and _is_numbering(name, X[:, at]))
    }
    described = {name: at for at, name in asked if describes_samples(name)}
    classes = [name for name in described if is_known(name, "class_headings")]
    rest = [name for name in features if name not in described and name not in gone]
    if described and rest:
        if 4 * len(described) <= len(features) >= _MANY or (
            weigh_names(rest).score > 0 and 2 * len(described) <= len(rest)
        ):
            gone |= {*described}
        else:
            gone |= {name for name in classes if _has_levels(X[:, described[name]])}
            left = [name for name in described if name not in gone]
            if left:
                remarks.append(
                    f"features {listed(left)} seem to describe the samples. Set ignore: "
                    f"{listed(left)} to leave them out."
                )
    found = [name for name in classes if name in gone]
    if found and not lines:
        remarks.append(f"set labels: {quoted(found[0])} if {found[0]!r} holds known classes.")
    return [name for name in features if name in gone]


def _is_numbering(name: str, values: np.ndarray) -> bool:
    """Tell whether a column called like a numbering holds different whole numbers."""
    if not NUMBERING.fullmatch(name) or (len(name) == 1 and name != "X"):
        return False
    steps = np.diff(np.sort(values))
    return len(steps) > 1 and bool((steps >= 0.999).all() and (steps % 1 == 0).all())


def _has_levels(values: np.ndarray) -> bool:
    return len(np.unique(values[np.isfinite(values)])) <= _FEW_LEVELS
