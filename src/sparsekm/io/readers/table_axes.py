"""What the lines and columns of a table are: names, measurements, samples or features.

What stands in the cells tells columns of text from those of numbers, finds the names of the lines,
and decides with the names of the columns whether lines or columns are the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from sparsekm.io.readers.messages import refusal, say
from sparsekm.io.readers.names import is_a, is_row_numbers
from sparsekm.io.readers.orientation import few_levels, find_orientation
from sparsekm.io.readers.raw_matrix import Settings
from sparsekm.io.readers.text_table import TextTable

_FEWEST_IDS = 10


class TableAxes:
    """What the lines and columns of one table are, by index.

    `rows` and `numeric` hold measurements, `aside` are other lines, `text` other columns; `edge` is
    the column with the names of the lines. `transpose` tells that lines hold features.
    """

    def __init__(self, table: TextTable, settings: Settings) -> None:
        self.table, self.settings, self.remarks = table, settings, table.remarks
        self.header = table.header
        named = {*settings.named.values(), *settings.ignore}
        body = slice(table.n_described, None)
        n_text = table.is_text[body].sum(axis=0)
        is_number = ~np.isnan(table.values)
        n_numbers = is_number[body].sum(axis=0)
        is_text = n_text > n_numbers
        is_text[1 : 1 + table.n_annotations] = True
        is_text |= [bool(name) and name in named for name in self.header]
        # What no line has a value for is empty or, with a name, all missing.
        empty = (n_text + n_numbers == 0) & [not name for name in self.header]
        if empty.any():
            self.remarks.append(say("empty_columns", n=empty.sum()))
        self.text = np.flatnonzero(is_text & ~empty).tolist()
        self.numeric = np.flatnonzero(~is_text & ~empty).tolist()
        ids = [at for at in self.numeric if is_a(self.header[at], "numbering")]
        first = self.numeric[:1]
        ids += [at for at in first if at == 0 or is_a(self.header[at], "feature_heading")]
        cells = table.columns({*self.text, *ids, 0})
        self.cells = {at: np.array(column, dtype=object) for at, column in cells.items()}
        # Lines of text, such as units or classes, are set aside.
        n_text = table.is_text[:, self.numeric].sum(axis=1)
        n_numbers = is_number[:, self.numeric].sum(axis=1)
        is_aside = (n_text > 1) & (2 * n_text > len(self.numeric))
        # Notes with commas have few cells.
        is_aside |= (n_text > 0) & (n_numbers <= 1) & (len(self.numeric) > 3)
        is_aside[: table.n_described] = True
        self.rows, self.aside = np.flatnonzero(~is_aside), np.flatnonzero(is_aside)
        self._refuse_long()
        self.edge = self._find_edge(ids)
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
        self.ignored = self._set_special_lines_aside()

    def column(self, at: int) -> list[str]:
        """Return the cells of a column in the lines of numbers."""
        return self.cells[at][self.rows].tolist()

    def names(self, columns: Sequence[int]) -> list[str]:
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

    def _find_edge(self, ids: Sequence[int]) -> int | None:
        """Return the column with the names of the lines, if there is one."""
        header, settings, table = self.header, self.settings, self.table
        if settings.samples in header:
            return header.index(settings.samples)
        if table.is_gct:
            return 0
        taken = {*settings.ignore, *settings.named.values()} - {""}
        texts = [at for at in self.text if header[at] not in taken]
        numbers = [at for at in self.numeric if header[at] not in taken]
        n, size = len(self.rows), {at: len({*self.column(at)}) for at in [*texts, *ids]}
        is_whole = {at: all(map(str.isdecimal, self.column(at))) for at in size}
        if 0 in numbers and is_a(header[0], "sample_heading") and size[0] == n and is_whole[0]:
            return 0
        about = {
            at: is_a(header[at], "feature_annotations", "sample_annotations")
            and not is_a(header[at], "sample_heading", "numbering")
            for at in texts
        }
        # Where the cells of one differ, others hold times of entry, say, or family names.
        whole = [at for at in texts if size[at] == n and not about[at]]
        for at in texts:
            is_feature = is_a(header[at], "feature_heading")
            if is_a(header[at], "describing") and len(texts) > 1:
                continue
            if whole and at not in whole and not is_feature:
                continue
            if (
                (at == 0 and not header[at] and (table.has_header or 2 * size[at] > n))
                or (2 * size[at] > n and (at == 0 or not about[at]))
                or (is_feature and size[at] > max(2, n / 10))
            ):
                return at
        for at in sorted({*ids} & {*numbers}):
            is_first, is_bare = at == numbers[0], at == 0 and not table.has_header
            others = table.values[np.ix_(self.rows, numbers[1:])]
            if size[at] < n:
                # Numbers of patients, some of whom came twice.
                is_id = is_bare and is_whole[at] and others.size
                if is_id and min(map(int, self.column(at))) > 10 * np.nanmax(others):
                    return 0
                continue
            if is_first and (is_a(header[at], "feature_heading") or (at == 0 and not header[0])):
                return at
            if not is_whole[at]:
                continue
            is_long = is_bare and len(self.rows) >= _FEWEST_IDS
            if is_long and (np.rint(others) != others).any():
                return 0
            is_named = is_first or header[at].lower() not in ("", "x")
            if is_a(header[at], "numbering") and is_named:
                return at
        unique = [at for at in texts if is_a(header[at], "feature_annotations") and size[at] == n]
        if unique or (settings.transpose is True and table.has_header and (texts or numbers)):
            return unique[0] if unique else min([*texts, *numbers])
        is_blank = not header[0] and table.has_header
        return 0 if is_blank and 0 not in self.numeric else None

    def _find_orientation(self) -> bool:
        """Decide whether lines hold features, and say so."""
        table, settings, header = self.table, self.settings, self.header
        if isinstance(settings.transpose, bool):
            return settings.transpose
        heading, lines, above, columns = "", None, [], self.names(self.numeric)
        if self.edge is not None:
            heading, lines = header[self.edge], self.column(self.edge)
            above = self.cells[self.edge][self.aside].tolist()
            lines = None if is_row_numbers(heading, lines) else lines
        if lines == columns:
            X = table.values[np.ix_(self.rows, self.numeric)]
            # One half may be empty.
            X = np.where(np.isnan(X), X.T, X)
            if np.allclose(X, X.T, equal_nan=True):
                raise refusal("distances", table.file, n=len(X))
        found, sign = find_orientation(
            heading,
            lines,
            columns,
            len(self.rows),
            text_columns=self.names(self.text),
            text_lines=above,
            classes=[header[at] for at in self.text if few_levels(self.column(at))],
            has_header=table.has_header,
            is_gct=table.is_gct,
            is_numbered=self.edge is not None and lines is None,
            values=table.values[np.ix_(self.rows[:500], self.numeric[:500])],
        )
        for key, name in settings.named.items():
            if name in header:
                if found:
                    self.remarks.append(say("features_despite", sign=sign, key=key))
                return False
        for key, name in [*settings.named.items()][:1]:
            if self.has_line(name) or self.above(name) is not None:
                self.remarks.append(say("names_a_line", key=key, name=name))
                return True
        if found is None:
            raise refusal("ask", table.file, n=len(self.rows), p=len(self.numeric))
        self.remarks += [say("features", sign=sign)] * found
        return found

    def has_line(self, name: str) -> bool:
        """Tell whether a line has the name."""
        return self.edge is not None and name.strip() in self.cells[self.edge]

    def above(self, name: str) -> list[str] | None:
        """Return the line above the header that a setting means: GEO's have prefixes."""
        plain = name.strip().lstrip("!").casefold()
        keys = {key.casefold(): values for key, values in reversed(self.table.above.items())}
        return keys.get(plain) or next((keys[key] for key in keys if key.startswith(plain)), None)

    def _set_special_lines_aside(self) -> set[str]:
        """Set aside the lines that settings name, and return the names of those to ignore."""
        special = {name for name in self.settings.ignore if name not in self.header}
        if self.transpose:
            special = {*self.settings.named.values(), *self.settings.ignore}
        if self.edge is None or not special:
            return set()
        names = self.column(self.edge)
        found = np.array([name in special for name in names], dtype=bool)
        if self.transpose:
            self.aside = np.sort([*self.aside, *self.rows[found]])
        self.rows = self.rows[~found]
        return special.intersection(names)
