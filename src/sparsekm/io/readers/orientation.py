"""Which axis of a table holds the samples, and which lines and columns of numbers are on neither.

Most published expression tables have one gene per line. If such a table were clustered as it is,
genes would be treated as samples without any sign of it in the result. Lines and columns of numbers
may also be no measurements, but annotation, descriptions or totals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import say
from sparsekm.io.readers.names import KNOWN, is_a, shape_of, split_measure, tidy, weigh_names

_TALL, _WIDE = 10, 5  # ratios of lines to columns, from which numbered lines may be features
_LOCUS = re.compile(r"[A-Za-z]{1,8}[_.]?\d{4,}[a-z]?(\.\d)?")
_LEVELS, _NO_LEVELS = 0.6, 0.1


def find_orientation(
    heading: str,
    lines: Sequence[str] | None,
    columns: Sequence[str],
    n_lines: int,
    *,
    text_columns: Sequence[str] = (),
    text_lines: Sequence[str] = (),
    classes: Sequence[str] = (),
    has_header: bool = True,
    is_gct: bool = False,
    is_numbered: bool = False,
    values: np.ndarray | None = None,
) -> tuple[bool | None, str]:
    """Decide whether lines hold features, None if both readings are equally good, and say why.

    Evidence is weighed: the form of the names of lines, under `heading`, and of columns with
    numbers, known words, headings of text about samples or features (`classes` have few values),
    and, if there is little else, the shape of the table and some of its values.
    """
    plain = [name for name in columns if not is_a(name, "feature_annotations")] or columns
    line, column = weigh_names(lines or ()), weigh_names(plain)
    if not has_header:
        column = column._replace(score=0.0, default=True)
    weights = {
        f"line names such as {_example(lines)}": line.score,
        f"column names such as {_example(plain)}": -column.score,
        f"the heading {heading!r}": _weigh_heading(heading, line.score, column.score),
        "the format, GCT": 4.0 * is_gct,
        "lines without names": -2.0 * (lines is None),
    }
    # One letter may be anything, as the B of limma.
    headings = [name for name in [*text_columns, *columns] if len(name) > 1]
    about_samples = [name for name in headings if is_a(name, "sample_annotations")]
    about_features = [name for name in headings if is_a(name, "feature_annotations")]
    about_features = [name for name in about_features if name not in about_samples]
    if len(about_features) < len(columns) or line.score > 0:
        what = f"columns such as {_example(about_features or about_samples)}"
        weights[what] = float(min(3, len(about_features)) - min(2, len(about_samples)))
    described = [*text_lines, *(name for name in lines or () if is_a(name, "sample_annotations"))]
    weights[f"lines such as {_example(described)}"] = 1.5 * bool(described)
    classes = [name for name in classes if name not in {*about_features, *about_samples}]
    if classes:
        what = f"classes such as those of {_example(classes)}"
        weights[what] = -1.0 if has_header else -2.5
    levels = 0.0 if values is None else _weigh_levels(values)
    weights["measurements, which differ in level between lines or columns"] = levels
    is_tall, is_wide = n_lines >= _TALL * len(columns), len(columns) >= _WIDE * n_lines
    if line.score == column.score == 0 and lines is not None:
        if column.numbered and not column.default and not line.numbered:
            weights["numbered columns"] = 1.0
        elif line.numbered and all(map(_LOCUS.fullmatch, lines)) and column.numbered:
            weights["lines numbered like loci"] = 1.0 * (not column.default)
        elif line.numbered and not line.default and not column.numbered and not is_tall:
            weights["numbered lines"] = -1.0
    numbers = lines is not None and all(name.isdecimal() for name in lines)
    if numbers and heading and is_a(heading, "numbering") and not is_tall:
        weights["numbers of samples"] = -1.0
    if is_wide:
        weights["the shape of the table"] = -1.0
    says_nothing = lines is None and column.default and column.score == levels == 0
    # Numbers alone, which no shape but a wide one explains.
    may_be_any = is_tall or not has_header or is_numbered
    total = sum(weights.values())
    if abs(total) < 1 or (says_nothing and may_be_any and not is_wide and not text_columns):
        return None, ""
    return total > 0, next(what for what, weight in weights.items() if weight * total > 0)


def _weigh_heading(heading: str, line: float, column: float) -> float:
    if is_a(heading, "feature_heading") and not column > 0 >= line:
        return 2.0
    # Published tables call the names of genes so, next to those of samples.
    if not is_a(heading, "sample_heading") or column < 0 <= line:
        return 0.0
    if line > 0 >= column:
        return -1.5 * (column == 0)
    return -2.0


def _weigh_levels(values: np.ndarray) -> float:
    """Tell by the numbers which axis the features are: they differ in level, samples hardly do."""
    if min(values.shape) < 3:
        return 0.0
    ranks = pd.Series(np.where(np.isfinite(values), values, np.nan).ravel()).rank().to_numpy()
    ranks = np.ma.masked_invalid(ranks.reshape(values.shape))
    total = ranks.var()
    if not total > 0:
        return 0.0
    # The share of the variance between lines or columns, less what chance gives to so few.
    chance = 1 / np.array(values.shape[::-1])
    shares = np.array([ranks.mean(axis=1).var(), ranks.mean(axis=0).var()]) / total
    lines, columns = (shares - chance) / (1 - chance)
    if lines > _LEVELS and columns < _NO_LEVELS:
        return 1.0
    return -1.0 if columns > _LEVELS and lines < _NO_LEVELS else 0.0


def _example(names: Sequence[str] | None) -> str:
    return repr(names[0][:40]) if names else "none"


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
