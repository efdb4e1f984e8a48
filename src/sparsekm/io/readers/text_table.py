"""A text table, read once: numbers and text by line and column, and lines that are not data.

This module does not know what a line or a column means.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from sparsekm.io.readers.cells import CellParser, find_decimal, split
from sparsekm.io.readers.messages import KNOWN_FORMATS, refusal, refuse_format, say
from sparsekm.io.readers.table_format import SEPARATORS, Format, Lines, find_format

# Errors raised by binary data, or by a damaged compressed file.
UNREADABLE = (ValueError, csv.Error, EOFError, OSError, zlib.error)
_MOST_COLUMNS = 1_000_000
_MOST_LINES = 20_000_000
_MOST_LINES_OF_NAMES = 200
_HEAD_CELLS = 100_000


@dataclass
class TextTable:
    """The cells of a table, (lines, columns)."""

    file: Path
    remarks: list[str]
    format: Format
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the lines in the file, from 1
    values: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))  # NaN if missing or text
    is_text: np.ndarray = field(default_factory=lambda: np.empty((0, 0), bool))
    changed: dict[str, str] = field(default_factory=dict)  # examples of unusual numbers

    def cells(self, line: int) -> list[str]:
        """Return the cells of a line."""
        cells, width = split(self.lines[line], self.format.separator)[0], len(self.format.names)
        return (cells + [""] * (width - len(cells)))[:width]

    def columns(self, wanted: Collection[int]) -> dict[int, np.ndarray]:
        """Return the cells of some columns, without blanks around them."""
        found: dict[int, list[str]] = {at: [] for at in wanted}
        most, separator = max(wanted, default=0) + 1, self.format.separator
        for number, line in enumerate(self.lines):
            # Splitting only the beginning is fast.
            is_plain = separator != " " and '"' not in line
            cells = line.split(separator, most) if is_plain else self.cells(number)
            for at, column in found.items():
                column.append(cells[at].strip() if at < len(cells) else "")
        return {at: np.array(column, dtype=object) for at, column in found.items()}


def read_table(
    file: Path, text: str | None = None, decimal: str = "auto", missing: Sequence[object] = ()
) -> TextTable:
    """Read a table of text from a file, or from `text` that was made of one."""
    remarks: list[str] = []
    is_csv = text is not None or file.name.lower().removesuffix(".gz").endswith(".csv")
    usual = "," if is_csv else "\t"
    lines = _split_lines(file, _decode(file, remarks) if text is None else text)
    found, first = find_format(file, lines, usual, remarks)
    lines, width = lines[first:], len(found.names)
    if width > _MOST_COLUMNS:
        raise refusal("most_columns", file, n=width, most=_MOST_COLUMNS)
    if found.separator != usual:
        remarks.append(say("separator", kind=SEPARATORS[found.separator]))
    head = lines[found.n_described : max(10, min(200, _HEAD_CELLS // width))]
    some = [*chain.from_iterable(split(line, found.separator)[0][:500] for _, line in head)]
    if decimal == "auto":
        decimal, example = find_decimal(some, found.separator)
        if example:
            read = example.replace(".", "").replace(",", ".")
            remarks.append(say("decimal_comma", example=example, read=read))
    parser = CellParser(decimal, missing)
    if width > 1 and some and not np.isfinite(parser.line(some)[0]).any():
        with_units = CellParser(decimal, missing, units=True)
        parser = with_units if np.isfinite(with_units.line(some)[0]).mean() > 0.5 else parser
    table = TextTable(file, remarks, found)
    _parse(table, lines, parser)
    if not table.lines:
        raise refusal("few_lines", file, n=1)
    return table


def _decode(file: Path, remarks: list[str]) -> str:
    """Return the text of a file, in the encoding that it has."""
    try:
        with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as opened:
            content = opened.read()
        for first, what in KNOWN_FORMATS["first bytes"].items():
            if content.startswith(first.encode("latin-1")):
                raise refusal("other_bytes", file, what=what)
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return content.decode("utf-16")
        if b"\0" in content:
            raise refusal("no_text", file, reason="it contains NUL")
        try:
            return content.decode("utf-8-sig")
        except UnicodeError:
            text = content.decode("cp1252")
            remarks.append(say("windows"))
            return text
    except (UnicodeError, EOFError, OSError, zlib.error) as error:
        raise refusal("no_text", file, reason=error) from error


def _split_lines(file: Path, text: str) -> Lines:
    """Return the lines that are not empty, and their numbers from 1."""
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    if text.count("\n") > _MOST_LINES:
        raise refusal("most_lines", file, most=_MOST_LINES)
    lines = [one for one in enumerate(text.split("\n"), 1) if one[1].strip(' ,;\t"')]
    while len(lines) > 1 and lines[0][1].count('"') % 2 and lines[1][0] < _MOST_LINES_OF_NAMES:
        # A name with a line break, as Excel writes it.
        (number, line), (_, more) = lines[:2]
        lines[:2] = [(number, f"{line.strip()} {more}")]
    if lines and re.match(r"\^(DATABASE|SERIES|PLATFORM|SAMPLE) *=", lines[0][1]):
        refuse_format(file, "SOFT of GEO", "".join(file.suffixes[-2:]))
    if lines and re.fullmatch(r"\S+( \d+:\S+)+ *", lines[0][1]):
        refuse_format(file, "svmlight", file.suffix)
    if len(lines) < 2:
        raise refusal("few_lines", file, n=len(lines))
    return lines


def _parse(table: TextTable, lines: Lines, parser: CellParser) -> None:
    """Read the cells of all lines of data, and note which are of an unusual kind."""
    width, separator, file = len(table.format.names), table.format.separator, table.file
    table.values = np.full((len(lines), width), np.nan)
    table.is_text = np.zeros(table.values.shape, dtype=bool)
    unusual: dict[str, list[int]] = {"quotes": [], "short": [], "notes": []}
    gaps = []
    for number, line in lines:
        cells, stray = split(line, separator)
        n_cells = len(cells)
        # A blank separator leaves empty cells at the end.
        if n_cells > width and not "".join(cells[width:]).strip():
            cells = cells[:width]
        elif line[0] == "!" or (line[0] == "#" and (n_cells != width or line.startswith("#!{"))):
            continue
        if stray or (number - 1 in unusual["quotes"][-1:] and '"' in line):
            if n_cells != width or (not stray and line.count('"') % 2):
                raise refusal("open_quote", file, line=number - (not stray))
            unusual["quotes"].append(number)
        if len(cells) > width:
            raise refusal("long_line", file, line=number, n=n_cells, width=width)
        if width > 2 and not "".join(cells[1:]).strip():
            unusual["notes"].append(number)
            continue
        if len(cells) < width:
            if separator == " ":
                raise refusal("short_blank", file, line=number, n=n_cells, width=width)
            if len(cells) < width - 1 and table.numbers and number - table.numbers[-1] > 1:
                gaps.append(number)
            unusual["short"].append(number)
            cells += [""] * (width - len(cells))
        at = len(table.lines)
        table.values[at], text = parser.line(cells)
        table.is_text[at, text] = True
        table.lines.append(line)
        table.numbers.append(number)
    table.changed, n_lines = parser.changed, len(table.lines)
    table.values, table.is_text = table.values[:n_lines], table.is_text[:n_lines]
    _refuse_both_marks(table, parser.grouped)
    ends = table.numbers[-len(unusual["short"]) :]
    if gaps and len(ends) > 1 and ends == unusual["short"]:
        raise refusal("second_table", file, line=gaps[0])
    for kind, numbers in unusual.items():
        if numbers:
            table.remarks.append(say(kind, n=len(numbers), first=numbers[0]))


def _refuse_both_marks(table: TextTable, grouped: set[str]) -> None:
    """Refuse a column with numbers such as 1,234 next to others such as 1.234."""
    columns = np.flatnonzero((np.nan_to_num(table.values, posinf=0, neginf=0) % 1).any(axis=0))
    for at, number in enumerate(table.numbers if grouped else ()):
        cells = table.cells(at)
        odd = [cells[column] for column in columns if cells[column].strip() in grouped]
        if odd:
            raise refusal("both_marks", table.file, line=number, cell=odd[0].strip())
