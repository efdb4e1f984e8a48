"""What stands on the axes of a table: which one holds the samples, and what is on neither.

Most published expression tables have one gene per line. If such a table were clustered as it is,
genes would be treated as samples without any sign of it in the result. Columns and lines of numbers
may also be no measurements, but annotation, descriptions or totals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import listed, quoted
from sparsekm.io.readers.names import (
    KNOWN,
    is_a,
    shape_of,
    split_measure,
    tidy,
    weigh_names,
)

TALL = 10
"""Ratio of lines to columns from which numbered lines may as well be features."""
_WIDE = 5
_LOCUS = re.compile(r"[A-Za-z]{1,8}[_.]?\d{4,}[a-z]?(\.\d)?")
_LEVELS, _NO_LEVELS = 0.6, 0.1


@dataclass
class Axes:
    """What is known about the two axes of a table before it is decided which are the samples."""

    heading: str  # of the names of the lines; may be empty
    lines: Sequence[str] | None  # names, perhaps only the first ones; None if there are none
    columns: Sequence[str]  # names of the columns with numbers
    n_lines: int
    # Headings of columns, and names of lines, that hold text.
    text_columns: Sequence[str] = ()
    text_lines: Sequence[str] = ()
    has_header: bool = True
    is_gct: bool = False
    is_numbered: bool = False  # whether there are numbers in place of names of lines
    values: np.ndarray | None = None  # some of the numbers, (lines, columns)
    class_columns: Sequence[str] = ()  # headings of columns of text with few values
    signs: list[str] = field(default_factory=list)  # what speaks for the decision


def find_orientation(axes: Axes) -> bool | None:
    """Decide whether lines hold features; None if both readings are equally good.

    Evidence is weighed: the form of the names, known words, headings of columns and lines that
    describe samples or features, and, if there is little else, the shape of the table.
    """
    plain = [name for name in axes.columns if not is_a(name, "feature_annotations")] or axes.columns
    lines, columns = weigh_names(axes.lines or ()), weigh_names(plain)
    if not axes.has_header:
        columns = columns._replace(score=0.0, default=True)
    weights = {
        f"line names such as {_example(axes.lines)}": lines.score,
        f"column names such as {_example(plain)}": -columns.score,
    }
    if is_a(axes.heading, "feature_heading") and not (columns.score > 0 >= lines.score):
        weights[f"the heading {axes.heading!r}"] = 2.0
    elif is_a(axes.heading, "sample_heading") and columns.score < 0 <= lines.score:
        # Published tables call the names of genes so, next to those of samples.
        weights["the heading"] = 0.0
    elif is_a(axes.heading, "sample_heading") and not (lines.score > 0 >= columns.score):
        weights[f"the heading {axes.heading!r}"] = -2.0
    elif is_a(axes.heading, "sample_heading") and columns.score == 0:
        weights[f"the heading {axes.heading!r}"] = -1.5
    headings = [*axes.text_columns, *axes.columns]
    # One letter may be anything, as the B of limma.
    headings = [name for name in headings if len(name) > 1]
    about_features = [name for name in headings if is_a(name, "feature_annotations")]
    about_samples = [name for name in headings if is_a(name, "sample_annotations")]
    about_features = [name for name in about_features if name not in about_samples]
    described = [name for name in axes.lines or () if is_a(name, "sample_annotations")]
    annotated = min(3, len(about_features)) - min(2, len(about_samples))
    if len(about_features) < len(axes.columns) or lines.score > 0:
        weights[f"columns such as {_example(about_features or about_samples)}"] = float(annotated)
    weights[f"lines such as {_example([*axes.text_lines, *described])}"] = 1.5 * bool(
        axes.text_lines or described
    )
    classes = [name for name in axes.class_columns if name not in about_features]
    classes = [name for name in classes if name not in about_samples]
    if classes:
        weights[f"classes such as those of {_example(classes)}"] = -1.0 if axes.has_header else -2.5
    if axes.is_gct:
        weights["the format, GCT"] = 4.0
    if axes.lines is None:
        weights["lines without names"] = -2.0
    levels = 0.0 if axes.values is None else _weigh_levels(axes.values)
    weights["measurements, which differ in level between lines or columns"] = levels
    n_columns = len(axes.columns)
    tall = axes.n_lines >= TALL * n_columns
    is_wide = n_columns >= _WIDE * axes.n_lines
    if lines.score == columns.score == 0 and axes.lines is not None:
        if columns.numbered and not columns.default and not lines.numbered:
            weights["numbered columns"] = 1.0
        elif lines.numbered and all(map(_LOCUS.fullmatch, axes.lines)) and columns.numbered:
            weights["lines numbered like loci"] = 1.0 * (not columns.default)
        elif lines.numbered and not lines.default and not columns.numbered and not tall:
            weights["numbered lines"] = -1.0
    numbers = axes.lines is not None and all(name.isdecimal() for name in axes.lines)
    if numbers and is_a(axes.heading, "numbering") and axes.heading and not tall:
        weights["numbers of samples"] = -1.0
    if is_wide:
        weights["the shape of the table"] = -1.0
    says_nothing = axes.lines is None and columns.default and columns.score == levels == 0
    # Numbers alone, which no shape but a wide one explains.
    if (
        says_nothing
        and (tall or not axes.has_header or axes.is_numbered)
        and not (is_wide or axes.text_columns)
    ):
        return None
    total = sum(weights.values())
    if abs(total) < 1:
        return None
    sign = 1 if total > 0 else -1
    axes.signs = [what for what, weight in weights.items() if weight * sign > 0]
    return total > 0


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
    shares = []
    for axis in (1, 0):
        chance = 1 / values.shape[axis]
        share = ranks.mean(axis=axis).var() / total
        shares.append((share - chance) / (1 - chance))
    lines, columns = shares
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
    return [
        name
        for name in columns
        if is_a(name, "feature_annotations", "summaries", "feature_heading")
        if name not in single or len(single) == 1
    ]


def several_measures(columns: Sequence[str]) -> dict[str, list[str]]:
    """List the columns by measure, best first, where some samples have several: none otherwise."""
    found: dict[str, dict[str, str]] = {}
    for name in columns:
        measure, sample = split_measure(name)
        if measure and sample:
            found.setdefault(measure, {})[sample] = name
    shared: dict[str, set[str]] = {}
    for one, two in combinations(sorted(found, key=KNOWN["measures"].index), 2):
        samples = {*found[one]} & {*found[two]}
        if len(samples) > 1:
            for kind in (one, two):
                shared.setdefault(kind, set()).update(samples)
    return {
        kind: [name for sample, name in found[kind].items() if sample in samples]
        for kind, samples in sorted(shared.items(), key=lambda of: KNOWN["measures"].index(of[0]))
    }


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
        if (weigh_names([name]).score >= 0 or is_a(name, "comparing"))
        and (shape_of(name) != common or 2 * count <= len(columns))
    ]
    if len(others) == len(columns):
        others = [at for at in others if is_a(columns[at], "annotating")]
    plain = np.setdiff1d(np.arange(len(columns)), others).astype(int)
    if not len(plain):
        return []
    finite = [column[np.isfinite(column)] for column in X.T]
    whole = np.array([(np.rint(x) == x).all() for x in finite])
    size = np.log10([1e-9 + (np.median(abs(x)) if len(x) else 0) for x in finite])
    doubtful = {
        at
        for at in others
        if is_a(columns[at], "annotating")
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
        if is_a(name, "special_lines")
        or name in ("Total", "total")
        or (lines and tidy(name) in totals)
        or (not lines and _is_numbering(name, X[:, at]))
    }
    described = {name: at for at, name in asked if is_a(name, "description", "sample_annotations")}
    classes = [name for name in described if is_a(name, "class_headings")]
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
    if not is_a(name, "numbering") or (len(name) == 1 and name != "X"):
        return False
    steps = np.diff(np.sort(values))
    return len(steps) > 1 and bool((steps >= 0.999).all() and (steps % 1 == 0).all())


def _has_levels(values: np.ndarray) -> bool:
    return len(np.unique(values[np.isfinite(values)])) <= _FEW_LEVELS
