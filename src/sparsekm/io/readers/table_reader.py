"""Reading a matrix from a table of text, whose cells tell what lines and columns are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.io.readers import axes
from sparsekm.io.readers.doubts import Doubt, ask, combine
from sparsekm.io.readers.messages import MatrixError, Way, refusal, say
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
from sparsekm.io.readers.text_table import TextTable, as_numbers

_SPECIAL = frozenset(axes.KNOWN["special_lines"])
_TIMES = frozenset(("date", "time", "timestamp"))
_MANY = 1000  # lines that tell which columns annotate
_LOOKED_AT = 500  # lines and columns whose numbers tell what they are
_MOST_WORDS = 8  # words that may stand for missing values
_MOST_KEYS = 8  # columns that may name the samples and features of a long table
_MOST_VALUES = 2  # columns of values of such a table
_FEWEST_NUMBERS = 5


class _Table(TextTable):
    """A table whose lines and columns are described, by index.

    `rows` and `numeric` hold measurements, `aside` are other lines, `text` other columns; `edge` is
    a column with the names of all lines, `edges`.
    """

    def __init__(self, file: Path, text: str | None, settings: Settings) -> None:
        super().__init__(file, text, settings.decimal, settings.missing_values)
        self.settings, header = settings, self.header
        self.named = {*settings.named.values(), *settings.ignore} - {""}
        is_number, body = ~np.isnan(self.values), slice(self.n_described, None)
        n_text, n_numbers = self.is_text[body].sum(axis=0), is_number[body].sum(axis=0)
        is_text = (n_text > n_numbers) | [name in self.named for name in header]
        is_text[1 : 1 + self.n_annotations] = True
        # What no line has a value for is empty or, with a name, all missing.
        empty = (n_text + n_numbers == 0) & [not name for name in header]
        if empty.any():
            self.remarks.append(say("empty_columns", n=empty.sum()))
        self.text = np.flatnonzero(is_text & ~empty).tolist()
        self.numeric = np.flatnonzero(~is_text & ~empty).tolist()
        self.ids = [at for at in self.numeric if at == 0 or axes.is_called(header[at])]
        self.text_of = self.columns({*self.text, *self.ids, 0})
        # Lines of text, such as units or classes, are set aside.
        n_text = self.is_text[:, self.numeric].sum(axis=1)
        n_numbers = is_number[:, self.numeric].sum(axis=1)
        is_aside = (n_text > 1) & (2 * n_text > len(self.numeric))
        # Notes with commas have few cells.
        is_aside |= (n_text > 0) & (n_numbers <= 1) & (len(self.numeric) > 3)
        is_aside[: max(self.n_described, self._count_headers())] = True
        self.rows, self.aside = np.flatnonzero(~is_aside), np.flatnonzero(is_aside)
        self.edge = self._find_edge()
        self.edges = [] if self.edge is None else self.text_of[self.edge].tolist()
        if not self.has_header and self.edge != 0:
            header[0] = "column1"
        # Software numbered the lines, perhaps twice.
        is_numbered = (at in self.ids and self._is_numbered(at) for at in self.numeric)
        gone = {at for at, is_one in zip(self.numeric, is_numbered, strict=True) if is_one}
        self._refuse_long(gone)
        self.text = [at for at in self.text if at != self.edge]
        self.numeric = [at for at in self.numeric if at != self.edge and at not in gone]
        if not self.numeric:
            kind, row = "one_cell" if len(header) == 1 else "all_text", [*self.rows, 0][0]
            cell = self.cells(row)[[0, *self.text][-1]].strip()
            raise refusal(kind, names=header, cell=cell, line=self.numbers[row])

    def column(self, at: int) -> list[str]:
        """Return the cells of a column in the lines of numbers."""
        return self.text_of[at][self.rows].tolist()

    def names(self, columns: Iterable[int]) -> list[str]:
        """Return the headings of some columns."""
        return [self.header[at] for at in columns]

    def above_of(self, name: str) -> list[str] | None:
        """Return the line above the header that a setting means: GEO's have prefixes."""
        plain = name.strip().lstrip("!").casefold()
        keys = {key.casefold(): values for key, values in reversed(self.above.items())}
        return keys.get(plain) or next((keys[key] for key in keys if key.startswith(plain)), None)

    def _is_numbered(self, at: int) -> bool:
        return axes.is_row_numbers(self.header[at], self.column(at))

    def _count_headers(self) -> int:
        """Count the lines below the header that go on with it, such as "Sample ID 2"."""
        first, heading = self.text_of[0].tolist(), self.header[0]
        n = next((at for at, name in enumerate(first) if not heading or heading not in name), 0)
        if n:
            return n
        # In tables that pandas writes, names of levels stand above numbers of lines.
        n = next((at for at, name in enumerate(first) if name.isdecimal()), 0)
        return n if axes.is_row_numbers("", first[n:]) else 0

    def _find_edge(self) -> int | None:
        """Return the column with the names of the lines, if there is one."""
        header, settings = self.header, self.settings
        if settings.samples in header:
            return header.index(settings.samples)
        if self.is_gct:
            return int(self._is_numbered(0))
        n, found = len(self.rows), {}
        for at in sorted(
            {*self.text, *self.ids} - {at for at in range(len(header)) if header[at] in self.named}
        ):
            cells, is_text = self.column(at), at in self.text
            size, is_blank = len({*cells}), at == 0 and not header[at]
            is_feature, is_sample = (
                axes.is_heading(header[at], axis) for axis in ("feature", "sample")
            )
            # Ages such as 22-23 and 65+ stand beside numbers.
            is_text |= at == 0 and size == n and self.is_text[self.rows, at].any()
            # Symbols may repeat, as may the names of samples that were measured twice.
            is_name = size == n or (
                is_text and ((is_feature and size > max(2, n / 10)) or (at == 0 and 2 * size > n))
            )
            if not is_text:
                is_id = all(map(str.isdecimal, cells)) or is_feature or axes.is_heading(header[at])
                is_name = size == n and (
                    is_blank or (is_id and self.has_header and axes.is_called(self.header[at]))
                )
            if is_name:
                kind = is_feature or is_sample or is_blank
                found[at] = (
                    self._is_numbered(at),
                    not (kind or axes.is_called(header[at])),
                    not _TIMES.isdisjoint(axes.words_of(header[at])),
                    not is_text,
                    not kind,
                    # A sample comes before its well, plate or time.
                    not is_blank and "sample" not in axes.words_of(header[at]),
                    size < n,
                )
        if found:
            return min(found, key=found.__getitem__)
        is_turned = settings.transpose is True and self.has_header
        return min([*self.text, *self.numeric] * is_turned, default=None)

    def _refuse_long(self, gone: set[int]) -> None:
        """Refuse a table with a line for each value, where other columns name sample and feature."""
        if self.settings.named or len(self.rows) < 6:
            return
        n, codes = len(self.rows), {at: self.column(at) for at in self.text}
        numbers = [at for at in self.numeric if at not in gone]
        for at in numbers[:_MOST_KEYS]:
            values = self.values[self.rows, at]
            if (values % 1 == 0).all() or 8 * len(np.unique(values)) <= n:
                codes[at] = values.tolist()
        keys = pd.DataFrame({at: pd.factorize(np.array(some))[0] for at, some in codes.items()})
        sizes = keys.nunique()
        keys = keys.loc[:, (sizes > 1) & (sizes <= n / 2)].iloc[:, :_MOST_KEYS]
        # Columns that name, by text, heading or numbers from 1 on.
        names = {at for at in keys if at in self.text or axes.is_called(self.header[at])}
        names |= {at for at in keys if {*codes[at]} == {*range(1, max(10, sizes[at]) + 1)}}
        features = {at for at in keys if axes.names_features(self.header[at], codes[at])}
        found = {}
        for chosen in (
            some for k in (2, 3, 4) for some in combinations(keys, k) if {*some} & names
        ):
            values = [at for at in numbers if at not in chosen]
            most = len(numbers) if {*chosen} & features else _MOST_VALUES
            if not 1 <= len(values) <= most:
                continue
            counts, room = keys.groupby([*chosen]).size(), sizes[[*chosen]].prod()
            # Numbers that are not called so may be measured.
            is_dense = (4 if {*chosen} <= names else 2) * n >= room
            is_dense |= {*chosen} <= names and len(values) == 1 and 5 * sizes[[*chosen]].max() <= n
            is_crossed = len(counts) == room and counts.max() <= min(5, 2 * counts.min())
            if (counts.max() == 1 and is_dense) or is_crossed:
                found[chosen] = counts.max() > 1, not is_crossed, -len(chosen)
        if found:
            chosen = min(found, key=found.__getitem__)
            *index, feature = self.names(sorted(chosen, key=lambda at: at in features))
            value = self.names(at for at in numbers if at not in chosen)[-1]
            wide = self.file.with_name(f"{self.file.name.split('.')[0]}_wide.csv")
            about = {"path": str(self.file), "wide": str(wide), "new": wide.name}
            about |= {"separator": self.separator, "value": value, "feature": feature}
            raise refusal("long", sample=index[0] if len(index) == 1 else index, **about)

    def find_orientation(self) -> tuple[bool | None, dict[bool, list[str]]]:
        """Tell whether lines hold features, None if that is not certain, and the reasons for each."""
        settings, columns = self.settings, self.names(self.numeric)
        nothing = {True: [], False: []}
        if isinstance(settings.transpose, bool):
            return settings.transpose, nothing
        there = [len(settings.wanted & {*names}) for names in (self.header, self.edges)]
        if there[0] != there[1]:
            return there[1] > there[0], nothing
        heading, lines = "", None
        if self.edge is not None:
            heading, lines = self.header[self.edge], self.column(self.edge)
            self._refuse_distances(lines)
            lines = [] if self._is_numbered(self.edge) else lines
        X = self.values[np.ix_(self.rows[:_LOOKED_AT], self.numeric[:_LOOKED_AT])]
        texts = {self.header[at]: self.column(at) for at in self.text}
        columns = columns if self.has_header else []
        found, reasons = axes.find_orientation(heading, lines, columns, texts, X)
        if self.is_gct:
            found = True
            reasons[True].insert(0, "the format, GCT")
        for key, name in settings.named.items():
            if name in self.header:
                if found:
                    self.remarks.append(say("features_despite", sign=reasons[True][0], key=key))
                return False, nothing
        for key, name in [*settings.named.items()][:1]:
            if name.strip() in self.edges or self.above_of(name) is not None:
                self.remarks.append(say("names_a_line", key=key, name=name))
                return True, nothing
        return found, reasons

    def _refuse_distances(self, lines: list[str]) -> None:
        names = {*lines}
        square = [at for at in self.numeric if self.header[at] in names]
        if len(lines) >= MIN_SAMPLES and sorted(self.names(square)) == sorted(lines):
            X = (
                pd.DataFrame(self.values[np.ix_(self.rows, square)], lines, self.names(square))
                .loc[:, lines]
                .to_numpy()
            )
            # One half may be empty.
            X = np.where(np.isnan(X), X.T, X)
            if np.allclose(X, X.T, equal_nan=True):
                raise refusal("distances", n=len(X))

    def list_doubts(self, transpose: bool) -> list[Doubt]:
        """List what is doubtful if lines hold features, or if they hold samples."""
        keep, known, wanted = self.settings.keep, axes.annotating(self.header), self.settings.wanted
        columns = [at for at in self.numeric if self.header[at] not in {*known, *keep}]
        if wanted and not transpose:
            return self._doubt_words([at for at in columns if self.header[at] in wanted])
        measures = self._find_measures(columns) if transpose else {}
        if measures:
            names = self.names(columns)
            ways = [
                Way(
                    {"ignore": [name for name in names if name not in some], "keep": some},
                    f"to use {measure or 'the columns without a measure'}",
                )
                for measure, some in measures.items()
            ]
            return [Doubt(say("measures", names=[*filter(None, measures)]), ways)]
        names = self._find_doubtful(columns, transpose)
        doubts = self._doubt_words([at for at in columns if self.header[at] not in names])
        edges = [self.edges[row] for row in self.rows] if self.edges else []
        # What describes samples may be a line among features, and the reverse above samples.
        lines = [name for name in edges if transpose and axes.is_doubtful(name, of_features=False)]
        if not transpose:
            lines = [*takewhile(lambda name: axes.is_doubtful(name, of_features=True), edges)]
        for kind, some in (("columns", names), ("lines", [*dict.fromkeys(lines)] * (not wanted))):
            left = [name for name in some if name not in keep and name not in self.named]
            if left:
                of = "features" if transpose == (kind == "columns") else "samples"
                ways = [Way({"keep": left}, f"to keep these {kind}")]
                if kind == "lines" or len(left) < len(self.numeric):
                    ways.insert(0, Way({"ignore": left}, f"to leave these {kind} out"))
                doubts.insert(0, Doubt(say("doubtful", kind=kind, names=left, of=of), ways))
        return doubts

    def has_samples(self) -> bool:
        """Tell whether enough columns may hold samples if lines hold features."""
        gone = {*self._find_doubtful(self.numeric, transpose=True), *axes.annotating(self.header)}
        return len({*self.names(self.numeric)} - (gone - {*self.settings.keep})) >= MIN_SAMPLES

    def _find_doubtful(self, columns: list[int], transpose: bool) -> list[str]:
        """List columns of numbers that are probably not measurements: called so, or counting."""
        if not columns:
            return []
        # Lines that number the samples have to be counted to the last.
        rows = self.rows[: _MANY if transpose else None]
        X, names = self.values[np.ix_(rows, columns)], self.names(columns)
        found = np.array([axes.is_doubtful(name, of_features=transpose) for name in names], bool)
        whole = ((X % 1 == 0) | np.isnan(X)).all(axis=0)
        if transpose:
            # Samples stand side by side, and their numbers are of one kind and differ.
            breaks = [at for at in self.text if self.header[at] not in self.named]
            parts = np.searchsorted(breaks, columns)
            part, n_there = Counter(parts.tolist()).most_common(1)[0]
            found |= (parts != part) & (2 * n_there > len(parts))
            counts = whole & [len(np.unique(x[x > 0])) >= _FEWEST_NUMBERS for x in X.T] & ~found
            same = (len(X) > 2) & (X == X[:1]).all(axis=0) & ~found
            n_left = len(found) - found.sum()
            found |= (counts & (10 * counts.sum() <= n_left)) | (same & (2 * same.sum() < n_left))
        else:
            for at in np.flatnonzero(whole):
                x = np.sort(X[:, at])
                counts = len(x) > 2 and (np.diff(x) == 1).all()
                is_first = not self.has_header and columns[at] == 0 and (np.diff(x) > 0).all()
                found[at] |= axes.is_heading(names[at], "sample") or counts or is_first
        return [name for name, is_one in zip(names, found, strict=True) if is_one]

    def _find_measures(self, columns: list[int]) -> dict[str, list[str]]:
        """Find the columns of each measure, if samples have several, such as those of MaxQuant."""
        split = [(*axes.split_measure(name), name) for name in self.names(columns)]
        found = pd.DataFrame(split, columns=["measure", "sample", "name"])
        found = found[found["sample"] != ""]
        found = found[found.groupby("sample")["measure"].transform("nunique") > 1]
        if found["sample"].nunique() < 2:
            return {}
        names = found.groupby("measure")["name"].agg(list)
        return {
            measure: names[measure] for measure in [*axes.KNOWN["measures"], ""] if measure in names
        }

    def _doubt_words(self, columns: list[int]) -> list[Doubt]:
        """Doubt words among numbers: they stand for missing values, or the column is text."""
        settings, words = self.settings, Counter[str]()
        odd = np.argwhere(self.is_text[np.ix_(self.rows, columns)])
        for row in np.unique(odd[:, 0]):
            cells = self.cells(self.rows[row])
            words.update(cells[columns[at]].strip() for at in odd[odd[:, 0] == row, 1])
        if not len(odd):
            return []
        line, column = self.rows[odd[0, 0]], columns[odd[0, 1]]
        number, other = self.numbers[line], "." if settings.decimal == "," else ","
        for word in words:
            if other in word and np.isfinite(as_numbers([word])[0]):
                raise refusal("both_marks", line=number, cell=word)
        wrong = self.names(columns[at] for at in np.unique(odd[:, 1]))
        about = {"cell": self.cells(line)[column].strip(), "column": self.header[column]}
        ways = [
            Way(
                {"missing_values": [word for word, _ in words.most_common()]},
                "if they mean missing values",
            )
        ]
        if len(wrong) < len(columns):
            ways.append(Way({"ignore": wrong}, "to leave the columns out"))
        ways = ways[:: -1 if len(words) > _MOST_WORDS else 1]
        return [Doubt(say("not_all_numeric", names=wrong, line=number, **about), ways)]

    def preview(self, transpose: bool) -> list[str]:
        """Show the first samples and features of a reading."""
        lines = [*filter(None, self.edges)] or [f"{row + 1}" for row in range(len(self.rows))]
        axis = [lines, self.names(self.numeric)]
        X = self.values[np.ix_(self.rows[:3], self.numeric[:3])]
        return preview(X.T if transpose else X, *(axis[::-1] if transpose else axis))


def read_text(file: Path, settings: Settings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix from a file, or from the text that another reader made of it."""
    table = _Table(file, text, settings)
    transpose = _settle(table)
    remarks = table.remarks
    # The lines that settings name; where columns hold samples, they may describe them.
    named = table.named if transpose else {*settings.ignore}
    gone = [row for row in table.rows if table.edges and table.edges[row] in named]
    table.rows = np.setdiff1d(table.rows, gone)
    if transpose:
        table.aside = np.union1d(table.aside, gone).astype(int)
    _leave_out_special(table)
    about, columns = _describe_samples(table, transpose), table.names(table.numeric)
    lines = None if table.edge is None else table.column(table.edge)
    headings = [*filter(None, table.header)]
    if transpose:
        known = [*dict.fromkeys([*about, *table.edges])]
        check_named(settings, known, "its lines", "the name of a column", headings)
    else:
        check_named(settings, headings, "its columns", "the name of a line", table.edges)
    X = _take_values(table)
    samples, features = lines, columns
    if transpose:
        known = axes.annotating(table.header) - {*settings.keep}
        used = [at for at, name in enumerate(columns) if name not in known]
        if len(used) < len(columns):
            remarks.append(
                say(
                    "annotating",
                    names=(left := [name for name in columns if name in known]),
                    keep=left,
                )
            )
        X, samples = X[:, used].T, [columns[at] for at in used]
        features = lines or [f"feature{at + 1}" for at in range(X.shape[1])]
        about = {name: [cells[at] for at in used] for name, cells in about.items()}
        _say_text(table, dict.fromkeys(table.names(table.text), ()), "columns")
    _say_text(table, about, "lines" if transpose else "columns")
    if len(table.aside) and not transpose:
        cells = table.cells(table.aside[0])[:4]
        remarks.append(say("aside", n=len(table.aside), cells=cells))
    if samples is not None:
        samples = [name or f"sample{at + 1}" for at, name in enumerate(samples)]
    if transpose and settings.samples in about:
        samples = about[settings.samples]
    check_size(*X.shape)
    X, features = merge_features(X, features, settings.duplicates, remarks)
    if transpose and settings.labels is None and table.above:
        found = [name for name in table.above if not name.startswith("Sample_")] or [*table.above]
        remarks.append(say("lines_above", names=found, labels=found[0]))
    offset = np.nan_to_num(X[0])
    X = (X - offset).astype(np.float32, order="C")
    raw = RawMatrix.of(X, offset, features, samples, remarks=remarks)
    raw.lines = "features" if transpose else "samples"
    return assemble(raw, settings, about)


def _settle(table: _Table) -> bool:
    """Tell whether lines hold features, or ask about that and all other doubts at once."""
    found, reasons = table.find_orientation()
    if not found and len(table.rows) < MIN_SAMPLES:
        check_size(len(table.rows), len(table.numeric))
    if found is not False and not table.has_samples():
        if found:
            check_size(len(table.numeric), len(table.rows))
            given = asdict(table.settings)
            turn = Doubt("", [Way({"transpose": False}, "if lines hold samples")])
            ways = combine([turn, *table.list_doubts(transpose=False)], given)
            raise MatrixError(say("no_samples", names=table.names(table.numeric)), ways)
        found = False
    given, doubts, ways = asdict(table.settings), [*table.doubts], []
    if found is None:
        for transpose in (False, True):
            n, p = (len(table.rows), len(table.numeric))[:: -1 if transpose else 1]
            reason = " and ".join(reasons[transpose]) or "nothing else"
            text = say("reads_features" if transpose else "reads_samples", n=n, p=p, reason=reason)
            first = Doubt("", [Way({"transpose": transpose}, text, table.preview(transpose))])
            ways += combine([first, *table.list_doubts(transpose)], given)
        doubts.append(Doubt(say("orientation"), ways))
    elif asked := [*doubts, *table.list_doubts(found)]:
        # Without the columns in doubt, the axes may be less certain.
        sure = Doubt("", [Way({"transpose": found})])
        doubts = asked if table.settings.transpose != "auto" else [sure, *asked]
    ask(doubts, given)
    if found and reasons[True]:
        table.remarks.append(say("features", sign=reasons[True][0]))
    return bool(found)


def _describe_samples(table: _Table, transpose: bool) -> dict[str, list[str]]:
    """Return the texts about samples by name: columns, or lines and what stands above."""
    asked = [*table.settings.named.values()]
    if not transpose:
        # The names of lines may be asked for too.
        named = enumerate(table.header)
        wanted = {at: name for at, name in named if at in table.text or name in asked}
        return {name: table.column(at) for at, name in wanted.items()}
    about = {}
    for line in table.aside if table.edges else ():
        cells = [cell.strip() for cell in table.cells(line)]
        about.setdefault(table.edges[line], [cells[at] for at in table.numeric])
    for name in asked:
        above = table.above_of(name)
        if name not in about and above is not None:
            about[name] = [above[at - 1] for at in table.numeric]
    return about


def _take_values(table: _Table) -> np.ndarray:
    """Return the measurements, (lines, columns), NaN if missing."""
    X = table.values[np.ix_(table.rows, table.numeric)]
    infinite = np.isinf(X)
    if infinite.any():
        table.remarks.append(say("infinite", n=infinite.sum()))
        X[infinite] = np.nan
    for number in table.settings.missing_numbers:
        X[number == X] = np.nan
    for row, at in np.argwhere(np.abs(X) > np.finfo(np.float32).max):
        about = {"line": table.numbers[table.rows[row]], "column": table.header[table.numeric[at]]}
        raise refusal("beyond_in_table", value=X[row, at], **about)
    changed = table.changed.items()
    table.remarks += [say("changed", what=what, example=example) for what, example in changed]
    return X


def _leave_out_special(table: _Table) -> None:
    """Leave out lines that a program writes below its values, and those that alone lack a name."""
    names = table.column(table.edge) if table.edge is not None else []
    special = [name for name in names if name in _SPECIAL]
    # Lines of limits, or of probes without a gene.
    is_blank = np.array([name.strip("- ") in ("", "NA", "nan") for name in names], bool)
    is_blank &= not is_blank.all()
    if special:
        table.remarks.append(say("special_lines", names=special))
    if is_blank.any():
        table.remarks.append(say("nameless", n=is_blank.sum()))
    gone = [at for at, name in enumerate(names) if name in special or is_blank[at]]
    table.rows = np.delete(table.rows, gone)


def _say_text(table: _Table, texts: Mapping[str, Sequence[str]], kind: str) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    names = [name for name in texts if name not in table.named]
    few = [name for name in names if name and axes.few_levels(texts[name])]
    cure: Any = say("may_annotate", annotate=few[:20]) if few else ""
    if few and not table.settings.labels:
        cure = say("may_be_labels", labels=few[0]) + cure
    if names:
        table.remarks.append(say("text", kind=kind, names=names, cure=cure))
