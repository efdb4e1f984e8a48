"""Which axis of a table holds the samples.

Most published expression tables have one gene per line. If such a table were clustered as it is,
genes would be treated as samples without any sign of it in the result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from sparsekm.io.readers.names import NameEvidence, is_a, weigh_names

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
    values: np.ndarray | None = None,
) -> tuple[bool | None, str]:
    """Decide whether lines hold features, None if both readings are equally good, and say why.

    Evidence is weighed: the names of lines, none if they are only numbered, under their `heading`;
    those of columns with numbers and of columns and lines of text, of which `classes` have few
    values; and, if there is little else, the shape of the table and some of its values.
    """
    plain = [name for name in columns if not is_a(name, "feature_annotations")] or columns
    line, column = weigh_names(lines or ()), weigh_names(plain)
    if not has_header:
        column = column._replace(score=0.0, default=True)
    # One letter may be anything, as the B of limma.
    headings = [name for name in [*text_columns, *columns] if len(name) > 1]
    of_samples = [name for name in headings if is_a(name, "sample_annotations")]
    of_features = [name for name in headings if is_a(name, "feature_annotations")]
    of_features = [name for name in of_features if name not in of_samples]
    about = float(min(3, len(of_features)) - min(2, len(of_samples)))
    described = [*text_lines, *(name for name in lines or () if is_a(name, "sample_annotations"))]
    classes = [name for name in classes if name not in {*of_features, *of_samples}]
    levels = 0.0 if values is None else _weigh_levels(values)
    is_tall, is_wide = n_lines >= _TALL * len(columns), len(columns) >= _WIDE * n_lines
    weights = [
        (line.score, f"line names such as {_example(lines)}"),
        (-column.score, f"column names such as {_example(plain)}"),
        (_weigh_heading(heading, line.score, column.score), f"the heading {heading!r}"),
        (-2.0 * (not lines), "lines without names"),
        (
            about * (len(of_features) < len(columns) or line.score > 0),
            f"columns such as {_example(of_features or of_samples)}",
        ),
        (1.5 * bool(described), f"lines such as {_example(described)}"),
        (
            (-1.0 if has_header else -2.5) * bool(classes),
            f"classes such as those of {_example(classes)}",
        ),
        (levels, "measurements, which differ in level between lines or columns"),
        (_weigh_numbers(heading, lines, line, column, is_tall=is_tall), "the numbers in names"),
        (-1.0 * is_wide, "the shape of the table"),
    ]
    says_nothing = not lines and column.default and column.score == levels == 0
    # Numbers alone, which no shape but a wide one explains.
    may_be_any = is_tall or not has_header or lines is not None
    total = sum(weight for weight, _ in weights)
    if abs(total) < 1 or (says_nothing and may_be_any and not is_wide and not text_columns):
        return None, ""
    return total > 0, next(what for weight, what in weights if weight * total > 0)


def _weigh_heading(heading: str, line: float, column: float) -> float:
    if is_a(heading, "feature_heading") and not column > 0 >= line:
        return 2.0
    # Published tables call the names of genes so, next to those of samples.
    if not is_a(heading, "sample_heading") or column < 0 <= line:
        return 0.0
    return -1.5 * (column == 0) if line > 0 >= column else -2.0


def _weigh_numbers(
    heading: str,
    lines: Sequence[str] | None,
    line: NameEvidence,
    column: NameEvidence,
    *,
    is_tall: bool,
) -> float:
    """Weigh names that are known for neither axis by the numbers in them."""
    if not lines:
        return 0.0
    weight = 0.0
    if line.score == column.score == 0:
        if column.numbered and not column.default:
            weight = 1.0 * (not line.numbered or all(map(_LOCUS.fullmatch, lines)))
        elif line.numbered and not line.default and not column.numbered and not is_tall:
            weight = -1.0
    if heading and is_a(heading, "numbering") and all(map(str.isdecimal, lines)) and not is_tall:
        weight -= 1.0
    return weight


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
