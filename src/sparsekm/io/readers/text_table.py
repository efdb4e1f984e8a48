"""A text table as lines of cells: its separator and its number format.

This module does not know what a line or a column means.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from statistics import mode
from typing import IO

import numpy as np
import pandas as pd

from sparsekm.io.readers.raw_matrix import MISSING, MatrixError

MOST_COLUMNS = 1_000_000
# Errors raised by binary data, or by a damaged .gz.
UNREADABLE = (ValueError, csv.Error, EOFError, OSError, zlib.error)

_CELLS_AT_ONCE = 2**20
# Number of lines from which the number format is detected.
_LINES_LOOKED_AT = 100
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
# First bytes of files that are often named like a text table.
_OTHERS = {
    b"PK\x03\x04": "an Excel workbook or a zip archive. Rename a workbook to end in .xlsx",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save it as .xlsx",
    b"\x1f\x8b": "compressed by gzip. Add .gz to its name",
    b"\x89HDF": "HDF5. Rename it to end in .h5ad or .h5",
}
_WITH_COMMA = re.compile(r"[+-]?(\d*,\d+([eE][+-]?\d+)?|\d{1,3}(,\d{3})+)")
_WITH_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
# 1,234 means different numbers in English and in German.
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


@dataclass(frozen=True)
class TextTable:
    """A text file, with the format detected from its first lines."""

    file: Path
    separator: str
    # Cells of the first line, with an empty one in front if the other lines have one cell more, as
    # written by R.
    header: list[str]
    decimal: str = "."  # or ","
    # Columns without a name and, in the lines examined, without values, as left by spreadsheets.
    empty: frozenset[int] = frozenset()
    remarks: list[str] = field(default_factory=list)  # for the user, on what was guessed

    @property
    def n_columns(self) -> int:
        """Number of cells of a line."""
        return len(self.header)

    def lines(self) -> Iterator[list[str]]:
        """Yield the cells of each line below the header; an empty line has none."""
        with _open_lines(self.file) as opened:
            reader = csv.reader(opened, delimiter=self.separator)
            try:
                next(reader)
                yield from reader
            except csv.Error as error:
                raise MatrixError(
                    f"{self.file}: line {reader.line_num}: {error}. A cell should have at most "
                    f"{csv.field_size_limit()} characters."
                ) from error

    def is_number(self, cell: str) -> bool:
        """Tell whether a cell contains a number."""
        try:
            float(cell.replace(",", ".") if self.decimal == "," else cell)
        except ValueError:
            return False
        return True

    def is_text(self, cell: str) -> bool:
        """Tell whether a cell contains text other than a missing value."""
        return cell.strip() not in MISSING and not self.is_number(cell)

    def chunks(
        self, numeric: Iterable[int], text: Iterable[int], skip: Iterable[int] = ()
    ) -> Iterator[tuple[np.ndarray, pd.DataFrame]]:
        """Yield blocks of lines: some columns as a float64 array, others as a table of str.

        Columns and lines are counted from 0, lines from the first one below the header.
        """
        numeric, text = list(numeric), list(text)
        # All columns are read, needed or not: otherwise a line with too many cells would pass.
        types = dict.fromkeys(range(self.n_columns), str) | dict.fromkeys(numeric, np.float64)
        with _open(self.file) as opened:
            for chunk in pd.read_csv(
                opened,
                sep=self.separator,
                decimal=self.decimal,
                names=range(self.n_columns),
                skiprows=[0, *(line + 1 for line in skip)],
                index_col=False,
                dtype=types,
                keep_default_na=False,
                na_values={column: list(MISSING) for column in numeric},
                chunksize=max(1, _CELLS_AT_ONCE // self.n_columns),
                encoding="utf-8-sig",
            ):
                yield chunk[numeric].to_numpy(), chunk[text]


def open_table(file: str | Path, decimal: str = "auto") -> TextTable:
    """Detect the format of a file from its first lines.

    By default cells are separated by commas in ``.csv`` and by tabs in other files. If the header
    suggests another separator, it is used, with a remark. With `decimal` "auto" the separator is a
    comma if some numbers contain a comma and none contains a point.
    """
    file = Path(file)
    first = _first_lines(file)
    usual = "," if file.name.lower().endswith((".csv", ".csv.gz")) else "\t"
    try:
        separator = _find_separator(first, usual)
        names, *lines = _split(first, separator)
    except csv.Error as error:
        raise MatrixError(
            f"{file}: its first lines cannot be split into cells ({error}); it should be a table "
            "with one line per sample or per feature."
        ) from error
    header = [name.strip() for name in names]
    if not any(header):
        raise MatrixError(f"{file}: the first line is empty; it should contain names.")
    if len(header) > MOST_COLUMNS:
        raise MatrixError(
            f"{file}: columns={len(header)} should be <= {MOST_COLUMNS}; use .npz, .h5 or .h5ad "
            "for wider matrices."
        )
    width = mode(map(len, lines))
    if width == len(header) + 1:
        header = ["", *header]
    if width != len(header):
        raise MatrixError(
            f"{file}: the header has {len(header)} cells, but most lines below it have {width}; "
            "the numbers should agree. If there are lines above the names, remove them."
        )
    table = TextTable(file, separator, header)
    if separator != usual:
        table.remarks.append(f"cells are separated by {_SEPARATORS[separator]}.")
    if decimal == "auto":
        decimal = _find_decimal(table, [cell.strip() for line in lines for cell in line])
    empty = frozenset(
        at
        for at, name in enumerate(header)
        if at and not name and not any("".join(line[at : at + 1]).strip() for line in lines)
    )
    if empty:
        table.remarks.append(f"{len(empty)} columns without a name are empty and left out.")
    return replace(table, decimal=decimal, empty=empty)


def _first_lines(file: Path) -> list[str]:
    """Read the lines from which the format is detected."""
    try:
        with _open_lines(file) as opened:
            lines = list(islice(opened, _LINES_LOOKED_AT))
    except (FileNotFoundError, MatrixError):
        raise
    except UnicodeError as error:
        with file.open("rb") as opened:
            start = opened.read(4)
        for first, what in _OTHERS.items():
            if start.startswith(first):
                raise MatrixError(f"{file}: not text, but {what}.") from error
        raise MatrixError(
            f"{file}: not UTF-8 text with one line per sample ({error}). Save it as UTF-8 (in "
            "Excel: 'CSV UTF-8')."
        ) from error
    except UNREADABLE as error:
        raise MatrixError(f"{file}: not UTF-8 text with one line per sample ({error}).") from error
    n_filled = sum(not line.isspace() for line in lines)
    if n_filled < 2:
        raise MatrixError(f"{file}: lines={n_filled}; there should be a header and samples.")
    return lines


def _open_lines(file: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(_open(file), encoding="utf-8-sig", newline="")


def _open(file: Path) -> IO[bytes]:
    return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")


def _split(lines: list[str], separator: str) -> list[list[str]]:
    """Split lines into cells; empty lines after the first are skipped."""
    cells = list(csv.reader(lines, delimiter=separator))
    return [*cells[:1], *filter(None, cells[1:])]


def _find_separator(first: list[str], usual: str) -> str:
    """Return the usual separator if it splits header and lines alike, otherwise another one."""
    widths = {}
    for separator in _SEPARATORS:
        try:
            split = _split(first, separator)
        except csv.Error:
            # A cell is too long.
            continue
        header, line = len(split[0]), len(split[1]) if len(split) > 1 else 0
        if line > 1 and line - header in (0, 1):
            widths[separator] = header
    if not widths or widths.get(usual, 0) > 1:
        return usual
    return max(widths, key=lambda separator: (widths[separator], separator == usual))


def _find_decimal(table: TextTable, cells: list[str]) -> str:
    """Return a comma if some numbers contain one and none contains a point."""
    commas = [cell for cell in cells if "," in cell and _WITH_COMMA.fullmatch(cell)]
    if not commas or any(_WITH_POINT.fullmatch(cell) for cell in cells):
        return "."
    example = commas[0]
    if all(_THOUSANDS.fullmatch(cell) for cell in commas):
        raise MatrixError(
            f"{table.file}: {example!r} may mean {example.replace(',', '.')} or "
            f"{example.replace(',', '')}. Set decimal: ',' for the former; for the latter, write "
            "numbers without commas."
        )
    table.remarks.append(
        f"numbers have a decimal comma: {example!r} is read as {example.replace(',', '.')}. Set "
        "decimal: '.' to read them as text."
    )
    return ","
