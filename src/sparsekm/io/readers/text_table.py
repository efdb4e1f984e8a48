"""A text table, read before it is known what lines and columns mean."""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, chain, takewhile
from pathlib import Path

import numpy as np

from sparsekm.io.readers.axes import KNOWN, is_called, is_row_numbers
from sparsekm.io.readers.messages import FIRST_BYTES, Said, Way, refusal, refuse_format, say

_MOST_COLUMNS = 1_000_000
_LONGEST_NUMBER = 100
_FEW_STEPS = 6
_LINES_LOOKED_AT = 200
_MOST_JOINED = 20  # lines of a cell in quotation marks
_WIDE_HEAD = 2**17  # characters of ten lines
_HEAD_CELLS = 30_000
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_PLAIN = re.compile(rf"{_NUMBER}|(?i:[+-]?inf(inity)?)")
_BEYOND = re.compile(r"[<>≤≥]=?\s*[\d.,]+")
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009", ""))
# Unusual ways of writing a number: the form, what is read, and how that is said.
_WAYS = [
    (re.compile(form.replace("@NUMBER@", _NUMBER)), read, what)
    for what, (form, read) in KNOWN["ways"].items()
]
Lines = list[tuple[int, str]]
Rows = list[tuple[str, list[str]]]  # the mark at the beginning, # or !, and the cells


class CellParser:
    """Reads the cells of one table, by its decimal separator and its words for missing values."""

    def __init__(self, decimal: str = ".", missing: Iterable[object] = ()) -> None:
        self.decimal = decimal
        self._missing = {*KNOWN["missing"], *(str(word).strip().casefold() for word in missing)}
        self.changed: dict[str, str] = {}  # an example of each unusual way of writing
        self.grouped = ""  # an example of numbers such as 1,234
        mark = "," if decimal == "." else "."
        # Python reads 1_000 as a number.
        self._marks = str.maketrans({"_": "\0"} | ({".": "\0", ",": "."} if mark == "." else {}))
        self._groups = re.compile(rf"([+-]?\d{{1,3}}(?:[{mark}' ]\d{{3}})+)([.,]\d*)?")
        self._odd = lru_cache(100_000)(self._read)

    def numbers(self, cells: Sequence[str]) -> list[float | None]:
        """Return the numbers in cells: NaN for a missing one, None for text."""
        is_plain, numbers = self.decimal == "." and "_" not in "".join(cells), []
        rest = iter(cells if is_plain else [cell.translate(self._marks) for cell in cells])
        while len(numbers) < len(cells):
            try:
                # The numbers before the first other cell stay in the list.
                numbers.extend(map(float, rest))
            except ValueError:
                numbers.append(self._odd(cells[len(numbers)]))
        return numbers

    def _read(self, cell: str) -> float | None:
        text = cell.strip()
        if len(text) > _LONGEST_NUMBER:
            return None
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
            # This means different numbers in English and in German.
            self.grouped = self.grouped or text * bool(re.fullmatch(r"\D?\d+[.,]\d{3}", group[0]))
        plain = plain.translate(self._marks)
        if not _PLAIN.fullmatch(plain):
            return None
        self.changed = changed | self.changed
        return float(plain)


def as_numbers(cells: Iterable[str]) -> np.ndarray:
    """Read cells as numbers, with any decimal separator; text is NaN."""
    return np.array(CellParser().numbers([cell.replace(",", ".") for cell in cells]), dtype=float)


def find_decimal(cells: Iterable[str], separator: str) -> list[tuple[str, str]]:
    """Return the decimal separator of some cells with an example, or both if either may be."""
    plain = [re.sub("[−–‐‑]", "-", cell.translate(_BLANKS)).strip("% ") for cell in cells]
    for mark, other in ((".", ","), (",", ".")):
        groups = rf"\d{{1,3}}(\{other}\d{{3}})"
        sure = rf"\d*\{mark}(?!\d{{3}}$)\d+([eE][+-]?\d+)?|0*\{mark}\d+"
        form = re.compile(rf"[+-]?({sure}|{groups}+\{mark}\d*|{groups}{{2,}})")
        if example := next(filter(form.fullmatch, plain), ""):
            return [(mark, example)]
    for mark, other in ((",", "."), (".", ","))[: 1 + (separator == ";")]:
        form = re.compile(rf"[+-]?\d{{1,3}}\{mark}\d{{3}}")
        if example := next(filter(form.fullmatch, plain), ""):
            return [(mark, example), (other, example)]
    return [(".", "")]


def split(line: str, separator: str, most: int = -1) -> list[str]:
    """Split a line into cells, or at least its first ones."""
    line = line.strip() if separator == " " else line
    if '"' in line:
        with suppress(csv.Error):
            options = {"delimiter": separator, "strict": True, "skipinitialspace": True}
            return next(csv.reader([line], **options))
    return line.split(None if separator == " " else separator, most)


class TextTable:
    """The cells of a table, (lines, columns), from a file or from `text` that was made of one.

    `values` are NaN where a cell is missing or, as `is_text` tells, text. `above` holds values by
    name, above the header. In GCT, `n_annotations` columns and `n_described` lines annotate.
    """

    def __init__(
        self, file: Path, text: str | None, decimal: str, missing: Sequence[object]
    ) -> None:
        self.file, self.is_gct, self.is_of_text = file, False, text is None
        self.remarks: list[str] = []
        self.doubts: list[Said] = []
        self.above: dict[str, list[str]] = {}
        self.n_annotations = self.n_described = 0
        is_csv = text is not None or file.name.lower().removesuffix(".gz").endswith(".csv")
        usual = "," if is_csv else "\t"
        lines = _split_lines(file, self._decode() if text is None else text)
        lines = lines[self._find_format(lines, usual) :]
        width = len(self.header)
        if width > _MOST_COLUMNS:
            raise refusal("most_columns", n=width, most=_MOST_COLUMNS)
        if self.separator != usual:
            self.remarks.append(say("separator", kind=_SEPARATORS[self.separator]))
        is_sure = decimal != "auto"
        if not is_sure:
            head = lines[self.n_described : max(10, min(200, _HEAD_CELLS // width))]
            decimal = self._choose_decimal(head)
        self.decimal = decimal
        self._parse(lines, parser := CellParser(decimal, missing))
        if parser.grouped and not (is_sure or self.doubts):
            way = Way({"decimal": decimal}, "if it has a thousands separator")
            self.doubts.append(Said(say("both_marks", cell=parser.grouped), [way]))
        if not self.lines:
            raise refusal("few_lines", n=1)

    def _choose_decimal(self, lines: Lines) -> str:
        """Return the decimal separator of some lines; note if another one is possible."""
        rows = (split(line, self.separator)[:500] for _, line in lines)
        (decimal, example), *others = find_decimal(chain.from_iterable(rows), self.separator)
        if others:
            read = {decimal: re.sub("[.,]", ".", example)}
            read |= {others[0][0]: re.sub("[.,]", "", example)}
            ways = [Way({"decimal": mark}, f"if it is {number}") for mark, number in read.items()]
            about = dict(zip(("one", "thousand"), read.values(), strict=True))
            self.doubts.append(Said(say("decimal", cell=example, **about), ways))
        elif decimal == ",":
            read = example.replace(".", "").replace(",", ".")
            self.remarks.append(say("decimal_comma", example=example, read=read))
        return decimal

    def conversion(self, what: str) -> dict[str, str]:
        """Return the words for a message with the command that converts this table."""
        new = self.file.with_name(f"{self.file.name.split('.')[0]}_{what}.csv")
        separator = r"\s+" if self.separator == " " else self.separator
        read = f"read_csv({str(self.file)!r}, sep={separator!r}"
        if not self.is_of_text:
            kind = "excel" if self.file.suffix.lower().startswith(".xls") else "parquet"
            read = f"read_{kind}({str(self.file)!r}"
        return {"read": read, "file": str(new), "new": new.name}

    def cells(self, line: int) -> list[str]:
        """Return the cells of a line."""
        cells, width = split(self.lines[line], self.separator), len(self.header)
        return (cells + [""] * (width - len(cells)))[:width]

    def columns(self, wanted: Collection[int]) -> dict[int, np.ndarray]:
        """Return the cells of some columns, without blanks around them."""
        most = max(wanted) + 1
        rows = [split(line, self.separator, most) + [""] * most for line in self.lines]
        cells = np.array([[row[at].strip() for at in wanted] for row in rows], dtype=object)
        return dict(zip(wanted, cells.T, strict=True))

    def _decode(self) -> str:
        """Return the text of the file, in the encoding that it has."""
        is_gzip = self.file.suffix.lower() == ".gz"
        try:
            with gzip.open(self.file) if is_gzip else self.file.open("rb") as opened:
                content = opened.read()
            for first, what in FIRST_BYTES.items():
                if content.startswith(first.encode("latin-1")):
                    raise refusal("other_bytes", what=what)
            # Not every program writes the mark at the beginning.
            if content[:2] in (b"\xff\xfe", b"\xfe\xff") or content[1:4:2] == b"\0\0":
                text = content.decode("utf-16")
            else:
                try:
                    text = content.decode("utf-8-sig")
                except UnicodeError:
                    self.remarks.append(say("windows"))
                    text = content.decode("cp1252")
            if "\0" in text:
                raise refusal("no_text", reason="it contains NUL, as UTF-32 and binary files do")
            return text
        except PermissionError:
            raise
        except (UnicodeError, EOFError, OSError, zlib.error) as error:
            raise refusal("no_text", reason=error) from error

    def _find_format(self, lines: Lines, usual: str) -> int:
        """Find the separator and the header, and return the index of the first line of data."""
        n_above = sum(1 for _ in takewhile(lambda line: line[1][0] in "#!", lines))
        is_wide = sum(len(line) for _, line in lines[: n_above + 10]) > _WIDE_HEAD
        head = [line for _, line in lines[: n_above + (10 if is_wide else _LINES_LOOKED_AT)]]
        plain = [line for line in head if line[0] not in "#!"]
        if len(plain) < 2:
            raise refusal("marked_lines", n=len(plain))
        self.separator, width = _find_separator(plain, usual)
        rows = [
            (line[0] if line[0] in "#!" else "", split(line.lstrip("#"), self.separator))
            for line in head
        ]
        self.is_gct = head[0].startswith(("#1.2", "#1.3"))
        at = 2 if self.is_gct else _find_header(rows, width)
        self.header = names = [name.strip() for name in rows[at][1]]
        names[0] = names[0].lstrip("#").strip()
        below = [cells for mark, cells in rows[at + 1 :] if not mark]
        has_ends = any(row[-1].strip() for row in below if len(row) == width)
        # R writes no heading above the row names; in other short headers, the last one is missing.
        is_of_r = not is_called(names[0]) or is_row_numbers("", [row[0] for row in below])
        if width == len(names) + 1 and has_ends and is_of_r:
            names.insert(0, "")
        if width > len(names) and any("".join(row[len(names) :]).strip() for row in below):
            raise refusal("short_header", n=len(names), width=width)
        if self.is_gct:
            sizes = [int(cell) for cell in rows[1][1] if cell.strip().isdecimal()]
            self.n_annotations, self.n_described = sizes[2:4] if len(sizes) == 4 else (1, 0)
            return at + 1
        n_joined = self._join_headers([row for mark, row in rows[:at] if not mark], below)
        at, below = at + n_joined, below[n_joined:]
        self._keep_above(rows[:at])
        return at + 1

    def _keep_above(self, rows: Rows) -> None:
        """Keep lines about samples, such as GEO's ``!Sample_characteristics_ch1``; note others."""
        others = []
        for mark, cells in rows:
            name, *values = [cell.strip().strip('"') for cell in cells]
            others += [] if mark else [" ".join(filter(None, [name, *values]))]
            if not mark and len(cells) == len(self.header) and sum(map(bool, values)) > 1:
                values = [*accumulate(values, lambda previous, value: value or previous)]
                self.above.setdefault(name or next(filter(None, values)), values)
            name = name.strip('"!')
            if mark == "!" and name.startswith("Sample_") and any(values):
                values += [""] * (len(self.header) - len(cells))
                keys = {value.partition(": ")[0] for value in values if ": " in value}
                keys = keys if len(keys) == 1 and "characteristics" in name else set()
                values = [value.partition(": ")[2] for value in values] if keys else values
                self.above |= {key: values for key in (name, *keys) if key not in self.above}
        if others:
            self.remarks.append(say("above", n=len(others), first=others[0][:40]))

    def _join_headers(self, above: list[list[str]], below: list[list[str]]) -> int:
        """Complete blank or repeated names from other lines; return how many lines it took."""
        # Merged cells are blank except for the first.
        header = self.header
        used = [at for at, cells in enumerate(zip(header, *below, strict=False)) if any(cells)][1:]

        def is_complete(names: list[str]) -> bool:
            return len({names[at] for at in used} - {""}) == len(used)

        def join(groups: list[str], cells: list[str]) -> list[str]:
            groups = [*accumulate(groups[1:], lambda previous, name: name or previous)]
            pairs = zip(groups, cells[1:], strict=True)
            return [cells[0] or header[0], *(" ".join(pair).strip() for pair in pairs)]

        found = [(0, header)]
        found += [(0, join(row, header)) for row in reversed(above) if len(row) == len(header)]
        for n_lines, row in enumerate([] if is_complete(header) else below, 1):
            cells = [cell.strip() for cell in row]
            is_text = {*CellParser().numbers([cell for cell in cells if cell])} <= {None}
            # The line may hold the numbers of replicates.
            is_text |= not header[0] and is_called(cells[0])
            if len(cells) != len(header) or not (is_text or cells[0] == header[0] == ""):
                break
            plain = [cell or name for cell, name in zip(cells, header, strict=True)]
            found += [(n_lines, names) for names in (plain, join(header, cells)) if is_text]
        n_lines, self.header = next((one for one in found if is_complete(one[1])), found[0])
        return n_lines

    def _parse(self, lines: Lines, parser: CellParser) -> None:
        """Read the cells of all lines of data."""
        self.lines: list[str] = []
        self.numbers: list[int] = []
        odd: dict[str, list[int]] = {"short": [], "notes": []}
        width = len(self.header)
        self.values = np.full((len(lines), len(self.header)), np.nan)
        self.is_text = np.zeros(self.values.shape, dtype=bool)
        for number, line in lines:
            cells = self._split_line(number, line)
            if not cells:
                continue
            at, n_cells, numbers = len(self.lines), len(cells), parser.numbers(cells)
            values = np.array(numbers, dtype=float)
            is_blank = self.separator == " "
            # Notes explain an abbreviation (ND, not detected) or name a source.
            is_note = at >= self.n_described and width > 2 and not is_blank
            is_note &= np.isfinite(values[1:]).sum() <= (n_cells < width)
            if is_note and 2 * sum(bool(cell.strip()) for cell in cells[1:]) < width:
                odd["notes"].append(number)
                continue
            if n_cells < width:
                if is_blank or 2 * n_cells <= width:
                    raise refusal("wrong_line", line=number, n=n_cells, width=width)
                odd["short"].append(number)
            self.values[at, :n_cells] = values
            lacking = np.flatnonzero(np.isnan(values))
            self.is_text[at, lacking] = [numbers[k] is None for k in lacking]
            self.lines.append(line)
            self.numbers.append(number)
        n_lines, self.changed = len(self.lines), parser.changed
        self.values, self.is_text = self.values[:n_lines], self.is_text[:n_lines]
        infinite = np.isinf(self.values)
        if infinite.any():
            self.remarks.append(say("infinite", n=infinite.sum()))
            self.values[infinite] = np.nan
        for kind, found in odd.items():
            if found:
                self.remarks.append(say(kind, n=len(found), first=min(found)))

    def _split_line(self, number: int, line: str) -> list[str]:
        """Return the cells of a line, none of a comment."""
        width = len(self.header)
        cells = split(line, self.separator)
        # A blank separator leaves empty cells at the end.
        if len(cells) > width and not "".join(cells[width:]).strip():
            return cells[:width]
        if line[0] == "!" or (line[0] == "#" and (len(cells) != width or line.startswith("#!{"))):
            return []
        if line.count('"') % 2:
            raise refusal("open_quote", line=number)
        if len(cells) > width:
            raise refusal("wrong_line", line=number, n=len(cells), width=width)
        return cells


def _split_lines(file: Path, text: str) -> Lines:
    """Return the lines that are not empty, and their numbers from 1."""
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    lines = [one for one in enumerate(text.split("\n"), 1) if one[1].strip(' ,;\t"')]
    if lines and re.match(r"\^(DATABASE|SERIES|PLATFORM|SAMPLE) *=", lines[0][1]):
        refuse_format(file, "SOFT of GEO", "".join(file.suffixes[-2:]))
    lines = _join_quoted(lines) if '"' in text else lines
    if len(lines) < 2:
        raise refusal("few_lines", n=len(lines))
    return lines


_OPEN_QUOTE = re.compile(r'(^|[,;\t|])\s*"[^"]*$')


def _join_quoted(lines: Lines) -> Lines:
    """Join the lines of a cell in quotation marks, which may contain line breaks."""
    joined, held = [], []
    for number, line in lines:
        held.append((number, line))
        text = " ".join(part for _, part in held)
        if text.count('"') % 2 and _OPEN_QUOTE.search(text) and len(held) < _MOST_JOINED:
            continue
        joined += held if text.count('"') % 2 else [(held[0][0], text)]
        held = []
    return joined + held


def _find_separator(lines: list[str], usual: str) -> tuple[str, int]:
    """Return the separator with most lines of equal length and numbers, and the number of cells."""
    found, parsers = {}, (CellParser("."), CellParser(","))
    for separator in _SEPARATORS:
        rows = [split(line, separator) for line in lines]
        widths = Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        if width > 1:
            share = (count + (widths.get(width - 1, 0) if width > 2 else 0)) / len(lines)
            cells = [cell for row in rows[-30:] for cell in row[:200]]
            text = min(parser.numbers(cells).count(None) for parser in parsers)
            key = (round(share, 1), round(1 - text / len(cells), 1), separator != " ", width)
            found[separator] = (*key, separator == usual)
    best = max(found, key=found.__getitem__, default=usual)
    return best, found[best][3] if found else 1


def _find_header(rows: Rows, width: int) -> int:
    """Return the index of the line with the names: the first that is as wide as the data."""
    for at, (mark, cells) in enumerate(rows):
        filled = sum(bool(cell.strip()) for cell in cells)
        is_narrow = len(cells) < min(width - 1, 2) or filled < min(2, width)
        if mark == "!" or is_narrow or (filled < (width - 1) / 2 and len(rows) - at > 3):
            continue
        if mark == "#":
            # In tables of OTUs, a comment holds the names if numbers follow, perhaps after a class.
            after = next((row for other, row in rows[at + 1 :] if not other), [])
            is_followed = 2 * np.isfinite(as_numbers(after)).sum() >= len(after)
            if len(cells) not in (width, width - 1) or not is_followed:
                continue
        return at
    return next(at for at, (mark, _) in enumerate(rows) if not mark)


def are_values(names: Sequence[str]) -> bool:
    """Tell whether the names of columns are numbers: most, in no order such as wavelengths."""
    numbers = as_numbers(names)
    numbers = numbers[np.isfinite(numbers)]
    if 2 * len(numbers) <= len(names):
        return False
    # Numbers in order may be wavelengths, years or masses.
    steps = np.diff(numbers)
    is_even = len(steps) > 2 and np.ptp(steps) <= 0.02 * abs(steps[0])
    is_ordered = len(steps) > 2 and (steps.min() > 0 or steps.max() < 0)
    return not (is_ordered and (is_even or len(steps) > _FEW_STEPS))
