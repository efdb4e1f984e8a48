"""What the lines and columns of a table are: names, measurements, samples or features.

What stands in the cells tells columns of text from those of numbers, finds the names of the lines,
and decides with the names of the columns whether lines or columns are the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sparsekm.io.readers.messages import MatrixError, shown
from sparsekm.io.readers.names import (
    is_a,
    is_row_numbers,
)
from sparsekm.io.readers.orientation import Axes, few_levels, find_orientation
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
        n_numbers = (~np.isnan(table.values[body])).sum(axis=0)
        is_text = n_text > n_numbers
        is_text[1 : 1 + table.n_annotations] = True
        is_text |= [bool(name) and name in named for name in self.header]
        # What no line has a value for is empty or, with a name, all missing.
        empty = (n_text + n_numbers == 0) & [not name for name in self.header]
        if empty.any():
            self.remarks.append(f"{empty.sum()} columns without a name are empty and left out.")
        self.text = np.flatnonzero(is_text & ~empty).tolist()
        self.numeric = np.flatnonzero(~is_text & ~empty).tolist()
        first = self.numeric[:1]
        ids = [at for at in self.numeric if is_a(self.header[at], "numbering")]
        ids += [at for at in first if at == 0 or is_a(self.header[at], "feature_heading")]
        cells = table.columns({*self.text, *ids, 0})
        self.cells = {at: np.array(column, dtype=object) for at, column in cells.items()}
        # Lines of text, such as units or classes, are set aside.
        share = np.zeros(len(table.lines))
        if len(self.numeric) > 1:
            share = table.is_text[:, self.numeric].sum(axis=1)
            share = np.where(share > 1, share / len(self.numeric), 0)
        share[: table.n_described] = 1
        self.rows = np.flatnonzero(share <= 0.5)
        self.aside = np.flatnonzero(share > 0.5)
        self._refuse_long()
        self.edge = self._find_edge(ids)
        self.text = [at for at in self.text if at != self.edge]
        self.numeric = [at for at in self.numeric if at != self.edge]
        if self.numeric[:1] == [0] and self.edge and is_row_numbers(self.header[0], self.column(0)):
            # Software numbered the lines.
            self.numeric = self.numeric[1:]
        if not self.numeric:
            cell = next((cell for at in reversed(self.text) for cell in self.column(at)), "")
            cure = "Set decimal if numbers have another decimal separator."
            if len(self.header) == 1:
                cure = "Separate cells by commas, semicolons or tabs."
            raise MatrixError(
                f"{table.file}: its columns {shown(self.header)} hold text, such as {cell!r}; "
                f"there should be numbers alone, without units. {cure}"
            )
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
        ids = [at for at in self.numeric if at in self.cells]
        ids = [at for at in ids if is_a(self.header[at], "sample_heading")]
        values = [at for at in self.numeric if at not in ids]
        texts = {at: self.column(at) for at in [*ids, *self.text[:6]]}
        n, sizes = len(self.rows), {at: len({*column}) for at, column in texts.items()}
        if self.settings.named or not 1 <= len(values) <= 2 or n < 6:
            return
        for one, two in combinations(texts, 2):
            n_pairs = len({*zip(texts[one], texts[two], strict=True)})
            is_axis = [1 < sizes[at] <= 0.6 * n for at in (one, two)]
            # Where a column names the lines, the two may describe them.
            headings = [is_a(self.header[at], "feature_heading") for at in (one, two)]
            if n in sizes.values() and sum(headings) != 1:
                continue
            if all(is_axis) and n_pairs == n >= sizes[one] * sizes[two] / 4:
                sample, feature, value = self.names([one, two, values[-1]])
                if is_a(sample, "feature_heading"):
                    sample, feature = feature, sample
                file, separator = self.table.file, self.table.separator
                wide = file.with_name(f"{file.name.split('.')[0]}_wide.csv")
                raise MatrixError(
                    f"{file}: a long table, with a line for each value of a sample ({sample!r}) "
                    f'and a feature ({feature!r}), is not read. Convert it: python -c "import '
                    f"pandas; pandas.read_csv({str(file)!r}, sep={separator!r}).pivot_table("
                    f"index={sample!r}, columns={feature!r}, values={value!r}).to_csv("
                    f'{str(wide)!r})", and give {wide.name}.'
                )

    def _find_edge(self, ids: Sequence[int]) -> int | None:
        """Return the column with the names of the lines, if there is one."""
        header, settings = self.header, self.settings
        if settings.samples in header:
            return header.index(settings.samples)
        if self.table.is_gct:
            return 0
        taken = {*settings.ignore, settings.labels, settings.groups, *settings.annotate}
        candidates = [at for at in self.text if header[at] not in taken or not header[at]]
        share = {at: len({*self.column(at)}) / max(1, len(self.rows)) for at in candidates}
        numbers = [at for at in self.numeric if header[at] not in taken or not header[at]]
        if 0 in numbers and is_a(header[0], "sample_heading"):
            column = self.column(0)
            if len({*column}) == len(column) and all(map(str.isdecimal, column)):
                return 0
        for at in candidates:
            heading, kinds = header[at], {*self.column(at)}
            if is_a(heading, "describing") and len(candidates) > 1:
                continue
            about = is_a(heading, "feature_annotations", "sample_annotations")
            about = about and not is_a(heading, "sample_heading", "numbering")
            if (
                (at == 0 and not heading and (self.table.has_header or share[at] > 0.5))
                or (is_a(heading, "feature_heading") and share[at] > 0.1 and len(kinds) > 2)
                or (
                    share[at] > 0.5
                    and (at == 0 or is_a(heading, "sample_heading", "numbering") or not about)
                )
            ):
                return at
        for at in sorted({*ids} & {*numbers}):
            column, first = self.column(at), at == min(numbers)
            others = self.table.values[np.ix_(self.rows, numbers[1:])]
            if len({*column}) < len(column):
                # Numbers of patients, some of whom came twice.
                values = self.table.values[self.rows, at]
                is_id = at == 0 and not self.table.has_header and (np.rint(values) == values).all()
                if is_id and others.size and values.min() > 10 * np.nanmax(others):
                    return 0
                continue
            if first and (is_a(header[at], "feature_heading") or (at == 0 and not header[0])):
                return at
            if not all(map(str.isdecimal, column)):
                continue
            is_plain = at == 0 and not self.table.has_header and len(column) >= _FEWEST_IDS
            if is_plain and (np.rint(others) != others).any():
                return 0
            if is_a(header[at], "numbering") and (first or header[at].lower() not in ("", "x")):
                return at
        for at in candidates:
            if is_a(header[at], "feature_annotations") and share[at] == 1:
                return at
        if settings.transpose is True and self.table.has_header and (candidates or numbers):
            return min([*candidates, *numbers])
        is_blank = not header[0] and self.table.has_header
        return 0 if is_blank and 0 not in self.numeric else None

    def _find_orientation(self) -> bool:
        """Decide whether lines hold features, and say so."""
        table, settings, header = self.table, self.settings, self.header
        if isinstance(settings.transpose, bool):
            return settings.transpose
        heading, lines, above = "", None, []
        if self.edge is not None:
            heading, lines = header[self.edge], self.column(self.edge)
            above = self.cells[self.edge][self.aside].tolist()
            lines = None if is_row_numbers(heading, lines) else lines
        self._refuse_distances(lines)
        axes = Axes(
            heading,
            lines,
            self.names(self.numeric),
            len(self.rows),
            self.names(self.text),
            above,
            table.has_header,
            table.is_gct,
            self.edge is not None and lines is None,
            table.values[np.ix_(self.rows[:500], self.numeric[:500])],
            [header[at] for at in self.text if few_levels(self.column(at))],
        )
        found = find_orientation(axes)
        where = next((key for key, name in settings.named.items() if name in header), None)
        if where is None and settings.named:
            key, name = next(iter(settings.named.items()))
            if self.line(name) is not None or self.above(name) is not None:
                self.remarks.append(
                    f"{key} names a line, {name!r}: lines are read as features and columns as "
                    "samples. Set transpose: false if lines hold samples."
                )
                return True
        elif where is not None:
            if found:
                self.remarks.append(
                    f"{axes.signs[0]} suggest features in lines, but {where} names a column: lines "
                    "are read as samples. Set transpose: true if they hold features."
                )
            return False
        if found is None:
            raise MatrixError(
                f"{table.file}: {len(self.rows)} lines and {len(self.numeric)} columns, and their "
                "names do not show which are the samples. Set transpose: true if each line is a "
                "feature (such as a gene), transpose: false if each line is a sample."
            )
        if found:
            self.remarks.append(
                f"lines are read as features and columns as samples, because of {axes.signs[0]}. "
                "Set transpose: false if lines hold samples."
            )
        return found

    def _refuse_distances(self, lines: list[str] | None) -> None:
        """Refuse distances or correlations, of which both axes hold the samples."""
        if lines is not None and lines == self.names(self.numeric):
            X = self.table.values[np.ix_(self.rows, self.numeric)]
            if np.allclose(X, X.T, equal_nan=True):
                raise MatrixError(
                    f"{self.table.file}: its {len(lines)} lines and columns have the same names, "
                    "and its values are symmetric: these are distances or correlations. Give the "
                    "table of measurements that they were computed from."
                )

    def line(self, name: str) -> int | None:
        """Return the line of a name."""
        if self.edge is None:
            return None
        found = np.flatnonzero(self.cells[self.edge] == name.strip())
        return int(found[0]) if len(found) else None

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
