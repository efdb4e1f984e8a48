"""Reading a matrix from a text table.

The first lines tell which columns hold text and which numbers, and with all names whether lines or
columns are the samples (`orientation`). Then the cells are read once. What is neither a name, a
class nor a measurement is left out, which a remark says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from operator import itemgetter
from pathlib import Path

import numpy as np

from sparsekm.io.readers.cells import MISSING_LABELS, CellParser, DecimalMark
from sparsekm.io.readers.left_out import (
    doubtful_columns,
    few_levels,
    is_row_numbers,
    left_out_columns,
    left_out_features,
    left_out_samples,
)
from sparsekm.io.readers.names import NUMBERING, is_known, names_features, names_samples
from sparsekm.io.readers.orientation import Axes, find_orientation
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_groups,
    check_labels,
    check_names,
    check_size,
    listed,
    quoted,
    shown,
    suggest,
)
from sparsekm.io.readers.remarks import list_remarks
from sparsekm.io.readers.repeated import merge_features, number_names
from sparsekm.io.readers.text_lines import UNREADABLE, TextLines, open_lines
from sparsekm.io.row_stream import RowStream

_CELLS_AT_ONCE = 2**20
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

    @property
    def named(self) -> dict[str, str]:
        """The names of classes, samples and groups, by setting."""
        pairs = (("labels", self.labels), ("samples", self.samples), ("groups", self.groups))
        return {key: name for key, name in pairs if name is not None}

    def is_missing_label(self, value: object) -> bool:
        """Tell whether a class or group is missing."""
        return value in MISSING_LABELS or value in map(str, self.missing_values)


@dataclass
class _Head:
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
        return [row[at] for row in self.rows]

    def names(self, columns: Sequence[int]) -> list[str]:
        return [self.table.header[at] for at in columns]


@dataclass
class _Cells:
    """The cells of a table: numbers by block of lines, and text."""

    blocks: list[np.ndarray] = field(default_factory=list)
    offset: list[float] | np.ndarray | None = None  # by line or column, whichever are the features
    texts: dict[int, list[str]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)  # lines of text, by name
    odd: Counter[str] = field(default_factory=Counter)
    odd_columns: dict[int, tuple[int, str]] = field(default_factory=dict)  # line and cell
    skipped: set[str] = field(default_factory=set)  # names of lines that are ignored
    n_infinite: int = 0


def read_text(file: str | Path, settings: TableSettings) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed, changed and left out.

    A `MatrixError` names the file, the value, the rule and the setting that helps.
    """
    table = open_lines(file)
    try:
        head = _look(table, settings)
        transpose = _is_transposed(head, settings)
        return _read(head, settings, transpose)
    except MatrixError as error:
        message = str(error)
        raise error if str(file) in message else MatrixError(f"{file}: {message}") from error
    except UNREADABLE as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise MatrixError(
            f"{file}: {reason}. Every line should have {table.n_columns} cells."
        ) from error


def _look(table: TextLines, settings: TableSettings) -> _Head:
    """Tell columns of text from those of numbers, and find the one with the names of the lines."""
    for key, name in settings.named.items():
        if name in settings.ignore:
            raise MatrixError(
                f"{table.file}: {key}={name!r} should not also be ignored. Set either {key} or "
                "ignore."
            )
    most = min(_HEAD_ROWS, max(30, _HEAD_CELLS // table.n_columns))
    rows, n_lines = [], 0
    for number, line in table.lines():
        n_lines += number >= table.first and line[0] not in "#!"
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
    head = _Head(
        table,
        parser,
        body,
        n_lines,
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


def _refuse_long(head: _Head) -> None:
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


def _find_edge(head: _Head, settings: TableSettings) -> int | None:
    """Return the column with the names of the lines, if there is one."""
    header = head.table.header
    if settings.samples in header:
        return header.index(settings.samples)
    taken = {*settings.ignore, settings.labels, settings.groups}
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


def _is_transposed(head: _Head, settings: TableSettings) -> bool:
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
        if name in _names_of_lines(head) or _find_above(table, name) is not None:
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
            "(such "
            "as a gene), transpose: false if each line is a sample."
        )
    if found:
        table.remarks.append(
            f"lines are read as features and columns as samples, because of {axes.signs[0]}. Set "
            "transpose: false if lines hold samples."
        )
    return found


def _numbers(head: _Head) -> np.ndarray:
    """Return the numbers of the first lines."""
    some = head.rows[:500]
    columns = head.numeric[:500]
    found = [head.parser.numbers([row[at] for at in columns])[0] for row in some]
    return np.array(found, dtype=np.float64) if found else np.empty((0, 0))


def _names_of_lines(head: _Head) -> set[str]:
    if head.edge is None:
        return set()
    return {cells[head.edge].strip() for _, cells in head.table.rows()}


def _find_above(table: TextLines, name: str) -> str | None:
    """Return the name of the line above the header that a setting means: GEO's have prefixes."""
    plain = name.strip().lstrip("!").casefold()
    keys = {key.casefold(): key for key in reversed(table.above)}
    return keys.get(plain) or next((keys[key] for key in keys if key.startswith(plain)), None)


def _read(head: _Head, settings: TableSettings, transpose: bool) -> RawMatrix:
    """Read all cells, and assemble the matrix."""
    table = head.table
    cells = _read_cells(head, settings, transpose)
    _check_settings(head, cells, settings, transpose)
    _check_odd(head, cells, settings)
    names = None if head.edge is None else [name.strip() for name in cells.texts[head.edge]]
    X = np.concatenate(cells.blocks) if cells.blocks else np.empty((0, len(head.numeric)))
    cells.blocks.clear()
    columns = head.names(head.numeric)
    rows, chosen = np.arange(len(X)), np.arange(len(columns))
    remarks = table.remarks
    if cells.n_infinite:
        remarks.append(
            f"{cells.n_infinite} infinite values, such as the logarithm of zero, count as missing."
        )
    for what, example in head.parser.changed.items():
        remarks.append(f"some numbers are written with {what}, such as {example!r}.")
    if transpose:
        if names is None:
            names = [f"feature{at + 1}" for at in rows]
        left = left_out_columns(columns, settings.keep)
        others = [at for at, name in enumerate(columns) if name not in left]
        some = X[:1000, others].astype(np.float64) + np.array(cells.offset[:1000])[:, np.newaxis]
        doubtful = doubtful_columns([columns[at] for at in others], some, settings.keep)
        if doubtful and len(left) + len(doubtful) < len(columns):
            raise MatrixError(
                f"{table.file}: columns {shown(doubtful)} look like annotation of the features, "
                "not "
                f"like samples. Set ignore: {listed([*settings.ignore, *doubtful])} to leave them "
                "out, or keep: "
                f"{listed([*settings.keep, *doubtful])} if they are samples."
            )
        if left and len(left) == len(columns):
            raise MatrixError(
                f"{table.file}: its columns {shown(columns)} describe features, such as the "
                "results "
                "of a test or the measures of one sample; there should be a column for each "
                "sample. "
                "Use the table of measurements, or set keep to the columns that are samples."
            )
        chosen = _without(remarks, columns, chosen, left, "columns", "annotate the features")
        _say_text(remarks, head.names(head.text), settings, "columns", {})
        left = left_out_features(names, X.T, settings.keep, remarks, lines=True)
        rows = _without(remarks, names, rows, left, "lines", "describe the samples or are totals")
        nameless = [at for at in rows if names[at].strip("- ") in ("", "NA", "nan")]
        if nameless and len(nameless) < len(rows):
            remarks.append(f"{len(nameless)} lines without a feature name are left out.")
            rows = np.setdiff1d(rows, nameless)
        features, samples = [names[at] for at in rows], [columns[at] for at in chosen]
        at_columns = [head.numeric[at] for at in chosen]
        X = (
            np.ascontiguousarray(X[np.ix_(rows, chosen)].T)
            if len(rows) < len(X) or len(chosen) < len(columns)
            else np.ascontiguousarray(X.T)
        )
        offset = np.array(cells.offset)[rows]
        _say_text(remarks, [*cells.lines], settings, "lines", cells.lines)
    else:
        left = left_out_features(columns, X, settings.keep, remarks, lines=False)
        chosen = _without(remarks, columns, chosen, left, "columns", "describe the samples")
        texts = {table.header[at]: cells.texts[at] for at in head.text}
        _say_text(remarks, [*texts], settings, "columns", texts, has_names=names is not None)
        left = left_out_samples(names, settings.keep) if names else []
        rows = _without(remarks, names or (), rows, left, "lines", "summarise the others")
        if cells.lines:
            remarks.append(
                f"{len(cells.lines)} lines of text are left out, the first of them "
                f"{shown(next(iter(cells.lines.values())), 4)}."
            )
        features, samples = [columns[at] for at in chosen], names and [names[at] for at in rows]
        if len(rows) < len(X) or len(chosen) < len(columns):
            X = X[np.ix_(rows, chosen)]
        offset = np.zeros(0) if cells.offset is None else np.array(cells.offset)[chosen]
    check_size(table.file, *X.shape)
    X, offset, features = merge_features(X, offset, features, settings.duplicates, remarks)
    features = check_names(table.file, features, "feature", "name it in the file")
    if samples is not None:
        samples = number_names(
            [name or f"sample{at + 1}" for at, name in enumerate(samples)], remarks
        )
        samples = check_names(table.file, samples, "sample", "name it in the file")
    raw = RawMatrix(RowStream.of(X), offset, features, samples)
    raw.lines = "features" if transpose else "samples"

    def values(name: str) -> list[str]:
        if not transpose:
            found = cells.texts[table.header.index(name)]
            return [found[at] for at in rows]
        if name in cells.lines:
            return [cells.lines[name][at] for at in at_columns]
        return [table.above[_find_above(table, name)][at - 1] for at in at_columns]

    if settings.labels is not None:
        raw.labels = check_labels(
            table.file, settings.labels, values(settings.labels), settings.is_missing_label
        )
    if settings.groups is not None:
        raw.groups = check_groups(
            table.file, settings.groups, values(settings.groups), settings.is_missing_label
        )
    if transpose and settings.samples is not None:
        raw.samples = check_names(
            table.file, values(settings.samples), "sample", "set samples to another line"
        )
    if table.above and settings.labels is None:
        known = [name for name in table.above if not name.startswith("Sample_")] or [*table.above]
        remarks.append(
            f"the lines above describe the samples: {shown(known)}. Set labels: {quoted(known[0])} "
            "for known classes."
        )
    raw.remarks = [*remarks, *list_remarks(raw, settings.labels, settings.missing_values)]
    return raw


def _without(
    remarks: list[str], names: Sequence[str], at: np.ndarray, left: list[str], kind: str, why: str
) -> np.ndarray:
    """Leave out lines or columns by their names, and say so."""
    if not left:
        return at
    gone = set(left)
    # The numbers of lines that pandas and R write have no name.
    left = [name for name in left if name and name != "Unnamed: 0"]
    if left:
        remarks.append(
            f"{kind} {shown(left)} {why} and are left out. Set keep: {listed(left[:20])} to use "
            "them."
        )
    return np.array([j for j in at if names[j] not in gone], dtype=np.intp)


def _say_text(
    remarks: list[str],
    names: list[str],
    settings: TableSettings,
    kind: str,
    values: dict[str, list[str]],
    has_names: bool = True,
) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    names = [name for name in names if name not in {*settings.named.values(), *settings.ignore}]
    if not names:
        return
    classes = (
        [] if settings.labels else [name for name in names if few_levels(values.get(name, ()))]
    )
    cure = f" Set labels: {quoted(classes[0])} if it holds known classes." if classes else ""
    different = [
        name for name in names if name in values and len({*values[name]}) == len(values[name])
    ]
    if different and not has_names:
        cure += f" Set samples: {quoted(different[0])} if it names the samples."
    remarks.append(f"{kind} {shown(names)} hold text and are left out.{cure}")


def _read_cells(head: _Head, settings: TableSettings, transpose: bool) -> _Cells:
    """Read the cells of all lines once."""
    table, parser = head.table, head.parser
    cells = _Cells(offset=[] if transpose else None)
    kept = [*head.text, *([] if head.edge is None else [head.edge])]
    cells.texts = {at: [] for at in kept}
    start, stop = head.numeric[0], head.numeric[-1] + 1
    is_slice = stop - start == len(head.numeric)
    pick = itemgetter(slice(start, stop)) if is_slice else itemgetter(*head.numeric)
    special = {*settings.named.values(), *settings.ignore}
    if not transpose:
        special = {name for name in settings.ignore if name not in table.header}
    height = max(1, _CELLS_AT_ONCE // len(head.numeric))
    buffer: list[Sequence[float]] = []
    numbers: list[int] = []
    described = table.n_described
    for number, row in table.rows():
        name = "" if head.edge is None else row[head.edge].strip()
        if special and not transpose and name in special:
            cells.skipped.add(name)
            continue
        if described or (special and name in special):
            described = max(0, described - 1)
            cells.lines.setdefault(name, row)
            continue
        found, has_text = parser.numbers(pick(row))
        if has_text:
            n_text = found.count(None)
            if n_text > 1 and 2 * n_text > len(found):
                cells.lines.setdefault(name, row)
                continue
            for at, value in zip(head.numeric, found, strict=True):
                if value is None:
                    cells.odd[row[at].strip()] += 1
                    cells.odd_columns.setdefault(at, (number, row[at].strip()))
            found = [float("nan") if value is None else value for value in found]
        for at in kept:
            cells.texts[at].append(row[at])
        buffer.append(found)
        numbers.append(number)
        if len(buffer) == height:
            _take(head, cells, buffer, numbers, transpose)
    if buffer:
        _take(head, cells, buffer, numbers, transpose)
    return cells


def _take(head: _Head, cells: _Cells, buffer: list, numbers: list[int], transpose: bool) -> None:
    """Convert lines to float32, less the offset of each feature, and empty the buffer."""
    block = np.array(buffer, dtype=np.float64)
    infinite = np.isinf(block)
    if infinite.any():
        cells.n_infinite += int(infinite.sum())
        block[infinite] = np.nan
    for number in head.parser.missing_numbers:
        block[block == number] = np.nan
    large = np.abs(np.nan_to_num(block)) > np.finfo(np.float32).max
    if large.any():
        row, column = (int(at[0]) for at in np.nonzero(large))
        raise MatrixError(
            f"{head.table.file}: line {numbers[row]}: {block[row, column]} in column "
            f"{head.names(head.numeric)[column]!r} is beyond the range of single precision."
        )
    if transpose:
        first = np.nan_to_num(block[:, 0])
        cells.offset.extend(first)
        block -= first[:, np.newaxis]
    else:
        if cells.offset is None:
            cells.offset = np.nan_to_num(block[0])
        block -= cells.offset
    cells.blocks.append(block.astype(np.float32))
    buffer.clear()
    numbers.clear()


def _check_settings(head: _Head, cells: _Cells, settings: TableSettings, transpose: bool) -> None:
    """Refuse names in settings that the table does not have."""
    table = head.table
    kind = "lines and columns" if transpose else "columns"
    names = [name for name in table.header if name]
    lines: list[str] = []
    if head.edge is not None:
        lines = [*cells.lines, *(name.strip() for name in cells.texts[head.edge])]
    known = {*names, *lines} if transpose else {*names, *cells.skipped}
    for key, name in settings.named.items():
        there = name in cells.lines or _find_above(table, name) if transpose else name in known
        if not there:
            hint = ""
            if not transpose and name in lines:
                hint = f" A line has the name {name!r}. Set transpose: true."
            raise MatrixError(
                f"{table.file}: {key}={name!r} should be one of its {kind} "
                f"{shown([*(lines if transpose else ()), *names])}.{hint}"
                f"{suggest(key, name, known)}"
            )
    missing = [name for name in settings.ignore if name not in known]
    if missing:
        hint = f" Leave them out of the list: {listed(missing)}." if len(missing) > 1 else ""
        raise MatrixError(
            f"{table.file}: ignore={shown(missing)} should be among its {kind} {shown(names)}."
            f"{hint}{suggest('ignore', missing[0], known)}"
        )


def _check_odd(head: _Head, cells: _Cells, settings: TableSettings) -> None:
    """Refuse text among numbers, with the setting that makes it missing."""
    if not cells.odd:
        return
    header = head.table.header
    wrong = [header[at] for at in sorted(cells.odd_columns)]
    at, (line, cell) = min(cells.odd_columns.items(), key=lambda item: item[1][0])
    words = sorted(cells.odd, key=lambda word: -cells.odd[word])
    words = listed([*settings.missing_values, *words])
    cure = f"Set missing_values: {words} if they mean missing values"
    if len(wrong) < len(head.numeric):
        cure += f", or ignore: {listed([*settings.ignore, *wrong])} to leave the columns out"
    noun = "one column is" if len(wrong) == 1 else f"{len(wrong)} columns are"
    raise MatrixError(
        f"{head.table.file}: {noun} not numeric throughout: {shown(wrong)}; the first such value "
        "is "
        f"{cell!r} in column {header[at]!r}, line {line}. {cure}."
    )
