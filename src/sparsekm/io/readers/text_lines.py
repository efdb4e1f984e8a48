"""A text table as lines of cells: its encoding, separator, header, and lines that are not data.

This module does not know what a line or a column means.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO

from sparsekm.io.readers.cells import CellParser
from sparsekm.io.readers.raw_matrix import MatrixError

UNREADABLE = (ValueError, csv.Error, EOFError, OSError, zlib.error)
"""Errors raised by binary data, or by a damaged compressed file."""

_MOST_COLUMNS = 1_000_000
_MOST_LINES = 20_000_000
_MOST_IN_CELL = 2**17
_LINES_LOOKED_AT = 200
_HEAD_CHARACTERS = 2**21
_MOST_NOTES = 5000
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
# First bytes of files that are often named like a text table.
_OTHERS = {
    b"PK\x03\x04": "an Excel workbook or a zip archive. Rename a workbook to end in .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save it as .xlsx",
    b"\x1f\x8b": "compressed by gzip. Add .gz to its name",
    b"\x89HDF": "HDF5. Rename it to end in .h5ad or .h5",
    b"PAR1": "Parquet. Rename it to end in .parquet",
}


@dataclass
class TextLines:
    """A text file, with the format that its first lines have."""

    file: Path
    encoding: str = "utf-8-sig"
    separator: str = ","
    header: list[str] = field(default_factory=list)  # made up if the file has none
    first: int = 1  # number of the first line of data, from 1
    has_header: bool = True
    # Values by sample that lines above the header hold, by name: of GEO.
    above: dict[str, list[str]] = field(default_factory=dict)
    n_annotations: int = 0  # columns after the first that annotate, and lines: of GCT
    n_described: int = 0
    remarks: list[str] = field(default_factory=list)
    n_lines: int = 0  # of data

    @property
    def n_columns(self) -> int:
        """Number of cells of a line."""
        return len(self.header)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, with their numbers, from 1."""
        with io.TextIOWrapper(_open(self.file), encoding=self.encoding) as text:
            for number, line in enumerate(text, 1):
                if number > _MOST_LINES:
                    raise MatrixError(f"{self.file}: lines should be <= {_MOST_LINES}.")
                if line.strip(' ,;\t\r\n"'):
                    yield number, line.rstrip("\n")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the cells of each line of data, with its number; other lines are remarked on."""
        short, notes, quotes = [], [], []
        for number, line in self.lines():
            if number < self.first:
                continue
            cells, stray = split(line, self.separator)
            n_cells = len(cells)
            if n_cells != self.n_columns or line[0] in "#!":
                # A blank separator leaves empty cells at the end.
                if n_cells > self.n_columns and not "".join(cells[self.n_columns :]).strip():
                    cells = cells[: self.n_columns]
                elif (
                    line.startswith("!")
                    or (line[0] == "#" and n_cells != self.n_columns)
                    or line.startswith("#!{")
                ):
                    continue
            if stray or (quotes and quotes[-1] == number - 1 and '"' in line):
                if n_cells != self.n_columns or (not stray and line.count('"') % 2):
                    raise MatrixError(
                        f"{self.file}: line {number - (not stray)}: a cell in quotation marks does "
                        "not end in its line. Remove the line break or the quotation mark."
                    )
                quotes.append(number)
            if len(cells) > self.n_columns:
                raise MatrixError(
                    f"{self.file}: line {number} has {n_cells} cells; it should have "
                    f"{self.n_columns}, one for each name in the header. Remove what is too much, "
                    "or write cells that contain the separator in quotation marks."
                )
            if self.n_columns > 2 and not "".join(cells[1:]).strip():
                notes.append((number, cells[0].strip()))
                continue
            if len(cells) < self.n_columns:
                short.append(number)
                cells = cells + [""] * (self.n_columns - len(cells))
            yield number, cells
        for numbers, what in (
            (quotes, "have a quotation mark without a second one, which is read as a letter"),
            (short, "end early: their last cells are missing"),
        ):
            if numbers:
                self._remark(f"{len(numbers)} lines {what} (the first is line {numbers[0]}).")
        if notes:
            self._remark(
                f"{len(notes)} lines with nothing after their first cell are left out (the first "
                f"is line {notes[0][0]}, {notes[0][1][:40]!r})."
            )

    def _remark(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)


def split(line: str, separator: str) -> tuple[list[str], bool]:
    """Split a line into cells, and tell whether a quotation mark has no second one."""
    blanks, stray = separator == " ", False
    cells = None
    if '"' in line:
        line = line.strip() if blanks else line
        try:
            options = {"delimiter": separator, "strict": True, "skipinitialspace": True}
            cells = next(csv.reader([line], **options))
        except csv.Error:
            stray = line.count('"') % 2 == 1
    if cells is None:
        cells = line.split() if blanks else line.split(separator)
    if len(line) > _MOST_IN_CELL and max(map(len, cells)) > _MOST_IN_CELL:
        raise csv.Error(f"A cell should have at most {_MOST_IN_CELL} characters")
    return cells, stray


def open_lines(file: str | Path) -> TextLines:
    """Detect the format of a text file from its first lines."""
    table = TextLines(Path(file))
    head = _read_head(table)
    name = table.file.name.lower().removesuffix(".gz")
    usual = "," if name.endswith(".csv") else "\t"
    try:
        _find_format(table, head, usual)
    except csv.Error as error:
        raise MatrixError(
            f"{file}: its first lines cannot be split into cells ({error}); it should be a table "
            "with one line per sample or per feature."
        ) from error
    if table.n_columns > _MOST_COLUMNS:
        raise MatrixError(
            f"{file}: columns={table.n_columns} should be <= {_MOST_COLUMNS}; use .npz, .h5 or "
            ".h5ad for wider matrices."
        )
    if table.separator != usual:
        table.remarks.append(f"cells are separated by {_SEPARATORS[table.separator]}.")
    return table


def _read_head(table: TextLines) -> list[tuple[int, str]]:
    """Read the first lines, in the encoding that the file has."""
    try:
        with _open(table.file) as opened:
            start = opened.read(2**20)
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise MatrixError(f"{table.file}: not UTF-8 text ({error}).") from error
    for first, what in _OTHERS.items():
        if start.startswith(first):
            raise MatrixError(f"{table.file}: not text, but {what}.")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        table.encoding = "utf-16"
    elif b"\0" in start:
        raise MatrixError(f"{table.file}: not UTF-8 text, since it contains NUL. Save it as UTF-8.")
    try:
        head = _go_through(table)
    except UnicodeError:
        table.encoding, table.n_lines = "cp1252", 0
        try:
            head = _go_through(table)
        except UnicodeError as error:
            raise MatrixError(
                f"{table.file}: not UTF-8 text with one line per sample ({error}). Save it as "
                "UTF-8 (in Excel: 'CSV UTF-8')."
            ) from error
        table.remarks.append(
            "the file is not UTF-8: its letters are read as Windows-1252, the encoding of Excel in "
            "the west. Save it as UTF-8 if names are wrong."
        )
    except MatrixError:
        raise
    except UNREADABLE as error:
        raise MatrixError(f"{table.file}: not UTF-8 text ({error}).") from error
    if len(head) < 2:
        raise MatrixError(f"{table.file}: lines={len(head)}; there should be a header and samples.")
    return head


def _go_through(table: TextLines) -> list[tuple[int, str]]:
    """Read all lines in their encoding, count those of a table, and return the first ones."""
    head = []
    for number, line in table.lines():
        is_note = line[0] in "#!"
        table.n_lines += not is_note
        if len(head) < _LINES_LOOKED_AT or (is_note and number < _MOST_NOTES):
            head.append((number, line))
    return head


def _open(file: Path) -> IO[bytes]:
    return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")


def _find_format(table: TextLines, head: list[tuple[int, str]], usual: str) -> None:
    """Find the separator and the header, and set aside the lines above it."""
    plain = [(number, line) for number, line in head if line[0] not in "#!"]
    if len(plain) < 2:
        raise MatrixError(
            f"{table.file}: lines={len(plain)} without those that begin with '#' or '!'; there "
            "should be a header and samples. If it is a series of GEO without values, its matrix "
            "is among the supplementary files."
        )
    table.separator, width = _find_separator([line for _, line in plain], usual)
    rows = [(number, line[0], split(line.lstrip("#"), table.separator)[0]) for number, line in head]
    if head[0][1].startswith(("#1.2", "#1.3")):
        sizes = [int(cell) for cell in rows[1][2] if cell.strip().isdecimal()]
        header = 2
        table.n_annotations, table.n_described = sizes[2:4] if len(sizes) == 4 else (1, 0)
    else:
        header = _find_header(rows, width)
    names = [name.strip().strip('"') for name in rows[header][2]]
    names[0] = names[0].lstrip("#").strip()
    table.first = rows[header][0] + 1
    above: list[str] = []
    table.n_lines -= sum(row[1] not in "#!" for row in rows[: header + 1])
    for _, mark, cells in rows[:header]:
        if mark == "!":
            _keep_geo(table, cells)
        elif mark != "#":
            above.append(next((cell.strip() for cell in cells if cell.strip()), "")[:40])
    if above:
        lines = "line is" if len(above) == 1 else "lines are"
        table.remarks.append(f"{len(above)} {lines} above the names and left out ({above[0]!r}).")
    below = [cells for _, mark, cells in rows[header + 1 :] if mark not in "#!"]
    while len(names) > width and not names[-1]:
        names.pop()
    if width == len(names) + 1 and any(cells[-1].strip() for cells in below if len(cells) == width):
        names = ["", *names]
    if width > len(names) and all(not "".join(cells[len(names) :]).strip() for cells in below):
        width = len(names)
    if width > len(names):
        raise MatrixError(
            f"{table.file}: the header has {len(names)} cells, but most lines below it have "
            f"{width}; the numbers should agree. If there are lines above the names, remove them; "
            "if numbers have decimal commas, separate cells by semicolons or tabs."
        )
    table.header = names
    if _is_data(names, below):
        table.has_header, table.first = False, rows[header][0]
        table.n_lines += 1
        # Blank where the names of lines may be.
        is_text = CellParser().is_text
        table.header = [
            "" if at == 0 and is_text(name) else f"column{at + 1}" for at, name in enumerate(names)
        ]
        table.remarks.append(
            "the first line has numbers in place of names: it is read as data, and columns are "
            f"called column1 to column{len(names)}. Add a line of names above it if it is not."
        )


def _keep_geo(table: TextLines, cells: list[str]) -> None:
    """Keep a line of GEO about samples, such as ``!Sample_characteristics_ch1``."""
    name, values = cells[0].strip('"!'), [cell.strip().strip('"') for cell in cells[1:]]
    if not name.startswith("Sample_") or not any(values):
        return
    keys = {value.partition(": ")[0] for value in values if ": " in value}
    if len(keys) == 1 and "characteristics" in name:
        table.above.setdefault(name, [value.partition(": ")[2] for value in values])
        (name,) = keys
        values = [value.partition(": ")[2] for value in values]
    table.above.setdefault(name, values)


def _find_separator(lines: list[str], usual: str) -> tuple[str, int]:
    """Return the separator that splits most lines alike and into numbers, and how many cells."""
    parsers = CellParser("."), CellParser(",")
    found, too_long = {}, None
    lines = lines[: max(10, _HEAD_CHARACTERS // max(map(len, lines)))]
    for separator in _SEPARATORS:
        try:
            rows = [split(line, separator)[0] for line in lines]
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
            numeric = max(sum(not parser.is_text(cell) for cell in cells) for parser in parsers)
            numeric = round(numeric / len(cells), 1)
            found[separator] = (round(share, 1), numeric, separator != " ", width)
    if not found and too_long:
        raise too_long
    if not found:
        return usual, 1
    best = max(found, key=lambda separator: (*found[separator], separator == usual))
    return best, found[best][-1]


def _find_header(rows: list[tuple[int, str, list[str]]], width: int) -> int:
    """Return the index of the line with the names: the first that is as wide as the data."""
    is_text = CellParser().is_text
    for at, (_, mark, cells) in enumerate(rows):
        filled = sum(bool(cell.strip()) for cell in cells)
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


def _is_data(names: list[str], below: list[list[str]]) -> bool:
    """Tell whether the first line is data, not names: numbers in the range of those below it."""
    parser = CellParser()
    cells = [parser.number(name.replace(",", ".")) for name in names]
    at = [j for j, number in enumerate(cells) if number is not None and number == number]
    if 2 * len(at) <= len(names) - (len(names) > 1 and 0 not in at) or not below:
        return False
    numbers = [cells[j] for j in at]
    steps = [b - a for a, b in pairwise(numbers)]
    if (
        len(steps) > 2
        and len(set(numbers)) == len(numbers)
        and (all(step > 0 for step in steps) or all(step < 0 for step in steps))
        and (0 in at or not re.sub(r"\d", "", names[0]) or not _same_shape(names[0], below))
    ):
        return False
    inside = n_decimals = 0
    for j, number in zip(at, numbers, strict=True):
        column = [parser.number(row[j].replace(",", ".")) for row in below if j < len(row)]
        column = [value for value in column if value is not None and value == value]
        low, high = min(column, default=0), max(column, default=0)
        room = (high - low) / 2 + 1e-9
        inside += low - room <= number <= high + room
        n_decimals += not number.is_integer()
    return 2 * inside > len(at) or 2 * n_decimals >= len(at)


def _same_shape(name: str, below: list[list[str]]) -> bool:
    shape = re.sub(r"\d+", "#", name)
    return any(re.sub(r"\d+", "#", row[0]) == shape for row in below if row)
