"""What the lines and columns of a table are: names, measurements, samples or features.

What stands in the cells tells columns of text from those of numbers, finds the names of the lines,
and decides with the names of the columns whether lines or columns are the samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import refusal, say
from sparsekm.io.readers.names import NameEvidence, is_a, is_row_numbers, weigh_names
from sparsekm.io.readers.raw_matrix import Settings
from sparsekm.io.readers.text_table import TextTable

_FEWEST_IDS = 10
_TALL, _WIDE = 10, 5  # ratios of lines to columns, from which numbered lines may be features
_LOCUS = re.compile(r"[A-Za-z]{1,8}[_.]?\d{4,}[a-z]?(\.\d)?")
_LEVELS, _NO_LEVELS = 0.6, 0.1


def few_levels(values: Sequence[str]) -> bool:
    """Tell whether a column of text may hold classes: some values, all of them repeated often."""
    found = set(values) - {""}
    return 2 <= len(found) <= max(2, min(50, len(values) // 2))


class TableAxes:
    """What the lines and columns of one table are, by index.

    `rows` and `numeric` hold measurements, `aside` are other lines, `text` other columns; `edge` is
    the column with the names of the lines. `transpose` tells that lines hold features.
    """

    def __init__(self, table: TextTable, settings: Settings) -> None:
        self.table, self.settings = table, settings
        self.header, self.remarks = table.header, table.remarks
        named = {*settings.named.values(), *settings.ignore} - {""}
        body = slice(table.n_described, None)
        is_number = ~np.isnan(table.values)
        n_text, n_numbers = table.is_text[body].sum(axis=0), is_number[body].sum(axis=0)
        is_text = (n_text > n_numbers) | [name in named for name in self.header]
        is_text[1 : 1 + table.n_annotations] = True
        # What no line has a value for is empty or, with a name, all missing.
        empty = (n_text + n_numbers == 0) & [not name for name in self.header]
        if empty.any():
            self.remarks.append(say("empty_columns", n=empty.sum()))
        self.text = np.flatnonzero(is_text & ~empty).tolist()
        self.numeric = np.flatnonzero(~is_text & ~empty).tolist()
        ids = [at for at in self.numeric if is_a(self.header[at], "numbering")]
        first = self.numeric[:1]
        ids += [at for at in first if at == 0 or is_a(self.header[at], "feature_heading")]
        self.cells = table.columns({*self.text, *ids, 0})
        # Lines of text, such as units or classes, are set aside.
        n_text = table.is_text[:, self.numeric].sum(axis=1)
        n_numbers = is_number[:, self.numeric].sum(axis=1)
        is_aside = (n_text > 1) & (2 * n_text > len(self.numeric))
        # Notes with commas have few cells.
        is_aside |= (n_text > 0) & (n_numbers <= 1) & (len(self.numeric) > 3)
        is_aside[: table.n_described] = True
        self.rows, self.aside = np.flatnonzero(~is_aside), np.flatnonzero(is_aside)
        self._refuse_long()
        self.edge = self._find_edge(sorted({*ids}))
        if not table.has_header and self.edge != 0:
            self.header[0] = "column1"
        self.text = [at for at in self.text if at != self.edge]
        self.numeric = [at for at in self.numeric if at != self.edge]
        if self.numeric[:1] == [0] and self.edge and is_row_numbers(self.header[0], self.column(0)):
            # Software numbered the lines.
            self.numeric = self.numeric[1:]
        if not self.numeric:
            cell = next((cell for at in reversed(self.text) for cell in self.column(at)), "")
            kind = "one_cell" if len(self.header) == 1 else "all_text"
            raise refusal(kind, table.file, names=self.header, cell=cell)
        self.transpose = self._find_orientation()
        self._set_named_lines_aside()

    def column(self, at: int) -> list[str]:
        """Return the cells of a column in the lines of numbers."""
        return self.cells[at][self.rows].tolist()

    def names(self, columns: Iterable[int]) -> list[str]:
        """Return the headings of some columns."""
        return [self.header[at] for at in columns]

    def _refuse_long(self) -> None:
        """Refuse a table with a line for each value, where two columns name sample and feature."""
        file, ids = self.table.file, [at for at in self.numeric if at in self.cells]
        ids = [at for at in ids if is_a(self.header[at], "sample_heading")]
        values = [at for at in self.numeric if at not in ids]
        if self.settings.named or not 1 <= len(values) <= 2 or len(self.rows) < 6:
            return
        texts = pd.DataFrame({at: self.column(at) for at in [*ids, *self.text[:6]]})
        n, sizes = len(texts), texts.nunique()
        for pair in combinations(sizes.index[(sizes > 1) & (sizes <= 0.6 * n)], 2):
            names = self.names(pair)
            n_features = sum(is_a(name, "feature_heading") for name in names)
            # Where another column names the lines, the two may describe them.
            is_named = n in sizes.to_numpy() and n_features != 1
            if is_named or texts[[*pair]].duplicated().any() or n < sizes[[*pair]].prod() / 4:
                continue
            sample, feature = names[::-1] if is_a(names[0], "feature_heading") else names
            wide = file.with_name(f"{file.name.split('.')[0]}_wide.csv")
            about = {"path": str(file), "wide": str(wide), "new": wide.name}
            about |= {"separator": self.table.separator, "value": self.header[values[-1]]}
            raise refusal("long", file, sample=sample, feature=feature, **about)

    def _find_edge(self, ids: list[int]) -> int | None:
        """Return the column with the names of the lines, if there is one."""
        table, header, settings = self.table, self.header, self.settings
        if settings.samples in header:
            return header.index(settings.samples)
        if table.is_gct:
            return 0

        def is_called(at: int, *kinds: str) -> bool:
            return is_a(header[at], *kinds)

        taken = {*settings.ignore, *settings.named.values()} - {""}
        texts = [at for at in self.text if header[at] not in taken]
        numbers = [at for at in self.numeric if header[at] not in taken]
        n, cells = len(self.rows), {at: self.column(at) for at in [*texts, *ids]}
        size = {at: len({*cells[at]}) for at in cells}
        whole = [at for at in cells if all(map(str.isdecimal, cells[at]))]
        if 0 in numbers and is_called(0, "sample_heading") and size[0] == n and 0 in whole:
            return 0
        about = [at for at in texts if is_called(at, "feature_annotations", "sample_annotations")]
        about = [at for at in about if not is_called(at, "sample_heading", "numbering")]
        # Where the cells of one differ, others hold times of entry, say, or family names.
        names = [at for at in texts if size[at] == n and at not in about]
        for at in texts:
            is_feature = is_called(at, "feature_heading")
            if (is_called(at, "describing") and len(texts) > 1) or (
                names and at not in names and not is_feature
            ):
                continue
            is_blank = at == 0 and not header[0] and table.has_header
            is_name = 2 * size[at] > n and (at == 0 or at not in about)
            if is_blank or is_name or (is_feature and size[at] > max(2, n / 10)):
                return at
        others = table.values[np.ix_(self.rows, numbers[1:])]
        for at in (at for at in ids if at in numbers):
            is_first, is_bare = at == numbers[0], at == 0 and not table.has_header
            if size[at] < n:
                # Numbers of patients, some of whom came twice.
                is_id = is_bare and at in whole and others.size
                if is_id and min(map(int, cells[at])) > 10 * np.nanmax(others):
                    return 0
            elif is_first and (is_called(at, "feature_heading") or (at == 0 and not header[0])):
                return at
            elif at in whole:
                if is_bare and n >= _FEWEST_IDS and (np.rint(others) != others).any():
                    return 0
                if is_called(at, "numbering") and (is_first or header[at].lower() not in ("", "x")):
                    return at
        unique = [at for at in texts if is_called(at, "feature_annotations") and size[at] == n]
        if unique or (settings.transpose is True and table.has_header and (texts or numbers)):
            return unique[0] if unique else min([*texts, *numbers])
        return 0 if not header[0] and table.has_header and 0 not in self.numeric else None

    def _find_orientation(self) -> bool:
        """Decide whether lines hold features, and say so."""
        table, settings, header = self.table, self.settings, self.header
        if isinstance(settings.transpose, bool):
            return settings.transpose
        heading, lines, columns = "", None, self.names(self.numeric)
        if self.edge is not None:
            heading, lines = header[self.edge], self.column(self.edge)
            lines = [] if is_row_numbers(heading, lines) else lines
        if lines == columns:
            X = table.values[np.ix_(self.rows, self.numeric)]
            # One half may be empty.
            X = np.where(np.isnan(X), X.T, X)
            if np.allclose(X, X.T, equal_nan=True):
                raise refusal("distances", table.file, n=len(X))
        found, sign = find_orientation(heading, lines, columns, self)
        if table.is_gct:
            found, sign = True, "the format, GCT"
        for key, name in settings.named.items():
            if name in header:
                if found:
                    self.remarks.append(say("features_despite", sign=sign, key=key))
                return False
        for key, name in [*settings.named.items()][:1]:
            is_line = self.edge is not None and name.strip() in self.cells[self.edge]
            if is_line or self.above(name) is not None:
                self.remarks.append(say("names_a_line", key=key, name=name))
                return True
        if found is None:
            raise refusal("ask", table.file, n=len(self.rows), p=len(self.numeric))
        self.remarks += [say("features", sign=sign)] * found
        return found

    def above(self, name: str) -> list[str] | None:
        """Return the line above the header that a setting means: GEO's have prefixes."""
        plain = name.strip().lstrip("!").casefold()
        keys = {key.casefold(): values for key, values in reversed(self.table.above.items())}
        return keys.get(plain) or next((keys[key] for key in keys if key.startswith(plain)), None)

    def _set_named_lines_aside(self) -> None:
        """Set aside the lines that settings name; without samples in columns, leave them out."""
        settings = self.settings
        if self.edge is None:
            return
        named = {*settings.ignore, *(settings.named.values() if self.transpose else ())}
        is_named = np.array([name in named for name in self.column(self.edge)], dtype=bool)
        if self.transpose:
            self.aside = np.sort([*self.aside, *self.rows[is_named]])
        self.rows = self.rows[~is_named]


def find_orientation(
    heading: str, lines: list[str] | None, columns: list[str], axes: TableAxes | None = None
) -> tuple[bool | None, str]:
    """Decide whether lines hold features, None if both readings are equally good, and say why.

    Most published expression tables have one gene per line. If such a table were clustered as it
    is, genes would be treated as samples without any sign of it in the result. Evidence is
    weighed: the names of lines, none if they are only numbered, under their `heading`; those of
    columns with numbers; and, in a table of text, those of columns and lines of text, the shape
    and the values.
    """
    has_header = axes is None or axes.table.has_header
    plain = [name for name in columns if not is_a(name, "feature_annotations")] or columns
    line, column = weigh_names(lines or ()), weigh_names(plain)
    if not has_header:
        column = column._replace(score=0.0, default=True)
    # One letter may be anything, as the B of limma.
    headings = [*(axes.names(axes.text) if axes else ()), *columns]
    headings = [name for name in headings if len(name) > 1]
    of_samples = [name for name in headings if is_a(name, "sample_annotations")]
    of_features = [name for name in headings if is_a(name, "feature_annotations")]
    of_features = [name for name in of_features if name not in of_samples]
    about = float(min(3, len(of_features)) - min(2, len(of_samples)))
    described = [name for name in lines or () if is_a(name, "sample_annotations")]
    classes, levels, n_lines, n_columns = [], 0.0, len(lines or ()), len(columns)
    if axes:
        described = (
            [*axes.cells[axes.edge][axes.aside], *described] if axes.edge is not None else []
        )
        classes = [axes.header[at] for at in axes.text if few_levels(axes.column(at))]
        levels = _weigh_levels(axes.table.values[np.ix_(axes.rows[:500], axes.numeric[:500])])
        n_lines = len(axes.rows)
    classes = [name for name in classes if name not in {*of_features, *of_samples}]
    is_tall, is_wide = n_lines >= _TALL * n_columns, n_columns >= _WIDE * n_lines
    weights = [
        (line.score, f"line names such as {_example(lines)}"),
        (-column.score, f"column names such as {_example(plain)}"),
        (_weigh_heading(heading, line.score, column.score), f"the heading {heading!r}"),
        (-2.0 * (not lines), "lines without names"),
        (
            about * (len(of_features) < n_columns or line.score > 0),
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
    if abs(total) < 1 or (says_nothing and may_be_any and not is_wide and not (axes and axes.text)):
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
