"""A text table, read once: numbers and text by line and column, and lines that are not data.

This module does not know what a line or a column means.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np

from sparsekm.io.readers.cells import CellParser, as_numbers, find_decimal, split
from sparsekm.io.readers.messages import KNOWN_FORMATS, MatrixError, refuse_format
from sparsekm.io.readers.names import is_a

UNREADABLE = (ValueError, csv.Error, EOFError, OSError, zlib.error)
"""Errors raised by binary data, or by a damaged compressed file."""

_MOST_COLUMNS = 1_000_000
_MOST_LINES = 20_000_000
_MOST_IN_CELL = 2**17
_FEW_STEPS = 6
_LINES_LOOKED_AT = 200
_LINES_AT_ONCE = 2000
_HEAD_CHARACTERS = 2**21
_HEAD_CELLS = 100_000
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
Lines = list[tuple[int, str]]


@dataclass
class TextTable:
    """The cells of a table, (lines, columns)."""

    file: Path
    remarks: list[str] = field(default_factory=list)
    separator: str = ","
    header: list[str] = field(default_factory=list)  # made up if the file has none
    has_header: bool = True
    # Values by sample that lines above the header hold, by name: of GEO.
    above: dict[str, list[str]] = field(default_factory=dict)
    is_gct: bool = False
    n_annotations: int = 0  # columns after the first that annotate, and lines: of GCT
    n_described: int = 0
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the lines in the file, from 1
    values: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # NaN if missing or text
    is_text: np.ndarray = field(default_factory=lambda: np.empty((0, 0), bool))
    changed: dict[str, str] = field(default_factory=dict)  # examples of unusual numbers

    def cells(self, line: int) -> list[str]:
        """Return the cells of a line."""
        cells = split(self.lines[line], self.separator)[0]
        return (cells + [""] * (len(self.header) - len(cells)))[: len(self.header)]

    def columns(self, wanted: Collection[int]) -> dict[int, list[str]]:
        """Return the cells of some columns, without blanks around them."""
        found: dict[int, list[str]] = {at: [] for at in wanted}
        most = max(wanted, default=0) + 1
        for number, line in enumerate(self.lines):
            # Splitting only the beginning is fast.
            is_plain = self.separator != " " and '"' not in line
            cells = line.split(self.separator, most) if is_plain else self.cells(number)
            for at, column in found.items():
                column.append(cells[at].strip() if at < len(cells) else "")
        return found


def read_table(
    file: Path, text: str | None = None, decimal: str = "auto", missing: Sequence[object] = ()
) -> TextTable:
    """Read a table of text from a file, or from `text` that was made of one."""
    table = TextTable(file)
    name = file.name.lower().removesuffix(".gz")
    usual = "," if text is not None or name.endswith(".csv") else "\t"
    text = _decode(table) if text is None else text
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    if text.count("\n") > _MOST_LINES:
        raise MatrixError(f"{file}: lines should be <= {_MOST_LINES}.")
    lines = [
        (number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip(' ,;\t"')
    ]
    del text
    while len(lines) > 1 and lines[0][1].count('"') % 2 and lines[1][0] < _LINES_LOOKED_AT:
        # A name with a line break, as Excel writes it.
        (number, line), (_, more) = lines[:2]
        lines[:2] = [(number, f"{line.strip()} {more}")]
    if lines and re.match(r"\^(DATABASE|SERIES|PLATFORM|SAMPLE) *=", lines[0][1]):
        refuse_format(file, "SOFT of GEO", "".join(file.suffixes[-2:]))
    if lines and re.fullmatch(r"\S+( \d+:\S+)+ *", lines[0][1]):
        refuse_format(file, "svmlight", file.suffix)
    if len(lines) < 2:
        raise MatrixError(f"{file}: lines={len(lines)}; there should be a header and samples.")
    try:
        first = _find_format(table, lines, usual)
    except csv.Error as error:
        raise MatrixError(
            f"{file}: its first lines cannot be split into cells ({error}); it should be a table "
            "with one line per sample or per feature."
        ) from error
    if len(table.header) > _MOST_COLUMNS:
        raise MatrixError(
            f"{file}: columns={len(table.header)} should be <= {_MOST_COLUMNS}; use .npz, .h5 or "
            ".h5ad for wider matrices."
        )
    if table.separator != usual:
        table.remarks.append(f"cells are separated by {_SEPARATORS[table.separator]}.")
    if decimal == "auto":
        n_lines = max(10, min(200, _HEAD_CELLS // len(table.header)))
        some = (split(line, table.separator)[0][:500] for _, line in lines[first:][:n_lines])
        cells = chain.from_iterable(islice(some, table.n_described, None))
        decimal, example = find_decimal(cells, table.separator)
        if example:
            table.remarks.append(
                f"numbers have a decimal comma: {example!r} is read as "
                f"{example.replace('.', '').replace(',', '.')}. Set decimal: '.' to read them "
                "otherwise."
            )
    _parse(table, lines[first:], CellParser(decimal, missing))
    if len(table.header) > 1 and table.is_text.any() and np.isnan(table.values).all():
        again = replace(table, lines=[], numbers=[], remarks=list(table.remarks))
        _parse(again, lines[first:], CellParser(decimal, missing, units=True))
        if (~np.isnan(again.values)).mean() > 0.5:
            table = again
    if not table.lines:
        raise MatrixError(f"{file}: lines=1; there should be a header and samples.")
    return table


def _decode(table: TextTable) -> str:
    """Return the text of a file, in the encoding that it has."""
    is_gzip = table.file.suffix.lower() == ".gz"
    try:
        with gzip.open(table.file) if is_gzip else table.file.open("rb") as opened:
            content = opened.read()
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise MatrixError(f"{table.file}: not UTF-8 text ({error}).") from error
    for first, what in KNOWN_FORMATS["first bytes"].items():
        if content.startswith(first.encode("latin-1")):
            raise MatrixError(f"{table.file}: not text, but {what}.")
    is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in content and not is_wide:
        raise MatrixError(f"{table.file}: not UTF-8 text, since it contains NUL. Save it as UTF-8.")
    for encoding in ["utf-16"] if is_wide else ["utf-8-sig", "cp1252"]:
        try:
            text = content.decode(encoding)
        except UnicodeError as error:
            reason = str(error)
        else:
            if encoding == "cp1252":
                table.remarks.append(
                    "the file is not UTF-8: its letters are read as Windows-1252, the encoding of "
                    "Excel in the west. Save it as UTF-8 if names are wrong."
                )
            return text
    raise MatrixError(
        f"{table.file}: not UTF-8 text with one line per sample ({reason}). Save it as UTF-8 (in "
        "Excel: 'CSV UTF-8')."
    )


def _parse(table: TextTable, lines: Lines, parser: CellParser) -> None:
    """Read the cells of all lines of data."""
    kinds: dict[str, list[int]] = {"quotes": [], "short": [], "notes": []}
    values: list[np.ndarray] = []
    texts: list[list[int]] = []
    expected: list[int] = []
    blocks: list[tuple[np.ndarray, np.ndarray]] = []
    for number, line, cells in _data_lines(table, lines, kinds):
        found, text = parser.line(cells, expected)
        table.lines.append(line)
        table.numbers.append(number)
        values.append(found)
        texts.append(text)
        if len(table.lines) in (1, 20):
            counts = Counter(chain.from_iterable(texts))
            expected = [at for at, count in counts.items() if 2 * count > len(texts)]
        if len(values) == _LINES_AT_ONCE:
            blocks.append(_as_block(values, texts))
    if values:
        blocks.append(_as_block(values, texts))
    table.changed = parser.changed
    if blocks:
        table.values, table.is_text = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    if parser.grouped:
        _refuse_both_marks(table, parser.grouped)
    for kind, what in (
        ("quotes", "have a quotation mark without a second one, which is read as a letter"),
        ("short", "end early: their last cells are missing"),
        ("notes", "with nothing after their first cell are left out"),
    ):
        if kinds[kind]:
            table.remarks.append(
                f"{len(kinds[kind])} lines {what} (the first is line {kinds[kind][0]})."
            )


def _as_block(values: list[np.ndarray], texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Join lines, which take less memory so, and empty the lists."""
    block = np.array(values)
    is_text = np.zeros(block.shape, dtype=bool)
    for at, text in enumerate(texts):
        is_text[at, text] = True
    values.clear()
    texts.clear()
    return block, is_text


def _refuse_both_marks(table: TextTable, grouped: set[str]) -> None:
    """Refuse a column with numbers such as 1,234 next to others such as 1.234."""
    has_decimals = (table.values % 1 > 0).any(axis=0)
    for at, number in enumerate(table.numbers):
        for cell, decimals in zip(table.cells(at), has_decimals, strict=True):
            if decimals and cell.strip() in grouped:
                raise MatrixError(
                    f"{table.file}: line {number}: {cell.strip()!r} may have a decimal comma or "
                    "thousands in groups, and other numbers in its column have a decimal point. "
                    "Write all numbers with a decimal point and without groups."
                )


def _data_lines(
    table: TextTable, lines: Lines, kinds: dict[str, list[int]]
) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the lines of data with their cells, and note which are of an unusual kind."""
    width, file, quotes = len(table.header), table.file, kinds["quotes"]
    for number, line in lines:
        cells, stray = split(line, table.separator)
        n_cells = len(cells)
        # A blank separator leaves empty cells at the end.
        if n_cells > width and not "".join(cells[width:]).strip():
            cells = cells[:width]
        elif line[0] == "!" or (line[0] == "#" and (n_cells != width or line.startswith("#!{"))):
            continue
        if stray or (quotes and quotes[-1] == number - 1 and '"' in line):
            if n_cells != width or (not stray and line.count('"') % 2):
                raise MatrixError(
                    f"{file}: line {number - (not stray)}: a cell in quotation marks does not end "
                    "in its line. Remove the line break or the quotation mark."
                )
            quotes.append(number)
        if len(cells) > width:
            raise MatrixError(
                f"{file}: line {number} has {n_cells} cells; it should have {width}, one for each "
                "name in the header. Remove what is too much, or write cells that contain the "
                "separator in quotation marks."
            )
        if width > 2 and not "".join(cells[1:]).strip():
            kinds["notes"].append(number)
            continue
        if len(cells) < width:
            kinds["short"].append(number)
            cells = cells + [""] * (width - len(cells))
        yield number, line, cells


def _find_format(table: TextTable, lines: Lines, usual: str) -> int:
    """Find the separator and the header, and return the index of the first line of data."""
    head, n_plain, size = [], 0, 0
    for at, (_, line) in enumerate(lines):
        n_plain, size = n_plain + (line[0] not in "#!"), size + len(line)
        if n_plain > (_LINES_LOOKED_AT if size < _HEAD_CHARACTERS else 10):
            break
        head.append((at, line))
    plain = [line for _, line in head if line[0] not in "#!"]
    if len(plain) < 2:
        raise MatrixError(
            f"{table.file}: lines={len(plain)} without those that begin with '#' or '!'; there "
            "should be a header and samples. If it is a series of GEO without values, its matrix "
            "is among the supplementary files."
        )
    table.separator, width = _find_separator(plain, usual)
    rows = [(at, line[0], split(line.lstrip("#"), table.separator)[0]) for at, line in head]
    table.is_gct = lines[0][1].startswith(("#1.2", "#1.3"))
    if table.is_gct:
        sizes = [int(cell) for cell in rows[1][2] if cell.strip().isdecimal()]
        header = 2
        table.n_annotations, table.n_described = sizes[2:4] if len(sizes) == 4 else (1, 0)
    else:
        header = _find_header(rows, width)
    names = [name.strip().strip('"') for name in rows[header][2]]
    names[0] = names[0].lstrip("#").strip()
    above: list[str] = []
    for _, mark, cells in rows[:header]:
        if mark == "!":
            _keep_geo(table, cells)
        elif mark != "#" and not table.is_gct:
            above.append(next((cell.strip() for cell in cells if cell.strip()), "")[:40])
    if above:
        verb = "line is" if len(above) == 1 else "lines are"
        table.remarks.append(f"{len(above)} {verb} above the names and left out ({above[0]!r}).")
    below = [cells for _, mark, cells in rows[header + 1 :] if mark not in "#!"]
    while len(names) > width and not names[-1]:
        names.pop()
    is_short = width == len(names) + 1 and any(
        cells[-1].strip() for cells in below if len(cells) == width
    )
    # R writes no name above those of the lines; otherwise it is the last one that lacks.
    if is_short and not (
        names[0] and is_a(names[0], "numbering", "sample_heading", "feature_heading")
    ):
        names = ["", *names]
    if width > len(names) and any("".join(cells[len(names) :]).strip() for cells in below):
        raise MatrixError(
            f"{table.file}: the header has {len(names)} cells, but most lines below it have "
            f"{width}; the numbers should agree. If a name is missing, add it; if there are lines "
            "above the names, remove them; if cells contain the separator, such as decimal commas, "
            "separate cells by semicolons or tabs."
        )
    if below and _is_second_header(names, below[0]):
        table.above.setdefault(names[0] or "group", names[1:])
        names, header = [name.strip() for name in below[0]], header + 1
    table.header = names
    if table.is_gct or not _is_data(names, below):
        return rows[header][0] + 1
    table.has_header = False
    # Blank where the names of lines may be.
    is_named = CellParser().is_text(names[0])
    table.header = ["" if is_named else "column1"]
    table.header += [f"column{at}" for at in range(2, len(names) + 1)]
    table.remarks.append(
        "the first line has numbers in place of names: it is read as data, and columns are "
        f"called column1 to column{len(names)}. Add a line of names above it if it is not."
    )
    return rows[header][0]


def _keep_geo(table: TextTable, cells: list[str]) -> None:
    """Keep a line of GEO about samples, such as ``!Sample_characteristics_ch1``."""
    name, values = cells[0].strip('"!'), [cell.strip().strip('"') for cell in cells[1:]]
    if not name.startswith("Sample_") or not any(values):
        return
    keys = {value.partition(": ")[0] for value in values if ": " in value}
    if len(keys) == 1 and "characteristics" in name:
        values = [value.partition(": ")[2] for value in values]
        table.above.setdefault(name, values)
        (name,) = keys
    table.above.setdefault(name, values)


def _find_separator(lines: list[str], usual: str) -> tuple[str, int]:
    """Return the separator that splits most lines alike and into numbers, and how many cells."""
    found, too_long = {}, None
    for separator in _SEPARATORS:
        # Blanks within cells that tabs separate.
        if separator == " " and found.get("\t", (0,))[0] == 1 and all("\t" in x for x in lines):
            continue
        try:
            rows = [split(line, separator)[0] for line in lines]
            if max(max(map(len, row), default=0) for row in rows) > _MOST_IN_CELL:
                raise csv.Error(f"a cell has more than {_MOST_IN_CELL} characters")
        except csv.Error as error:
            too_long = error
            continue
        widths = Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        if width == 1:
            # The longest lines may be the data, below many lines of notes.
            width, count = max(widths.items())
        if width > 1:
            share = (count + (widths.get(width - 1, 0) if width > 2 else 0)) / len(lines)
            cells = [cell for row in rows[-30:] for cell in row[:200]]
            parsers = CellParser("."), CellParser(",")
            numeric = max(sum(not parser.is_text(cell) for cell in cells) for parser in parsers)
            key = (round(share, 1), round(numeric / len(cells), 1), separator != " ", width)
            found[separator] = (*key, separator == usual)
    if not found and too_long:
        raise too_long
    if not found:
        return usual, 1
    best = max(found, key=found.__getitem__)
    return best, found[best][3]


def _find_header(rows: list[tuple[int, str, list[str]]], width: int) -> int:
    """Return the index of the line with the names: the first that is as wide as the data."""
    is_text = CellParser().is_text
    for at, (_, mark, cells) in enumerate(rows):
        filled = sum(bool(cell.strip()) for cell in cells)
        # R writes a vector with its names under a blank one.
        filled += width == len(cells) == 2 and cells[0] == "" and at == 0
        if mark == "!" or len(cells) < min(width - 1, 2) or filled < min(2, width):
            continue
        if filled < (width - 1) / 2 and len(rows) - at > 3:
            continue
        if mark == "#":
            # Names, if numbers follow, as in tables of OTUs.
            after = next((row[2] for row in rows[at + 1 :]), [])
            numbers = sum(not is_text(cell) for cell in after)
            if len(cells) not in (width, width - 1) or 2 * numbers < len(after):
                continue
            if at + 1 < len(rows) and rows[at + 1][1] == "#":
                continue
        return at
    return next(at for at, row in enumerate(rows) if row[1] not in "#!")


def _is_second_header(names: list[str], cells: list[str]) -> bool:
    """Tell whether names, of which most are repeated, are groups of those in the line below."""
    is_text, groups, below = CellParser().is_text, names[1:], [cell.strip() for cell in cells[1:]]
    return (
        len(groups) == len(below) == len({*below}) >= 2 * len({*groups})
        and all(groups)
        and all(map(is_text, below))
    )


def _is_data(names: list[str], below: list[list[str]]) -> bool:
    """Tell whether the first line is data, not names: numbers in the range of those below it."""
    cells = as_numbers(names)
    at = [j for j, number in enumerate(cells) if number is not None and number == number]
    if 2 * len(at) <= len(names) - (len(names) > 1 and 0 not in at) or not below:
        return False
    numbers = [cells[j] for j in at]
    steps = [b - a for a, b in pairwise(numbers)]
    shapes = {_shape(row[0]) for row in below if row}
    is_ordered = len(steps) > 2 and (min(steps) > 0 or max(steps) < 0)
    is_even = is_ordered and max(steps) - min(steps) <= 0.02 * abs(steps[0])
    # Wavelengths, years or masses.
    if (is_even or (is_ordered and len(steps) > _FEW_STEPS)) and (
        0 in at or not re.sub(r"\d", "", names[0]) or _shape(names[0]) not in shapes
    ):
        return False
    inside = n_decimals = 0
    for j, number in zip(at, numbers, strict=True):
        column = as_numbers([row[j] for row in below if j < len(row)])
        column = [value for value in column if value is not None and value == value]
        low, high = min(column, default=0), max(column, default=0)
        room = (high - low) / 2 + 1e-9
        inside += low - room <= number <= high + room
        n_decimals += not number.is_integer()
    return 2 * inside > len(at) or 2 * n_decimals >= len(at)


def _shape(name: str) -> str:
    return re.sub(r"\d+", "#", name)
