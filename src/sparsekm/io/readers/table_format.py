"""The format of a text table: what separates its cells, and which line holds the names."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sparsekm.io.readers.cells import CellParser, as_numbers, split
from sparsekm.io.readers.messages import refusal, say
from sparsekm.io.readers.names import is_a, shape_of

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
_MOST_IN_CELL = 2**17
_FEW_STEPS = 6
_LINES_LOOKED_AT = 200
_HEAD_CHARACTERS = 2**21
Lines = list[tuple[int, str]]


@dataclass
class Format:
    """The names of the columns, made up if the file has none, and what is written above them."""

    separator: str
    names: list[str]
    has_header: bool = True
    # Values by sample that lines above the header hold, by name: of GEO.
    above: dict[str, list[str]] = field(default_factory=dict)
    is_gct: bool = False
    n_annotations: int = 0  # columns after the first that annotate, and lines: of GCT
    n_described: int = 0


def find_format(file: Path, lines: Lines, usual: str, remarks: list[str]) -> tuple[Format, int]:
    """Find the separator and the header, and return the index of the first line of data."""
    head, n_plain, size = [], 0, 0
    for _, line in lines:
        n_plain, size = n_plain + (line[0] not in "#!"), size + len(line)
        if n_plain > (_LINES_LOOKED_AT if size < _HEAD_CHARACTERS else 10):
            break
        head.append(line)
    plain = [line for line in head if line[0] not in "#!"]
    if len(plain) < 2:
        raise refusal("marked_lines", file, n=len(plain))
    separator, width = _find_separator(file, plain, usual)
    rows = [split(line.lstrip("#"), separator)[0] for line in head]
    marks = [line[0] if line[0] in "#!" else "" for line in head]
    is_gct = head[0].startswith(("#1.2", "#1.3"))
    header = 2 if is_gct else _find_header(rows, marks, width)
    names = [name.strip().strip('"') for name in rows[header]]
    names[0] = names[0].lstrip("#").strip()
    below = [row for row, mark in zip(rows[header + 1 :], marks[header + 1 :]) if not mark]
    while len(names) > width and not names[-1]:
        names.pop()
    ends = [row[-1].strip() for row in below if len(row) == width]
    is_heading = names[0] and is_a(names[0], "numbering", "sample_heading", "feature_heading")
    # R writes no name above those of the lines; otherwise it is the last one that lacks.
    if width == len(names) + 1 and any(ends) and not is_heading:
        names = ["", *names]
    if width > len(names) and any("".join(row[len(names) :]).strip() for row in below):
        raise refusal("short_header", file, n=len(names), width=width)
    found = Format(separator, names, is_gct=is_gct)
    if is_gct:
        sizes = [int(cell) for cell in rows[1] if cell.strip().isdecimal()]
        found.n_annotations, found.n_described = sizes[2:4] if len(sizes) == 4 else (1, 0)
        return found, header + 1
    _keep_above(found, marks[:header], rows[:header], remarks)
    if below and _is_second_header(names, below[0]):
        found.above.setdefault(names[0] or "group", names[1:])
        found.names, header = [name.strip() for name in below[0]], header + 1
    if not _is_data(found.names, below):
        return found, header + 1
    found.has_header = False
    # Blank where the names of lines may be.
    found.names = ["" if CellParser().is_text(names[0]) else "column1"]
    found.names += [f"column{at}" for at in range(2, len(names) + 1)]
    remarks.append(say("no_header", n=len(names)))
    return found, header


def _keep_above(found: Format, marks: list[str], rows: list[list[str]], remarks: list[str]) -> None:
    """Keep lines of GEO about samples, such as ``!Sample_characteristics_ch1``; name others."""
    lines = [[cell.strip().strip('"') for cell in cells] for cells in rows]
    others = [" ".join(filter(None, line)) for mark, line in zip(marks, lines) if not mark]
    if others:
        remarks.append(say("above", n=len(others), first=others[0][:40]))
    for (name, *values), mark in zip(lines, marks, strict=True):
        name = name.strip('"!')
        if mark != "!" or not name.startswith("Sample_") or not any(values):
            continue
        keys = {value.partition(": ")[0] for value in values if ": " in value}
        if len(keys) == 1 and "characteristics" in name:
            values = [value.partition(": ")[2] for value in values]
            found.above.setdefault(name, values)
            (name,) = keys
        found.above.setdefault(name, values)


def _find_separator(file: Path, lines: list[str], usual: str) -> tuple[str, int]:
    """Return the separator that splits most lines alike and into numbers, and how many cells."""
    found, too_long, parsers = {}, False, (CellParser("."), CellParser(","))
    for separator in SEPARATORS:
        # Blanks within cells that tabs separate.
        if separator == " " and found.get("\t", (0,))[0] == 1 and all("\t" in x for x in lines):
            continue
        rows = [split(line, separator)[0] for line in lines]
        if max(max(map(len, row), default=0) for row in rows) > _MOST_IN_CELL:
            too_long = True
            continue
        widths = Counter(map(len, rows))
        width, count = max(widths.items(), key=lambda item: (item[1], item[0]))
        if width == 1:
            # The longest lines may be the data, below many lines of notes.
            width, count = max(widths.items())
        if width > 1:
            share = (count + (widths.get(width - 1, 0) if width > 2 else 0)) / len(lines)
            cells = [cell for row in rows[-30:] for cell in row[:200]]
            numeric = max(sum(not parser.is_text(x) for x in cells) for parser in parsers)
            key = (round(share, 1), round(numeric / len(cells), 1), separator != " ", width)
            found[separator] = (*key, separator == usual)
    if not found and too_long:
        raise refusal("long_cell", file, most=_MOST_IN_CELL)
    best = max(found, key=found.__getitem__, default=usual)
    return best, found[best][3] if found else 1


def _find_header(rows: list[list[str]], marks: list[str], width: int) -> int:
    """Return the index of the line with the names: the first that is as wide as the data."""
    for at, (mark, cells) in enumerate(zip(marks, rows, strict=True)):
        filled = sum(bool(cell.strip()) for cell in cells)
        # R writes a vector with its names under a blank one.
        filled += width == len(cells) == 2 and cells[0] == "" and at == 0
        if mark == "!" or len(cells) < min(width - 1, 2) or filled < min(2, width):
            continue
        if filled < (width - 1) / 2 and len(rows) - at > 3:
            continue
        if mark == "#":
            # Names, if numbers follow, as in tables of OTUs.
            after = next(iter(rows[at + 1 :]), [])
            is_followed = 2 * np.isfinite(as_numbers(after)).sum() >= len(after)
            is_last = marks[at + 1 : at + 2] != ["#"]
            if len(cells) not in (width, width - 1) or not is_followed or not is_last:
                continue
        return at
    return marks.index("")


def _is_second_header(names: list[str], cells: list[str]) -> bool:
    """Tell whether names, of which most are repeated, are groups of those in the line below."""
    groups, below = names[1:], [cell.strip() for cell in cells[1:]]
    is_labelled = len(groups) == len(below) == len({*below}) >= 2 * len({*groups})
    return is_labelled and all(groups) and all(map(CellParser().is_text, below))


def _is_data(names: list[str], below: list[list[str]]) -> bool:
    """Tell whether the first line is data, not names: numbers in the range of those below it."""
    numbers = np.array(as_numbers(names))
    at = np.flatnonzero(~np.isnan(numbers))
    if 2 * len(at) <= len(names) - (len(names) > 1 and 0 not in at) or not below:
        return False
    numbers = numbers[at]
    steps = np.diff(numbers)
    is_ordered = len(steps) > 2 and (steps.min() > 0 or steps.max() < 0)
    is_even = is_ordered and np.ptp(steps) <= 0.02 * abs(steps[0])
    # Wavelengths, years or masses.
    if (is_even or (is_ordered and len(steps) > _FEW_STEPS)) and (
        0 in at
        or not re.sub(r"\d", "", names[0])
        or shape_of(names[0]) not in {shape_of(row[0]) for row in below if row}
    ):
        return False
    inside = 0
    for j, number in zip(at, numbers, strict=True):
        column = np.array(as_numbers(row[j] for row in below if j < len(row)))
        column = column[~np.isnan(column)] if (~np.isnan(column)).any() else np.zeros(1)
        room = np.ptp(column) / 2 + 1e-9
        inside += column.min() - room <= number <= column.max() + room
    return 2 * inside > len(at) or 2 * int((numbers % 1 != 0).sum()) >= len(at)
