"""Reading a matrix from a text table, whose cells show what lines and columns are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from sparsekm.cluster.description import Description
from sparsekm.io.readers import axes
from sparsekm.io.readers.messages import MatrixError, Said, Way, ask, combine, refusal, say
from sparsekm.io.readers.raw_matrix import (
    MIN_SAMPLES,
    RawMatrix,
    Settings,
    assemble,
    check_named,
    check_size,
    merge_features,
    preview,
)
from sparsekm.io.readers.text_table import TextTable, are_values, as_numbers

_SPECIAL = frozenset(map(str.lower, axes.KNOWN["special_lines"]))
_TIMES = frozenset(("date", "time", "timestamp"))
_PARTS_OF_DATES = frozenset(("month", "day"))
_LOOKED_AT = 500  # lines and columns whose numbers tell what they are
_LONGEST_WORD = 100
_MOST_WORDS = 8  # words that may stand for missing values
_MOST_KEYS = 8  # columns that may name the samples and features of a long table
_MOST_VALUES = 2  # columns of values of such a table
_FEWEST_ASCENDING = 20  # whole numbers that ascend from row to row, and so number the rows


class _Table(TextTable):
    """A table with the kinds of its lines and columns, by index.

    `rows` and `numeric` are the lines and columns of measurements; `aside` are the other lines, and
    `text` the other columns. `edge` is the column that names the lines, and `edges` are its cells.
    """

    def __init__(self, file: Path, text: str | None, settings: Settings) -> None:
        super().__init__(file, text, settings.decimal, settings.missing_values)
        self.settings = settings
        self.named = {*settings.named.values(), *settings.ignore} - {""}
        self._sort_columns()
        first = self.header[0]
        if first and not axes.is_called(first) and are_values(self.names(self.numeric)):
            raise refusal("no_header", names=self.header, **self.conversion("named"))
        self._sort_lines()
        self._find_edge()
        if blank := [at + 1 for at in self.numeric if not self.header[at]]:
            raise refusal("no_heading", n=len(blank), places=blank)
        if not self.numeric:
            row = [*self.rows, 0][0]
            cell = self.cells(row)[[0, *self.text][-1]].strip()
            raise refusal("all_text", names=self.header, cell=cell, line=self.numbers[row])

    def _sort_columns(self) -> None:
        """Find the columns of text and of numbers, and the columns of numbers that may hold ids."""
        header, body = self.header, slice(self.n_described, None)
        n_text = self.is_text[body].sum(axis=0)
        n_numbers = np.isfinite(self.values[body]).sum(axis=0)
        others = self.named | (axes.annotating(header) - {*self.settings.keep})
        is_text = (n_text > n_numbers) | [name in others for name in header]
        is_text[1 : 1 + self.n_annotations] = True
        # A column without values is left out, unless a name shows that all are missing.
        empty = (n_text + n_numbers == 0) & [not name for name in header]
        self.text = np.flatnonzero(is_text & ~empty).tolist()
        self.numeric = np.flatnonzero(~is_text & ~empty).tolist()
        self.ids = [at for at in self.numeric if at == 0 or axes.is_called(header[at])]
        self.text_of = self.columns({*self.text, *self.ids, 0})

    def _sort_lines(self) -> None:
        """Set lines of text, such as units or classes, aside."""
        n_text = self.is_text[:, self.numeric].sum(axis=1)
        is_aside = (n_text > 1) & (2 * n_text > len(self.numeric))
        is_aside[: max(self.n_described, self._count_headers())] = True
        self.rows, self.aside = np.flatnonzero(~is_aside), np.flatnonzero(is_aside)

    def _find_edge(self) -> None:
        """Find the column that names the lines, which no longer counts as text or numbers."""
        header, settings = self.header, self.settings
        # Software numbered the lines, perhaps twice.
        gone = [at for at in self.ids if axes.is_row_numbers(header[at], self.column(at))]
        ranks = [rank for at in range(len(header)) if (rank := self._rank_names(at, gone))]
        self.edge = min(ranks)[-1] if ranks else None
        if settings.samples in header:
            self.edge = header.index(settings.samples)
        elif self.is_gct:
            self.edge = int(0 in gone)
        self.edges = [] if self.edge is None else self.text_of[self.edge].tolist()
        self.is_named = self.edge is not None and self.edge not in gone
        self.text = [at for at in self.text if at != self.edge]
        # The first column lacks a name only if it numbers or names the lines.
        gone += [0] * (not header[0])
        self.numeric = [at for at in self.numeric if at not in {*gone, self.edge}]

    def column(self, at: int) -> list[str]:
        """Return the cells of a column in the lines of numbers."""
        return self.text_of[at][self.rows].tolist()

    def names(self, columns: Iterable[int]) -> list[str]:
        """Return the headings of some columns."""
        return [self.header[at] for at in columns]

    def lines_of_text(self) -> dict[str, list[str]]:
        """Return the lines of text above and below the header, by name."""
        found = {name: [of[at - 1] for at in self.numeric] for name, of in self.above.items()}
        for line in self.aside:
            name = (self.edges[line] if self.edges else "") or f"line {self.numbers[line]}"
            cells = self.cells(line)
            found.setdefault(name, [cells[at].strip() for at in self.numeric])
        return found

    def _count_headers(self) -> int:
        """Count the lines below the header that continue it, such as "Sample ID 2"."""
        first, heading = self.text_of[0].tolist(), self.header[0]
        if heading and heading in first[0]:
            return next((at for at, name in enumerate(first) if heading not in name), 0)
        # pandas writes the names of levels above the row numbers.
        n = next((at for at, name in enumerate(first) if name.isdecimal()), 0)
        return n if axes.is_row_numbers("", first[n:]) else 0

    def _rank_names(self, at: int, gone: list[int]) -> tuple[Any, ...] | None:
        """Rank a column by how well it names the lines (low is good), or None if it does not."""
        heading = self.header[at]
        if at not in self.text_of or heading in self.named:
            return None
        cells, words, is_called = self.column(at), axes.words_of(heading), axes.is_called(heading)
        n, size, is_blank = len(cells), len({*cells}), at == 0 and not heading
        # A column of ages may contain 22-23 and 65+.
        is_text = at in self.text or (at == 0 and self.is_text[self.rows, at].any())
        # Symbols may repeat, as may the names of samples that were measured twice.
        is_name = 2 * size > n or size > max(2, n / 10)
        if size < n and not (is_text and (at == 0 or axes.heading_vote(heading) > 0)):
            return None
        if not is_text:
            is_id = all(map(str.isdecimal, cells)) or axes.heading_vote(heading) >= 0
            is_id &= _PARTS_OF_DATES.isdisjoint(words)
            # Wavelengths may have any heading.
            is_even = at == 0 and axes.is_scale(cells)
            is_name = is_blank or is_even or (is_called and is_id)
        is_time = not _TIMES.isdisjoint(words)
        # A sample comes before its well, plate or time.
        is_other = not is_text if is_blank else "sample" not in words
        rank = at in gone, not (is_called or is_blank), is_time, is_other
        return (*rank, size < n, at) if is_name else None

    def refuse_long(self) -> None:
        """Refuse a long table: a line per value, and columns that name its sample and feature."""
        for sample, feature, value in axes.KNOWN["long"]:
            if {sample, feature, value} <= {*self.header}:
                self._refuse_long([sample], feature, value)
        n, ignore = len(self.rows), self.settings.ignore
        # A table does not become long because columns are ignored.
        ignored = {at for at in self.text if self.header[at] in ignore}
        numeric = ignored | {*self.numeric}
        texts = {*self.text, self.edge} & {*self.text_of} - ignored
        cells: dict[int, list] = {at: self.column(at) for at in sorted(texts)}
        for at in sorted(numeric)[:_MOST_KEYS]:
            values = self.values[self.rows, at]
            if (values % 1 == 0).all():
                cells[at] = values.tolist()
        keys = pd.DataFrame({at: pd.factorize(np.array(some))[0] for at, some in cells.items()})
        sizes, found = keys.nunique(), {}
        # If another column names the lines, these columns may describe them.
        is_named = self.edge in texts - {*self.ids} and len({*self.edges}) >= n
        # Text, a known heading or numbers from 1 on are names; other numbers may be measured.
        names = {at for at in keys if at in texts or axes.is_called(self.header[at])}
        names |= {at for at in keys if {*cells[at]} == {*range(1, max(10, sizes[at]) + 1)}}
        features = {at for at in keys if axes.names_features(self.header[at], cells[at])}
        left = sizes.index[(sizes > 1) & (2 * sizes <= n)][:_MOST_KEYS]
        for chosen in (some for k in (2, 3) for some in combinations(left, k)):
            n_values, n_cells = len(numeric - {*chosen}), sizes[[*chosen]].prod()
            is_few = n_values <= _MOST_VALUES and not is_named
            is_few |= not features.isdisjoint(chosen)
            if n < 6 or not n_values or not is_few or names.isdisjoint(chosen):
                continue
            counts, by_name = keys.groupby([*chosen]).size(), {*chosen} <= names
            is_dense = n_cells <= (4 if by_name else 2) * n
            is_crossed = len(counts) == n_cells and counts.max() <= min(5, 2 * counts.min())
            # Some are measured twice.
            is_nearly = 4 * n <= 5 * len(counts)
            if (is_nearly and is_dense) or is_crossed:
                found[chosen] = counts.max() > 1, not is_crossed, -len(chosen)
        if found:
            chosen = min(found, key=found.__getitem__)
            *index, feature = self.names(sorted(chosen, key=lambda at: at in features))
            left = sorted(numeric - {*chosen})
            # The measured values differ more than their errors, limits and dates.
            value = max(left, key=lambda at: len(np.unique(self.values[self.rows, at])))
            self._refuse_long(index, feature, self.header[value], self.names(left))

    def _refuse_long(
        self, index: list[str], feature: str, value: str, values: Sequence[str] = ()
    ) -> NoReturn:
        """Refuse a long table with the command that converts it."""
        sample: Any = index[0] if len(index) == 1 else index
        joined = ".pipe(lambda t: t.set_axis(t.index.map(lambda i: ' '.join(map(str, i)))))"
        others = [name for name in values if name != value]
        raise refusal(
            "long",
            sample=sample,
            feature=feature,
            value=value,
            join=joined * (len(index) > 1),
            others=say("long_others", value=value, names=others) if others else "",
            **self.conversion("wide"),
        )

    def refuse_distances(self) -> None:
        """Refuse a symmetric table whose lines and columns have the same names."""
        n, columns = len(self.rows), self.numeric
        lines = [self.edges[row] for row in self.rows] if self.is_named else self.names(columns)
        square = [at for at in columns if self.header[at] in {*lines}]
        if len({*self.names(square)} & {*lines}) == len(square) == n and MIN_SAMPLES <= n < 9999:
            X = pd.DataFrame(self.values[np.ix_(self.rows, square)], columns=self.names(square))
            X = X[lines].to_numpy()
            # One half may be empty.
            X = np.where(np.isnan(X), X.T, X)
            if np.allclose(X, X.T, equal_nan=True):
                raise refusal("distances", n=n)

    def find_orientation(self) -> tuple[bool | None, dict[bool, list[str]]]:
        """Tell whether lines hold features (None if uncertain), and list the reasons for each."""
        settings, names = self.settings, self.settings.named.values()
        n_columns, n_lines = (len(settings.wanted & {*some}) for some in (self.header, self.edges))
        found = True if self.is_gct else None
        if settings.transpose != "auto":
            found = bool(settings.transpose)
        elif n_columns != n_lines:
            found = n_lines > n_columns
        elif any(name in self.header for name in names):
            found = False
        elif any(name in (*self.edges, *self.above) for name in names):
            found = True
        if found is not None:
            return found, {True: [], False: []}
        texts = {self.header[at]: self.column(at) for at in self.text}, self.lines_of_text()
        columns = self.names(self.numeric)
        heading = "" if self.edge is None else self.header[self.edge]
        lines = self.column(self.edge) if self.is_named else []
        return axes.find_orientation(heading, lines, columns, texts)

    def list_doubts(self, transpose: bool) -> list[Said]:
        """List what is doubtful if lines hold features, or if they hold samples."""
        wanted, said = self.settings.wanted, {*self.settings.keep} | self.named
        columns = [at for at in self.numeric if self.header[at] not in said]
        names = self.names(columns)
        if wanted and not transpose:
            return self._doubt_words([at for at in columns if self.header[at] in wanted], False)
        key, measures = "measures", axes.find_measures(names) if transpose else {}
        if transpose and not measures:
            key, shared = "some_measures", axes.share_measures(names)
            # Length and the like beside the samples are asked about below.
            is_needed = len(shared) > 2 or not {*shared.get("", [])} <= {*self.find_doubtful(True)}
            measures = shared if is_needed else {}
        if measures:
            ways = [
                Way({"ignore": [name for name in names if name not in some], "keep": some}, meaning)
                for measure, some in measures.items()
                for meaning in [f"to use {measure or 'the other columns'}"]
            ]
            return [Said(say(key, names=[*filter(None, measures)]), ways)]
        doubts, names = self._doubt_words(columns, transpose), self.find_doubtful(transpose)
        edges = [self.edges[row] for row in self.rows if self.edges and not wanted]
        # Lines that describe samples may be anywhere among features; lines that describe features
        # come before the samples.
        among = filter if transpose else takewhile
        lines = among(lambda name: axes.is_doubtful(name, True, of_features=not transpose), edges)
        lines = [name for name in dict.fromkeys(lines) if name not in said]
        for kind, left in (("columns", names), ("rows", lines)):
            of = "features" if transpose == (kind == "columns") else "samples"
            ways = [Way({"keep": left}, f"to keep these {kind}")]
            n_left = len(self.numeric) - len(left) * (kind == "columns")
            if n_left >= (MIN_SAMPLES if transpose else 1):
                ways.insert(0, Way({"ignore": left}, f"to leave these {kind} out"))
            if left:
                doubts.insert(0, Said(say("doubtful", kind=kind, names=left, of=of), ways))
        return doubts

    def find_doubtful(self, transpose: bool) -> list[str]:
        """List columns of numbers that are probably not measurements, by heading or content."""
        columns = [at for at in self.numeric if self.header[at] not in self.settings.keep]
        names = self.names(columns)
        # Whether a column numbers the samples is known only after the last line.
        X = self.values[np.ix_(self.rows[: 2 * _LOOKED_AT if transpose else None], columns)]
        whole = ((X % 1 == 0) | np.isnan(X)).all(axis=0)
        pairs = zip(names, whole, strict=True)
        found = np.array([axes.is_doubtful(*pair, of_features=transpose) for pair in pairs], bool)
        if transpose and columns:
            # Columns of samples are adjacent, and their numbers are of one kind and differ.
            breaks = [at for at in self.text if self.header[at] not in self.named]
            parts = np.searchsorted(breaks, columns)
            part, n_there = Counter(parts.tolist()).most_common(1)[0]
            found |= (parts != part) & (2 * n_there > len(parts))
            found |= [axes.heading_vote(name) > 0 for name in names]
            odd = (whole | (X == X[:1]).all(axis=0)) & ~found
            found |= odd & (10 * odd.sum() <= (~found).sum())
        elif columns:
            found |= whole & [axes.heading_vote(name) < 0 for name in names]
            for at in np.flatnonzero(whole):
                steps = np.diff(np.sort(X[:, at]))
                is_sorted = len(X) >= _FEWEST_ASCENDING and (np.diff(X[:, at]) > 0).all()
                found[at] |= is_sorted or (len(steps) > 0 and (steps == 1).all())
        return [name for name, is_one in zip(names, found, strict=True) if is_one]

    def _doubt_words(self, columns: list[int], transpose: bool) -> list[Said]:
        """Ask about words among numbers: missing values, or a column of text."""
        rows, at = np.nonzero(self.is_text[np.ix_(self.rows, columns)])
        if not len(rows):
            return []
        cells = {row: self.cells(self.rows[row]) for row in {*rows.tolist()}}
        odd = [cells[row][columns[j]].strip() for row, j in zip(rows, at, strict=True)]
        words = [word for word, _ in Counter(odd).most_common()]
        line, other = self.numbers[self.rows[rows[0]]], "." if self.decimal == "," else ","
        for word in words:
            if other in word and np.isfinite(as_numbers([word])[0]):
                raise refusal("both_marks", cell=word)
        wrong = self.names(columns[j] for j in np.unique(at))
        is_short = max(map(len, words)) <= _LONGEST_WORD
        ways = [Way({"missing_values": words}, "if they mean missing values")] * is_short
        left = {*self.names(columns)} - {*wrong, *self.find_doubtful(transpose)}
        ways += [Way({"ignore": wrong}, "to leave the columns out")] * bool(left)
        about = {"names": wrong, "cell": odd[0], "column": self.header[columns[at[0]]]}
        said = say("not_all_numeric", line=line, **about)
        if not ways:
            raise MatrixError(said)
        return [Said(said, ways[:: -1 if len(words) > _MOST_WORDS else 1])]

    def preview(self, transpose: bool) -> list[str]:
        """Show the first samples and features of a reading."""
        lines = [self.edges[row] for row in self.rows[:3] if self.edges] or ["line 1", "2", "3"]
        axis = [lines, self.names(self.numeric[:3])]
        X = self.values[np.ix_(self.rows[:3], self.numeric[:3])]
        return preview(X.T if transpose else X, *(axis[::-1] if transpose else axis))


def read_text(file: Path, settings: Settings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix from a file, or from the text that another reader made of it."""
    table = _Table(file, text, settings)
    transpose, remarks = _settle(table), table.remarks
    # Lines that settings name; if columns hold samples, these lines may describe the samples.
    named = table.named if transpose else {*settings.ignore}
    gone = [row for row in table.rows if table.edges and table.edges[row] in named]
    table.rows = np.setdiff1d(table.rows, [*gone, *_special_lines(table)]).astype(int)
    table.aside = np.union1d(table.aside, gone * transpose).astype(int)
    # A setting may also name the column that names the lines.
    asked = [at for at, name in enumerate(table.header) if at in table.text or name in table.named]
    texts = {table.header[at]: table.column(at) for at in asked if at in table.text_of}
    lines, columns = table.lines_of_text(), table.names(table.numeric)
    about = lines if transpose else texts
    edges = None if table.edge is None else table.column(table.edge)
    X = _take_values(table)
    samples, features = edges, columns
    if transpose:
        X, samples = X.T, about.get(settings.samples or "", columns)
        features = edges or [f"feature{at + 1}" for at in range(X.shape[1])]
    for kind, some in (("columns", texts), ("rows", lines)):
        names = [name for name in some if name not in {*table.named, *columns}]
        few = [name for name in names if name and some is about and axes.few_levels(some[name])]
        is_open = few and not settings.labels
        cure: Any = say("may_be_labels", labels=few[0]) if is_open else ""
        known = axes.annotating(table.header)
        if annotating := [name for name in names if name in known]:
            remarks.append(say("annotating", kind=kind, names=annotating))
        names = [name for name in names if name not in known]
        if names:
            shown = [name or "without a heading" for name in names]
            remarks.append(say("text", kind=kind, names=shown, cure=cure))
    if samples is not None:
        samples = [name or f"sample{at + 1}" for at, name in enumerate(samples)]
    check_size(*X.shape)
    X, features = merge_features(X, features, settings.duplicates, remarks)
    offset = np.nan_to_num(X[0])
    X = (X - offset).astype(np.float32, order="C")
    described = Description(samples=samples, features=features)
    hold = "features" if transpose else "samples"
    raw = RawMatrix.of(X, offset, about=described, lines=hold, remarks=remarks)
    return assemble(raw, settings, about)


def _settle(table: _Table) -> bool:
    """Tell whether lines hold features, or ask about that and all other doubts at once."""
    settings, n_lines, n_columns = table.settings, len(table.rows), len(table.numeric)
    if not settings.named:
        table.refuse_long()
    if settings.transpose == "auto":
        table.refuse_distances()
    found, reasons = table.find_orientation()
    headings, columns = [*filter(None, table.header)], table.names(table.numeric)
    if found:
        check_named(
            settings, [*table.edges, *table.above], "its rows", "the name of a column", headings
        )
    else:
        check_named(settings, headings, "its columns", "the name of a row", table.edges)
    given = asdict(settings)
    # A single column is rarely the only feature.
    is_one = n_columns == 1
    if (is_one or found is not False) and settings.transpose == "auto":
        n_doubtful = len(table.find_doubtful(True)) * (not axes.find_measures(columns))
        if n_columns - n_doubtful < MIN_SAMPLES:
            if is_one or found:
                said = say("no_samples", names=columns)
                way = Way({"transpose": False}, "if rows hold samples")
                ask([Said(said, [way]), *table.list_doubts(False)], given)
            found = False
    if found is None:
        ways = []
        for turned, n, p in ((False, n_lines, n_columns), (True, n_columns, n_lines)):
            reason = " and ".join(reasons[turned]) or "none"
            text = say("reads_features" if turned else "reads_samples", n=n, p=p, reason=reason)
            first = Way({"transpose": turned}, text, table.preview(turned))
            ways += combine([Said("", [first]), *table.list_doubts(turned)], given)
        ask([*table.doubts, Said(say("orientation"), ways)], given)
    elif asked := [*table.doubts, *table.list_doubts(found)]:
        # Without the columns in doubt, the axes may be less certain.
        sure = [Said("", [Way({"transpose": found})])] * (settings.transpose == "auto")
        ask([*sure, *asked], given)
    if found and reasons[True]:
        table.remarks.append(say("features", sign=reasons[True][0]))
    return bool(found)


def _take_values(table: _Table) -> np.ndarray:
    """Return the measurements, (lines, columns), NaN if missing."""
    X = table.values[np.ix_(table.rows, table.numeric)]
    X[np.isin(X, table.settings.missing_numbers)] = np.nan
    for row, at in np.argwhere(np.abs(X) > np.finfo(np.float32).max):
        about = {"line": table.numbers[table.rows[row]], "column": table.header[table.numeric[at]]}
        raise refusal("beyond_in_table", value=X[row, at], **about)
    changed = table.changed.items()
    table.remarks += [say("changed", what=what, example=example) for what, example in changed]
    return X


def _special_lines(table: _Table) -> list[int]:
    """Return lines that a program writes below its values, and those that alone lack a name."""
    names = {row: table.edges[row] for row in table.rows if table.edges}
    # Such lines hold counters and limits, or probes without a gene.
    special = {row: name for row, name in names.items() if name.lower() in _SPECIAL}
    if not special or len(special) == len(names):
        return []
    table.remarks.append(say("special_lines", names=[*special.values()], n=len(special)))
    return [*special]
