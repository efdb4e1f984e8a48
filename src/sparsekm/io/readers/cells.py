"""Cells of a text table: numbers in any way of writing, missing values, and text.

This module does not know what a line or a column means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from sparsekm.io.readers.names import KNOWN
from sparsekm.io.readers.raw_matrix import MatrixError

MISSING_LABELS = frozenset(("", "NA", "NaN", "nan", "N/A", "n/a", "#N/A"))
"""Text that means a missing class or group, as do None and NaN."""

MISSING = frozenset(KNOWN["missing"])
"""Text that means a missing measurement, in any case."""

INFINITE = re.compile(r"[+-]?(inf|infinity)", re.I)
_BEYOND = re.compile(r"[<>≤≥]=?\s*[\d.,]+")
_WITH_COMMA = re.compile(r"[+-]?(\d*,\d+([eE][+-]?\d+)?|\d{1,3}(\.\d{3})+,\d+)")
_WITH_POINT = re.compile(r"[+-]?(\d*\.\d+([eE][+-]?\d+)?|\d{1,3}(,\d{3})+\.\d*)")
# 1,234 means different numbers in English and in German.
_THOUSANDS = {mark: re.compile(rf"[+-]?[1-9]\d{{0,2}}({re.escape(mark)}\d{{3}})+") for mark in ",."}
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MINUS = str.maketrans(
    {"−": "-", "–": "-", "‐": "-", "‑": "-", "\u00a0": "", "\u202f": "", "\u2009": ""}
)


def is_number(word: object) -> bool:
    """Tell whether a word is written as a plain number."""
    return _PLAIN.fullmatch(str(word)) is not None


class CellParser:
    """Reads the cells of one table, by its decimal separator and its words for missing values."""

    def __init__(self, decimal: str = ".", missing: Iterable[object] = ()) -> None:
        self.decimal = decimal
        words = [str(word).strip() for word in missing]
        # Numbers such as -999 are compared as numbers.
        self.missing_numbers = [float(word) for word in words if _PLAIN.fullmatch(word)]
        self._missing = MISSING | {word.casefold() for word in words}
        self.changed: dict[str, str] = {}  # an example of each unusual way of writing
        self._group = "," if decimal == "." else "."
        self._odd: dict[str, float | None] = {}

    def numbers(self, cells: Sequence[str]) -> tuple[Sequence[float | None], bool]:
        """Return the numbers in cells, NaN if missing and None if text, and whether some are."""
        text = "\x1f".join(cells)
        # Python reads 1_000 as a number.
        if "_" not in text and (self.decimal == "." or "." not in text):
            plain = cells if self.decimal == "." else text.replace(",", ".").split("\x1f")
            try:
                return np.fromiter(map(float, plain), np.float64, len(plain)), False
            except ValueError:
                pass
        found = [self.number(cell) for cell in cells]
        return found, None in found

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
        if INFINITE.fullmatch(text):
            return float(text)
        plain = text.translate(_MINUS).strip()
        if plain != text and any(letter in text for letter in "−–‐‑"):
            self.changed.setdefault("another minus sign", text)
        if plain.endswith("%"):
            plain = plain[:-1].strip()
            self.changed.setdefault("a percent sign, which is left out", text)
        group = re.fullmatch(rf"([+-]?\d{{1,3}}(?:[{self._group}' ]\d{{3}})+)([.,]\d*)?", plain)
        if group and group[2] is not None and group[2][0] != self.decimal:
            group = None
        if group:
            plain = re.sub(rf"[{self._group}' ]", "", group[1]) + (group[2] or "")
            self.changed.setdefault("thousands in groups", text)
        if self.decimal == ",":
            plain = plain.replace(".", "\0").replace(",", ".")
        return float(plain) if _PLAIN.fullmatch(plain) else None


class DecimalMark:
    """The decimal separator of a table, from some of its cells."""

    def __init__(self, cells: Iterable[str], separator: str) -> None:
        minus = (cell.strip().translate(_MINUS).rstrip("% ") for cell in cells)
        self.cells, self.separator = (
            [cell for cell in minus if "," in cell or "." in cell],
            separator,
        )

    @cached_property
    def found(self) -> tuple[str, str | None]:
        """Return the separator, and an example of a number if it is not the point."""
        commas = [cell for cell in self.cells if _WITH_COMMA.fullmatch(cell)]
        points = [cell for cell in self.cells if _WITH_POINT.fullmatch(cell)]
        sure_comma = [cell for cell in commas if not _THOUSANDS[","].fullmatch(cell)]
        sure_point = [cell for cell in points if not _THOUSANDS["."].fullmatch(cell)]
        if sure_point or not (commas or points):
            return ".", None
        if sure_comma:
            return ",", sure_comma[0]
        if commas and not points:
            self._ask(commas[0], ",")
        if points and self.separator == ";" and not commas:
            self._ask(points[0], ".")
        return ".", None

    def _ask(self, example: str, mark: str) -> None:
        one, thousand = example.replace(",", "."), re.sub("[.,]", "", example)
        other = "." if mark == "," else ","
        raise MatrixError(
            f"{example!r} may mean {one} or {thousand}. Set decimal: '{mark}' for the former, or "
            f"decimal: '{other}' for the latter."
        )
