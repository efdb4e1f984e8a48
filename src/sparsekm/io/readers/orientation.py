"""Which axis of a table holds the samples.

Most published expression tables have one gene per line. If such a table were clustered as it is,
genes would be treated as samples without any sign of it in the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sparsekm.io.readers.names import is_a, weigh_names

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
