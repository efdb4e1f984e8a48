"""Do the lines of a table hold samples or features? Decided from what stands on both axes.

Most published expression tables have one gene per line. If such a table were clustered as it is,
genes would be treated as samples without any sign of it in the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import rankdata

from sparsekm.io.readers.names import (
    NUMBERING,
    is_known,
    names_features,
    names_samples,
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
    values: np.ndarray | None = None  # some of the numbers, (lines, columns)
    class_columns: Sequence[str] = ()  # headings of columns of text with few values
    signs: list[str] = field(default_factory=list)  # what speaks for the decision


def find_orientation(axes: Axes) -> bool | None:
    """Decide whether lines hold features; None if both readings are equally good.

    Evidence is weighed: the form of the names, known words, headings of columns and lines that
    describe samples or features, and, if there is little else, the shape of the table.
    """
    plain = [
        name for name in axes.columns if not is_known(name, "feature_annotations")
    ] or axes.columns
    lines, columns = weigh_names(axes.lines or ()), weigh_names(plain)
    if not axes.has_header:
        columns = columns._replace(score=0.0, default=True)
    weights = {
        f"line names such as {_example(axes.lines)}": lines.score,
        f"column names such as {_example(plain)}": -columns.score,
    }
    if names_features(axes.heading) and not (columns.score > 0 >= lines.score):
        weights[f"the heading {axes.heading!r}"] = 2.0
    elif names_samples(axes.heading) and not (lines.score > 0 >= columns.score):
        weights[f"the heading {axes.heading!r}"] = -2.0
    elif names_samples(axes.heading):
        weights["the heading"] = 0.0
    headings = [*axes.text_columns, *axes.columns]
    # One letter may be anything, as the B of limma.
    headings = [name for name in headings if len(name) > 1]
    about_features = [name for name in headings if is_known(name, "feature_annotations")]
    about_samples = [name for name in headings if is_known(name, "sample_annotations")]
    about_features = [name for name in about_features if name not in about_samples]
    described = [name for name in axes.lines or () if is_known(name, "sample_annotations")]
    annotated = min(2, len(about_features)) - min(2, len(about_samples))
    if len(about_features) < len(axes.columns) or lines.score > 0:
        weights[f"columns such as {_example(about_features or about_samples)}"] = float(annotated)
    weights[f"lines such as {_example([*axes.text_lines, *described])}"] = 1.5 * bool(
        axes.text_lines or described
    )
    classes = [name for name in axes.class_columns if name not in about_features]
    classes = [name for name in classes if name not in about_samples]
    if classes:
        weights[f"classes such as those of {_example(classes)}"] = -1.0 if axes.has_header else -2.5
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
    if numbers and NUMBERING.fullmatch(axes.heading) and axes.heading and not tall:
        weights["numbers of samples"] = -1.0
    if is_wide:
        weights["the shape of the table"] = -1.0
    says_nothing = axes.lines is None and columns.default and columns.score == levels == 0
    # Numbers alone, which no shape but a wide one explains.
    if says_nothing and (tall or not axes.has_header) and not (is_wide or axes.text_columns):
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
    ranks = rankdata(np.where(np.isfinite(values), values, np.nan), nan_policy="omit")
    ranks = ranks.reshape(values.shape) - np.nanmean(ranks)
    total = np.nanmean(ranks**2)
    if not total > 0:
        return 0.0
    shares = []
    for axis in (1, 0):
        length = values.shape[axis]
        with np.errstate(invalid="ignore"):
            means = [
                row[np.isfinite(row)].mean() if np.isfinite(row).any() else 0
                for row in (ranks if axis else ranks.T)
            ]
        # Less what chance gives to means of so few.
        share = np.var(means) / total
        shares.append((share - 1 / length) / (1 - 1 / length))
    lines, columns = shares
    if lines > _LEVELS and columns < _NO_LEVELS:
        return 1.0
    return -1.0 if columns > _LEVELS and lines < _NO_LEVELS else 0.0


def _example(names: Sequence[str] | None) -> str:
    return repr(names[0][:40]) if names else "none"
