"""Cells of a text table: numbers in any way of writing, missing values, and text.

This module does not know what a line or a column means.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from sparsekm.io.readers.messages import MatrixError
from sparsekm.io.readers.names import KNOWN

MISSING_LABELS = frozenset(("", "NA", "NaN", "nan", "N/A", "n/a", "#N/A"))
"""Text that means a missing class or group, as do None and NaN."""

MISSING = frozenset(KNOWN["missing"])
"""Text that means a missing measurement, in any case."""

_BEYOND = re.compile(r"[<>≤≥]=?\s*[\d.,]+")
_WITH_COMMA = re.compile(r"[+-]?(\d*,\d+([eE][+-]?\d+)?|\d{1,3}(\.\d{3})+,\d+)")
_WITH_POINT = re.compile(r"[+-]?(\d*\.\d+([eE][+-]?\d+)?|\d{1,3}(,\d{3})+\.\d*)")
# 1,234 means different numbers in English and in German.
_THOUSANDS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ",."}
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:[+-]?inf(inity)?)")
_WITH_UNIT = re.compile(r"([+-]?\d[\d.,]*)\s*(±.*|\(.*\)|[^\d\s.,].*)")
_CURRENCIES = "$€£¥"
_MARKS = "*†‡§"
_MINUS = str.maketrans(
    {"−": "-", "–": "-", "‐": "-", "‑": "-", "\u00a0": "", "\u202f": "", "\u2009": ""}
)


def listed_numbers(words: Iterable[object]) -> list[float]:
    """Return the numbers among words for missing values, such as -999, compared as numbers."""
    return [float(word) for word in map(str, words) if _PLAIN.fullmatch(word.strip())]


class CellParser:
    """Reads the cells of one table, by its decimal separator and its words for missing values."""

    def __init__(
        self, decimal: str = ".", missing: Iterable[object] = (), *, units: bool = False
    ) -> None:
        self.decimal, self.units = decimal, units
        self._missing = MISSING | {str(word).strip().casefold() for word in missing}
        self.changed: dict[str, str] = {}  # an example of each unusual way of writing
        self.grouped: set[str] = set()  # numbers such as 1,234
        self._group = "," if decimal == "." else "."
        self._odd: dict[str, float | None] = {}
        self._units: dict[str, str] = {}

    def line(self, cells: list[str], text: Collection[int]) -> tuple[np.ndarray, list[int]]:
        """Return the numbers in a line, NaN if missing or text, and where its cells are text.

        `text` are columns of which that is expected, which only makes this faster.
        """
        plain = cells.copy()
        for at in text:
            plain[at] = "nan"
        plain = [cell or "nan" for cell in plain] if "" in plain else plain
        joined = "\x1f".join(plain)
        if self.decimal == "," and "." not in joined:
            plain = joined.replace(",", ".").split("\x1f")
        # Python reads 1_000 as a number.
        if "_" not in joined and (self.decimal == "." or "." not in joined):
            try:
                values = np.fromiter(map(float, plain), np.float64, len(plain))
            except ValueError:
                pass
            else:
                found = {at: self.number(cells[at]) for at in text}
                values[[*found]] = [np.nan if value is None else value for value in found.values()]
                return values, [at for at, value in found.items() if value is None]
        numbers = [self.number(cell) for cell in cells]
        values = np.array([np.nan if value is None else value for value in numbers])
        return values, [at for at, value in enumerate(numbers) if value is None]

    def number(self, cell: str) -> float | None:
        """Return the number in a cell: NaN for a missing one, None for text."""
        if self.decimal == "." and "_" not in cell:
            try:
                return float(cell)
            except ValueError:
                pass
        if cell not in self._odd:
            if len(self._odd) > 100_000:
                self._odd.clear()
            self._odd[cell] = self._read(cell)
        return self._odd[cell]

    def is_text(self, cell: str) -> bool:
        """Tell whether a cell contains text other than a missing value."""
        return self.number(cell) is None

    def _read(self, cell: str) -> float | None:
        text = cell.strip()
        if text.casefold() in self._missing or _BEYOND.fullmatch(text):
            return float("nan")
        plain = text.translate(_MINUS).strip()
        if plain != text and any(letter in text for letter in "−–‐‑"):
            self.changed.setdefault("another minus sign", text)
        if plain[:1] in _CURRENCIES and plain:
            plain = plain[1:].strip()
            self.changed.setdefault("a currency, which is left out", text)
        if plain[:1] == "(" and plain[-1:] == ")" and _PLAIN.fullmatch(plain[1:-1]):
            plain = f"-{plain[1:-1]}"
            self.changed.setdefault("parentheses for a minus", text)
        if plain.endswith("%"):
            plain = plain[:-1].strip()
            self.changed.setdefault("a percent sign, which is left out", text)
        if plain[-1:] in _MARKS and _PLAIN.fullmatch(plain.rstrip(_MARKS)):
            plain = plain.rstrip(_MARKS)
            self.changed.setdefault("marks of footnotes, which are left out", text)
        measured = _WITH_UNIT.fullmatch(plain) if self.units else None
        if measured:
            plain = measured[1]
            # Every unit is shown, since they may differ.
            self._units.setdefault("±" if "±" in text else measured[2], text)
            shown = ", ".join([*self._units.values()][:6])
            self.changed["units or deviations, which are left out"] = shown
        group = re.fullmatch(rf"([+-]?\d{{1,3}}(?:[{self._group}' ]\d{{3}})+)([.,]\d*)?", plain)
        if group and (group[2] or self.decimal)[0] == self.decimal:
            plain = re.sub(rf"[{self._group}' ]", "", group[1]) + (group[2] or "")
            self.changed.setdefault("thousands in groups", text)
            if not group[2]:
                self.grouped.add(text)
        if self.decimal == ",":
            plain = plain.replace(".", "\0").replace(",", ".")
        return float(plain) if _PLAIN.fullmatch(plain) else None


def find_decimal(cells: Iterable[str], separator: str) -> tuple[str, str | None]:
    """Return the decimal separator of some cells, and an example if it is not the point."""
    plain = [cell.strip().translate(_MINUS).rstrip("% ") for cell in cells]
    commas = [cell for cell in plain if _WITH_COMMA.fullmatch(cell)]
    points = [cell for cell in plain if _WITH_POINT.fullmatch(cell)]
    sure_comma = [cell for cell in commas if not _THOUSANDS[","].fullmatch(cell)]
    sure_point = [cell for cell in points if not _THOUSANDS["."].fullmatch(cell)]
    if not sure_point and sure_comma:
        return ",", sure_comma[0]
    unsure = commas if commas and not points else points if separator == ";" and not commas else []
    if unsure and not sure_point:
        mark, other = (",", ".") if commas else (".", ",")
        one, thousand = unsure[0].replace(",", "."), re.sub("[.,]", "", unsure[0])
        raise MatrixError(
            f"{unsure[0]!r} may mean {one} or {thousand}. Set decimal: '{mark}' for the former, or "
            f"decimal: '{other}' for the latter."
        )
    return ".", None


def as_numbers(cells: Sequence[str]) -> list[float | None]:
    """Read cells as numbers, with any decimal separator."""
    parser = CellParser()
    return [parser.number(cell.replace(",", ".")) for cell in cells]


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
    return cells, stray
