"""Cells of a text table: numbers in any way of writing, missing values, and text."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from sparsekm.io.readers.axes import KNOWN
from sparsekm.io.readers.messages import refusal

# Text that means a missing class or group, as do None and NaN, or a measurement, in any case.
MISSING_LABELS = frozenset(("", "NA", "NaN", "nan", "N/A", "n/a", "#N/A"))
MISSING = frozenset(KNOWN["missing"])
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"{_NUMBER}|(?i:[+-]?inf(inity)?)")
_BEYOND = re.compile(r"[<>≤≥]=?\s*[\d.,]+")
_WITH_UNIT = re.compile(r"([+-]?\d[\d.,]*)\s*(±.*|\(.*\)|[^\W\d_]\S*|[°%‰]\S*)")
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009", ""))
_MINUS = re.compile(r"[−–‐‑]")
# Unusual ways of writing a number: the form, what is read, and how that is said.
_WAYS = [
    (re.compile(form), read, what)
    for form, read, what in (
        (_MINUS, "-", "another minus sign"),
        (r"^([$€£¥]|EUR|USD|GBP|CHF)\s*", "", "a currency, which is left out"),
        (rf"^({_NUMBER})-$", r"-\1", "a minus behind the number"),
        (rf"^\(({_NUMBER})\)$", r"-\1", "parentheses for a minus"),
        (r"^(~|≈|ca?\.|approx\.?)\s*", "", "a word or mark for about, which is left out"),
        (r"(?<=\d)\s*[x×·*]\s*10\^([+-]?\d+)$", r"e\1", "powers of ten"),
        (r"\s*%$", "", "a percent sign, which is left out"),
        (rf"^({_NUMBER})[*†‡§?]+$", r"\1", "marks behind them, which are left out"),
    )
]


def listed_numbers(words: Iterable[object]) -> list[float]:
    """Return the numbers among words for missing values, such as -999, compared as numbers."""
    return [float(word) for word in map(str, words) if _PLAIN.fullmatch(word.strip())]


class CellParser:
    """Reads the cells of one table, by its decimal separator and its words for missing values."""

    def __init__(self, decimal: str = ".", missing: Iterable[object] = ()) -> None:
        self.decimal = decimal
        self._missing = MISSING | {str(word).strip().casefold() for word in missing}
        self.changed: dict[str, str] = {}  # an example of each unusual way of writing
        self.grouped: set[str] = set()  # numbers such as 1,234
        mark = "," if decimal == "." else "."
        self._groups = re.compile(rf"([+-]?\d{{1,3}}(?:[{mark}' ]\d{{3}})+)([.,]\d*)?")
        self._odd = lru_cache(100_000)(self._read)

    def line(self, cells: list[str]) -> tuple[np.ndarray, list[int]]:
        """Return the numbers in a line, NaN if missing or text, and where its cells are text."""
        numbers, rest = [self.number(cells[0])], iter(cells[1:])
        read = self._read_plain if self.decimal == "," or "_" in "".join(cells[1:]) else float
        while len(numbers) < len(cells):
            try:
                # What was read before the first other cell stays.
                numbers.extend(map(read, rest))
            except ValueError:
                numbers.append(self._odd(cells[len(numbers)]))
        values = np.array(numbers, dtype=np.float64)
        return values, [at for at in np.flatnonzero(np.isnan(values)) if numbers[at] is None]

    def number(self, cell: str) -> float | None:
        """Return the number in a cell: NaN for a missing one, None for text."""
        try:
            return self._read_plain(cell)
        except ValueError:
            return self._odd(cell)

    def is_text(self, cell: str) -> bool:
        """Tell whether a cell contains text other than a missing value."""
        return self.number(cell) is None

    def _read_plain(self, cell: str) -> float:
        # Python reads 1_000 as a number.
        if "_" in cell or (self.decimal == "," and "." in cell):
            raise ValueError(cell)
        return float(cell.replace(",", ".") if self.decimal == "," else cell)

    def _read(self, cell: str) -> float | None:
        text = cell.strip()
        if text.casefold() in self._missing or _BEYOND.fullmatch(text):
            return float("nan")
        plain, changed = text.translate(_BLANKS), {}
        for form, read, what in _WAYS:
            if form.search(plain):
                plain, changed[what] = form.sub(read, plain), text
        group = self._groups.fullmatch(plain)
        if group and (group[2] or self.decimal)[0] == self.decimal:
            plain = re.sub(r"[.,' ]", "", group[1]) + (group[2] or "")
            changed["thousands in groups"] = text
            if not group[2]:
                self.grouped.add(text)
        if self.decimal == ",":
            plain = plain.replace(".", "\0").replace(",", ".")
        if not _PLAIN.fullmatch(plain):
            return None
        self.changed = changed | self.changed
        return float(plain)


def find_decimal(cells: Iterable[str], separator: str) -> tuple[str, str | None]:
    """Return the decimal separator of some cells, and an example if it is not the point."""
    plain = [_MINUS.sub("-", cell.translate(_BLANKS)).strip("% ") for cell in cells]
    found, sure, grouped = {}, {}, {}
    for mark, other in ((".", ","), (",", ".")):
        form = rf"[+-]?(\d*\{mark}\d+([eE][+-]?\d+)?|\d{{1,3}}(\{other}\d{{3}})+\{mark}\d*)"
        found[mark] = [cell for cell in plain if re.fullmatch(form, cell)]
        # 1,234 means different numbers in English and in German.
        thousands = rf"[+-]?[1-9]\d{{0,2}}(\{mark}\d{{3}})"
        sure[mark] = [one for one in found[mark] if not re.fullmatch(f"{thousands}+", one)]
        grouped[other] = [one for one in plain if re.fullmatch(f"{thousands}{{2,}}", one)]
    for mark, examples in ((".", sure), (",", sure), (",", grouped), (".", grouped)):
        if examples[mark]:
            return mark, examples[mark][0] if mark == "," else None
    unsure = found[","] or (found["."] if separator == ";" else [])
    if unsure and not (found[","] and found["."]):
        mark, other = (",", ".") if found[","] else (".", ",")
        one, thousand = unsure[0].replace(",", "."), re.sub("[.,]", "", unsure[0])
        about = {"one": one, "thousand": thousand, "mark": mark, "other": other}
        raise refusal("decimal", cell=unsure[0], **about)
    return ".", None


def has_unit(cell: str) -> bool:
    """Tell whether a cell is a number with a unit or a deviation."""
    return _WITH_UNIT.fullmatch(cell.translate(_BLANKS).strip()) is not None


def as_numbers(cells: Iterable[str]) -> list[float]:
    """Read cells as numbers, with any decimal separator; text is NaN."""
    parser = CellParser()
    return [np.nan if (x := parser.number(cell.replace(",", "."))) is None else x for cell in cells]


def split(line: str, separator: str) -> tuple[list[str], bool]:
    """Split a line into cells, and tell whether a quotation mark has no second one."""
    line = line.strip() if separator == " " else line
    if '"' in line:
        try:
            options = {"delimiter": separator, "strict": True, "skipinitialspace": True}
            return next(csv.reader([line], **options)), False
        except csv.Error:
            pass
    cells = line.split() if separator == " " else line.split(separator)
    return cells, line.count('"') % 2 == 1
