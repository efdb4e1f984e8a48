"""The first lines of a text table: what its columns hold, and which axis holds the samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np

from sparsekm.io.readers.cells import MISSING_LABELS, CellParser, DecimalMark
from sparsekm.io.readers.left_out import few_levels, is_row_numbers
from sparsekm.io.readers.names import NUMBERING, is_known, names_features, names_samples
from sparsekm.io.readers.orientation import Axes, find_orientation
from sparsekm.io.readers.raw_matrix import MatrixError, shown
from sparsekm.io.readers.text_lines import TextLines

_HEAD_CELLS = 150_000
_HEAD_ROWS = 2000
_FEWEST_IDS = 10
_LONG_ROWS = 100_000


@dataclass(frozen=True)
class TableSettings:
    """How a table is to be read; see `read_text`."""

    labels: str | None = None
    samples: str | None = None
    groups: str | None = None
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    transpose: bool | str = "auto"
    decimal: str = "auto"
    missing_values: tuple[object, ...] = ()
    duplicates: str | None = None
    annotate: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, str]:
        """The names of classes, samples, groups and annotations, by setting."""
        pairs = (("labels", self.labels), ("samples", self.samples), ("groups", self.groups))
        others = {f"annotate[{at}]": name for at, name in enumerate(self.annotate)}
        return {key: name for key, name in pairs if name is not None} | others

    def is_missing_label(self, value: object) -> bool:
        """Tell whether a class or group is missing."""
        return value in MISSING_LABELS or value in map(str, self.missing_values)


@dataclass
class TableHead:
    """The columns of a table, by its first lines."""

    table: TextLines
    parser: CellParser
    rows: list[list[str]]
    n_lines: int
    text: list[int]  # columns of text, and those that settings name
    numeric: list[int]
    edge: int | None = None  # the column with the names of the lines
    text_lines: list[list[str]] = field(default_factory=list)

    def column(self, at: int) -> list[str]:
        """Return the cells of a column in the first lines."""
        return [row[at] for row in self.rows]

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the headings of some columns."""
        return [self.table.header[at] for at in columns]


def look_at(table: TextLines, settings: TableSettings) -> TableHead:
    """Tell columns of text from those of numbers, and find the one with the names of the lines."""
    for key, name in settings.named.items():
        if name in settings.ignore:
            raise MatrixError(
                f"{table.file}: {key}={name!r} should not also be ignored. Set either {key} or "
                "ignore."
            )
    most = min(_HEAD_ROWS, max(30, _HEAD_CELLS // table.n_columns))
    rows = []
    for _, cells in table.rows():
        rows.append(cells)
        if len(rows) == most:
            break
    table.remarks[:] = [remark for remark in table.remarks if "(the first is line" not in remark]
    if not rows:
        raise MatrixError(f"{table.file}: lines=1; there should be a header and samples.")
    decimal, example = settings.decimal, None
    if decimal == "auto":
        some = (cell for row in rows[table.n_described : 200] for cell in row[:500])
        decimal, example = DecimalMark(some, table.separator).found
    if example is not None:
        table.remarks.append(
            f"numbers have a decimal comma: {example!r} is read as "
            f"{example.replace('.', '').replace(',', '.')}. Set decimal: '.' to read them "
            "otherwise."
        )
    parser = CellParser(decimal, settings.missing_values)
    body = rows[table.n_described :] or rows
    found = np.array([parser.numbers(row)[0] for row in body], dtype=object)
    is_text = np.equal(found, None)
    is_number = ~is_text & (found == found)
    text = is_text.sum(axis=0) > is_number.sum(axis=0)
    # What no line has a value for is empty or, with a name, all missing.
    empty = [
        at
        for at, name in enumerate(table.header)
        if not name and not any(row[at].strip() for row in rows)
    ]
    if empty:
        table.remarks.append(f"{len(empty)} columns without a name are empty and left out.")
    named = {*settings.named.values(), *settings.ignore}
    special = [at for at, name in enumerate(table.header) if name and name in named]
    text[[*range(1, 1 + table.n_annotations), *special]] = True
    columns = [at for at in range(table.n_columns) if at not in empty]
    head = TableHead(
        table,
        parser,
        body,
        table.n_lines,
        [at for at in columns if text[at]],
        [at for at in columns if not text[at]],
    )
    if not settings.named:
        _refuse_long(head)
    head.edge = _find_edge(head, settings)
    head.text = [at for at in head.text if at != head.edge]
    head.numeric = [at for at in head.numeric if at != head.edge]
    if head.numeric[:1] == [0] and head.edge and is_row_numbers(table.header[0], head.column(0)):
        # Software numbered the lines.
        head.numeric = head.numeric[1:]
    if not head.numeric:
        raise MatrixError(
            f"{table.file}: its columns {shown(table.header)} hold text; there should be numbers. "
            "Set decimal if numbers have another decimal separator."
        )
    if len(head.numeric) > 1:
        share = is_text[:, head.numeric].mean(axis=1)
        head.text_lines = [*rows[: table.n_described]]
        head.text_lines += [row for row, of_text in zip(body, share, strict=True) if of_text > 0.5]
        head.rows = [row for row, of_text in zip(body, share, strict=True) if of_text <= 0.5]
    return head


def _refuse_long(head: TableHead) -> None:
    """Refuse a table with a line for each value, of which two columns name sample and feature."""
    table = head.table
    if not 1 <= len(head.numeric) <= 2 or len(head.text) < 2:
        return
    if any(len({*head.column(at)}) == len(head.rows) for at in head.text):
        return
    rows = [row for _, row in islice(table.rows(), _LONG_ROWS)]
    for one, two in combinations(head.text[:6], 2):
        first, second = ([row[at] for row in rows] for at in (one, two))
        n, n_first, n_second = len(rows), len({*first}), len({*second})
        is_grid = len({*zip(first, second, strict=True)}) == n >= n_first * n_second / 4
        if is_grid and n >= 6 and 1 < n_first <= 0.6 * n and 1 < n_second <= 0.6 * n:
            names = [table.header[at] for at in (one, two, head.numeric[-1])]
            if names_features(names[0]):
                names[:2] = names[1::-1]
            wide = table.file.with_name(f"{table.file.name.split('.')[0]}_wide.csv")
            raise MatrixError(
                f"{table.file}: a long table, with a line for each value of a sample "
                f"({names[0]!r}) "
                f'and a feature ({names[1]!r}), is not read. Convert it: python -c "import pandas; '
                f"pandas.read_csv({str(table.file)!r}, sep={table.separator!r}).pivot_table("
                f"index={names[0]!r}, columns={names[1]!r}, values={names[2]!r}).to_csv("
                f'{str(wide)!r})", and give {wide.name}.'
            )


def _find_edge(head: TableHead, settings: TableSettings) -> int | None:
    """Return the column with the names of the lines, if there is one."""
    header = head.table.header
    if settings.samples in header:
        return header.index(settings.samples)
    taken = {*settings.ignore, settings.labels, settings.groups, *settings.annotate}
    candidates = [at for at in head.text if header[at] not in taken or not header[at]]
    for at in candidates:
        column, heading = head.column(at), header[at]
        different = len({*column}) / len(column)
        about = any(
            is_known(heading, kind) for kind in ("feature_annotations", "sample_annotations")
        )
        if is_known(heading, "describing") and len(candidates) > 1:
            continue
        if (
            (at == 0 and not heading and (head.table.has_header or different > 0.5))
            or (names_features(heading) and different > 0.1 and len({*column}) > 2)
            or (different > 0.5 and (at == 0 or names_samples(heading) or not about))
        ):
            return at
    numbers = [at for at in head.numeric if header[at] not in taken or not header[at]]
    for at in numbers:
        column = head.column(at)
        first = at == min(numbers)
        if len({*column}) < len(column):
            continue
        if (at == 0 and not header[0]) or (first and names_features(header[at])):
            return at
        if not all(cell.strip().isdecimal() for cell in column):
            continue
        if at == 0 and not head.table.has_header and len(column) >= _FEWEST_IDS:
            whole = [head.column(other) for other in numbers[1:]]
            if not all(cell.strip().isdecimal() for other in whole for cell in other):
                return 0
        if NUMBERING.fullmatch(header[at]) and (first or header[at].lower() not in ("", "x")):
            return at
    for at in candidates:
        if is_known(header[at], "feature_annotations") and len({*head.column(at)}) == len(
            head.rows
        ):
            return at
    if settings.transpose is True and head.table.has_header and (candidates or numbers):
        return min([*candidates, *numbers])
    is_blank = not header[0] and head.table.has_header
    return 0 if is_blank and 0 not in head.numeric else None


def is_transposed(head: TableHead, settings: TableSettings) -> bool:
    """Decide whether lines hold features, and say so."""
    table, header = head.table, head.table.header
    if isinstance(settings.transpose, bool):
        return settings.transpose
    wanted = settings.named
    where = next((key for key, name in wanted.items() if name in header), None)
    lines = None
    if head.edge is not None:
        lines = [name.strip() for name in head.column(head.edge)]
        if is_row_numbers(header[head.edge], lines):
            lines = None
    axes = Axes(
        header[head.edge] if head.edge is not None else "",
        lines,
        head.names(head.numeric),
        head.n_lines,
        head.names(head.text),
        [row[head.edge] for row in head.text_lines] if head.edge is not None else (),
        table.has_header,
        _numbers(head),
        [header[at] for at in head.text if few_levels(head.column(at))],
    )
    found = find_orientation(axes)
    if where is None and wanted:
        key, name = next(iter(wanted.items()))
        if name in _names_of_lines(head) or find_above(table, name) is not None:
            table.remarks.append(
                f"{key} names a line, {name!r}: lines are read as features and columns as samples. "
                "Set transpose: false if lines hold samples."
            )
            return True
    elif where is not None:
        if found:
            table.remarks.append(
                f"{axes.signs[0]} suggest features in lines, but {where} names a column: lines are "
                "read as samples. Set transpose: true if they hold features."
            )
        return False
    if found is None:
        raise MatrixError(
            f"{table.file}: {head.n_lines} lines and {len(head.numeric)} columns, and their names "
            "do not show which are the samples. Set transpose: true if each line is a feature "
            "(such as a gene), transpose: false if each line is a sample."
        )
    if found:
        table.remarks.append(
            f"lines are read as features and columns as samples, because of {axes.signs[0]}. Set "
            "transpose: false if lines hold samples."
        )
    return found


def _numbers(head: TableHead) -> np.ndarray:
    """Return the numbers of the first lines."""
    some = head.rows[:500]
    columns = head.numeric[:500]
    found = [head.parser.numbers([row[at] for at in columns])[0] for row in some]
    return np.array(found, dtype=np.float64) if found else np.empty((0, 0))


def _names_of_lines(head: TableHead) -> set[str]:
    if head.edge is None:
        return set()
    return {cells[head.edge].strip() for _, cells in head.table.rows()}


def find_above(table: TextLines, name: str) -> str | None:
    """Return the name of the line above the header that a setting means: GEO's have prefixes."""
    plain = name.strip().lstrip("!").casefold()
    keys = {key.casefold(): key for key in reversed(table.above)}
    return keys.get(plain) or next((keys[key] for key in keys if key.startswith(plain)), None)
