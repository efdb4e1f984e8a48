"""Reading a matrix from a table of text, whose cells tell what lines and columns are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.readers import axes
from sparsekm.io.readers.messages import refusal, say
from sparsekm.io.readers.raw_matrix import (
    MIN_SAMPLES,
    RawMatrix,
    Settings,
    assemble,
    check_named,
    check_size,
    merge_features,
)
from sparsekm.io.readers.text_table import TextTable, as_numbers

_FEWEST_IDS = 10
_WITH_UNIT = re.compile(r"([+-]?\d[\d.,]*)\s*(±.*|\(.*\)|[^\W\d_]\S*|[°%‰]\S*)")


class _Table(TextTable):
    """A table whose lines and columns are described, by index.

    `rows` and `numeric` hold measurements, `aside` are other lines, `text` other columns; `edge` is
    a column with the names of all lines, `edges`. `transpose` tells that lines hold features.
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
        ids = {at for at in self.numeric if axes.is_a(header[at], "numbering")}
        ids |= {at for at in self.numeric[:1] if not at or axes.is_a(header[at], "feature_heading")}
        self.text_of = self.columns({*self.text, *ids, 0})
        # Lines of text, such as units or classes, are set aside.
        n_text = self.is_text[:, self.numeric].sum(axis=1)
        n_numbers = is_number[:, self.numeric].sum(axis=1)
        is_aside = (n_text > 1) & (2 * n_text > len(self.numeric))
        # Notes with commas have few cells.
        is_aside |= (n_text > 0) & (n_numbers <= 1) & (len(self.numeric) > 3)
        is_aside[: self.n_described] = True
        self.rows, self.aside = np.flatnonzero(~is_aside), np.flatnonzero(is_aside)
        self._refuse_long(ids)
        self.edge = self._find_edge(sorted(ids))
        self.edges = [] if self.edge is None else self.text_of[self.edge].tolist()
        if not self.has_header and self.edge != 0:
            header[0] = "column1"
        self.text = [at for at in self.text if at != self.edge]
        self.numeric = [at for at in self.numeric if at != self.edge]
        # Software numbered the lines, perhaps twice.
        numbering = [at for at in ids if axes.is_row_numbers(header[at], self.column(at))]
        self.numeric = [at for at in self.numeric if self.edge is None or at not in numbering]
        if not self.numeric:
            kind, row = "one_cell" if len(header) == 1 else "all_text", [*self.rows, 0][0]
            cell = self.cells(row)[[0, *self.text][-1]].strip()
            raise refusal(kind, names=header, cell=cell, line=self.numbers[row])
        self.transpose = self._find_orientation()
        # The lines that settings name; where columns hold samples, they may describe them.
        named = self.named if self.transpose else {*settings.ignore}
        gone = [row for row in self.rows if self.edges and self.edges[row] in named]
        self.rows = np.setdiff1d(self.rows, gone)
        if self.transpose:
            self.aside = np.union1d(self.aside, gone).astype(int)

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

    def _refuse_long(self, ids: set[int]) -> None:
        """Refuse a table with a line for each value, where two columns name sample and feature."""
        ids = {at for at in ids if axes.is_a(self.header[at], "sample_heading")}
        values = [at for at in self.numeric if at not in ids]
        if self.settings.named or not 1 <= len(values) <= 2 or len(self.rows) < 6:
            return
        texts = pd.DataFrame({at: self.column(at) for at in [*sorted(ids), *self.text[:6]]})
        n, sizes = len(texts), texts.nunique()
        for pair in combinations(sizes.index[(sizes > 1) & (sizes <= 0.6 * n)], 2):
            names = self.names(pair)
            n_features = sum(axes.is_a(name, "feature_heading") for name in names)
            # Where another column names the lines, the two may describe them.
            is_named = n in sizes.to_numpy() and n_features != 1
            if is_named or texts[[*pair]].duplicated().any() or n < sizes[[*pair]].prod() / 4:
                continue
            sample, feature = names[::-1] if axes.is_a(names[0], "feature_heading") else names
            wide = self.file.with_name(f"{self.file.name.split('.')[0]}_wide.csv")
            about = {"path": str(self.file), "wide": str(wide), "new": wide.name}
            about |= {"separator": self.separator, "value": self.header[values[-1]]}
            raise refusal("long", sample=sample, feature=feature, **about)

    def _find_edge(self, ids: list[int]) -> int | None:
        """Return the column with the names of the lines, if there is one."""
        header, settings = self.header, self.settings
        if settings.samples in header:
            return header.index(settings.samples)
        if self.is_gct:
            return int(axes.is_row_numbers(header[0], self.column(0)))

        def is_called(at: int, *kinds: str) -> bool:
            return axes.is_a(header[at], *kinds)

        texts = [at for at in self.text if header[at] not in self.named]
        numbers = [at for at in self.numeric if header[at] not in self.named]
        n, cells = len(self.rows), {at: self.column(at) for at in [*texts, *ids]}
        size = {at: len({*cells[at]}) for at in cells}
        whole = [at for at in cells if size[at] == n and all(map(str.isdecimal, cells[at]))]
        if 0 in numbers and size[0] == n:
            # An id of features gives way to their names.
            is_id = axes.tidy(header[0]).endswith("id") or axes.is_row_numbers("id", cells[0])
            is_name = is_called(0, "feature_heading") and not is_id
            if is_name or (0 in whole and is_called(0, "sample_heading")):
                return 0
        about = [at for at in texts if is_called(at, "feature_annotations", "sample_annotations")]
        about = [at for at in about if not is_called(at, "sample_heading", "numbering")]
        # Where the cells of one differ, others hold times of entry, say, or family names.
        names = [at for at in texts if size[at] == n and at not in about] or texts
        # A sample comes before the well, or the plate, that it was measured in.
        for at in sorted(texts, key=lambda at: not axes.tidy(header[at]).startswith("sample")):
            is_blank = at == 0 and not header[0] and self.has_header
            is_name = is_blank or (2 * size[at] > n and (at == 0 or at not in about))
            is_feature = is_called(at, "feature_heading") and size[at] > max(2, n / 10)
            if is_feature or (is_name and at in names):
                return at
        for at in (at for at in ids if at in numbers):
            is_first = at == numbers[0]
            is_id = is_called(at, "numbering") and (is_first or header[at].lower() not in ("", "x"))
            # Masses ascend, and have as many decimals each.
            n_decimals = {len(cell.partition(".")[2]) for cell in cells[at]}
            ascends = (np.diff(self.values[self.rows, at]) > 0).all()
            is_mass = ascends and len(n_decimals) == 1 and n_decimals != {0}
            if is_id and (at in whole or is_mass):
                return at
            is_named = is_called(at, "feature_heading") or (at == 0 and not header[0])
            if is_first and is_named and size[at] == n:
                return at
        others = self.values[np.ix_(self.rows, numbers[1:])]
        if 0 in numbers and not self.has_header and all(map(str.isdecimal, cells[0])):
            # Numbers of patients, some of whom may have come twice.
            is_large = min(map(int, cells[0])) > 10 * np.max(others[np.isfinite(others)], initial=1)
            is_measured = n >= _FEWEST_IDS and (np.rint(others) != others).any()
            if is_measured if 0 in whole else is_large:
                return 0
        is_turned = settings.transpose is True and self.has_header
        unique = [at for at in texts if size[at] == n]
        return min(unique or [*texts, *numbers] * is_turned, default=None)

    def _find_orientation(self) -> bool:
        """Decide whether lines hold features, and say so."""
        settings, columns = self.settings, self.names(self.numeric)
        if isinstance(settings.transpose, bool):
            return settings.transpose
        heading, lines = "", None
        if self.edge is not None:
            heading, lines = self.header[self.edge], self.column(self.edge)
            lines = [] if axes.is_row_numbers(heading, lines) else lines
        aside = [self.edges[row] for row in self.aside if self.edges]
        X = self.values[np.ix_(self.rows, self.numeric[:500])]
        if lines == columns:
            X = self.values[np.ix_(self.rows, self.numeric)]
            # One half may be empty.
            X = np.where(np.isnan(X), X.T, X)
            if np.allclose(X, X.T, equal_nan=True):
                raise refusal("distances", n=len(X))
        texts = {self.header[at]: self.column(at) for at in self.text}
        found, sign = axes.find_orientation(
            heading, lines, columns, texts=texts, aside=aside, values=X, has_header=self.has_header
        )
        if self.is_gct:
            found, sign = True, "the format, GCT"
        for key, name in settings.named.items():
            if name in self.header:
                if found:
                    self.remarks.append(say("features_despite", sign=sign, key=key))
                return False
        for key, name in [*settings.named.items()][:1]:
            if name.strip() in self.edges or self.above_of(name) is not None:
                self.remarks.append(say("names_a_line", key=key, name=name))
                return True
        if found is None:
            raise refusal("ask", n=len(self.rows), p=len(self.numeric))
        self.remarks += [say("features", sign=sign)] * found
        return found


def read_text(file: Path, settings: Settings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix from a file, or from the text that another reader made of it."""
    table = _Table(file, text, settings)
    remarks, transpose = table.remarks, table.transpose
    about, columns = _describe_samples(table), table.names(table.numeric)
    lines = None if table.edge is None else table.column(table.edge)
    headings = [*filter(None, table.header)]
    if transpose:
        known = [*dict.fromkeys([*about, *table.edges])]
        check_named(settings, known, "its lines", "the name of a column", headings)
        _refuse_several_measures(table, columns)
    else:
        check_named(settings, headings, "its columns", "the name of a line", table.edges)
    X = _take_values(table)
    samples, features, sides = lines, columns, ("lines", "columns")
    if transpose:
        _refuse_annotation(table, columns, X)
        features = lines or [f"feature{at + 1}" for at in range(len(X))]
        X, samples, sides = X.T, columns, sides[::-1]
    left = axes.list_annotating(samples or (), lines=not transpose)
    chosen = _without(table, samples or range(len(X)), left, f"left_{sides[0]}")
    if transpose:
        _say_text(table, dict.fromkeys(table.names(table.text), ()), "columns")
    left = axes.list_describing(features, X, settings.keep, remarks, lines=transpose)
    used = _without(table, features, left, f"described_by_{sides[1]}")
    about = {name: [cells[at] for at in chosen] for name, cells in about.items()}
    _say_text(table, about, sides[1])
    if len(table.aside) and not transpose:
        cells = table.cells(table.aside[0])[:4]
        remarks.append(say("aside", n=len(table.aside), cells=cells))
    if samples is not None:
        samples = [samples[at] or f"sample{at + 1}" for at in chosen]
    if transpose and settings.samples is not None:
        samples = about[settings.samples]
    X, names = X[np.ix_(chosen, used)], [features[at] for at in used]
    check_size(*X.shape)
    X, names = merge_features(X, names, settings.duplicates, remarks)
    if transpose and settings.labels is None and table.above:
        found = [name for name in table.above if not name.startswith("Sample_")] or [*table.above]
        remarks.append(say("lines_above", names=found, first=found[0]))
    offset = np.nan_to_num(X[0])
    X = (X - offset).astype(np.float32, order="C")
    raw = RawMatrix.of(X, offset, names, samples, remarks=remarks)
    raw.lines = "features" if transpose else "samples"
    return assemble(raw, settings, about)


def _describe_samples(table: _Table) -> dict[str, list[str]]:
    """Return the texts about samples by name: columns, or lines and what stands above."""
    asked = [*table.settings.named.values()]
    if not table.transpose:
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


def _refuse_several_measures(table: _Table, columns: list[str]) -> None:
    """Refuse columns with several measures of each sample, such as those of MaxQuant."""
    columns = [name for name in columns if name not in table.settings.keep]
    split = [(*axes.split_measure(name), name) for name in columns]
    found = pd.DataFrame(split, columns=["measure", "sample", "name"])
    found = found[(found["measure"] != "") & (found["sample"] != "")]
    found = found[found.groupby("sample")["measure"].transform("nunique") > 1]
    if found["sample"].nunique() > 1:
        names = found.groupby("measure")["name"].agg(list)
        measures = [measure for measure in axes.KNOWN["measures"] if measure in names]
        ignore = [name for name in columns if name not in names[measures[0]]]
        about = {"best": measures[0], "ignore": [*table.settings.ignore, *ignore]}
        raise refusal("measures", names=measures, **about)


def _take_values(table: _Table) -> np.ndarray:
    """Return the measurements, (lines, columns), NaN if missing."""
    _refuse_text(table)
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


def _refuse_text(table: _Table) -> None:
    """Refuse text among numbers, with the setting that makes it missing."""
    settings, words = table.settings, Counter[str]()
    odd = np.argwhere(table.is_text[np.ix_(table.rows, table.numeric)])
    if not len(odd):
        return
    for row in np.unique(odd[:, 0]):
        cells = table.cells(table.rows[row])
        words.update(cells[table.numeric[at]].strip() for at in odd[odd[:, 0] == row, 1])
    line, column = table.rows[odd[0, 0]], table.numeric[odd[0, 1]]
    number, other = table.numbers[line], "." if settings.decimal == "," else ","
    for word in words:
        if other in word and np.isfinite(as_numbers([word])[0]):
            raise refusal("both_marks", line=number, cell=word)
    wrong = table.names(table.numeric[at] for at in np.unique(odd[:, 1]))
    missing = [*settings.missing_values, *(word for word, _ in words.most_common())]
    cure = say("text_is_missing", missing=missing)
    if len(wrong) < len(table.numeric):
        cure += say("or_ignore", ignore=[*settings.ignore, *wrong])
    about = {"cell": table.cells(line)[column].strip(), "column": table.header[column]}
    if _WITH_UNIT.fullmatch(about["cell"]):
        raise refusal("with_unit", line=number, **about)
    raise refusal("not_all_numeric", names=wrong, line=number, cure=cure, **about)


def _refuse_annotation(table: _Table, columns: list[str], X: np.ndarray) -> None:
    """Refuse a table of (lines, columns) whose columns do not hold samples, or some may not."""
    keep = table.settings.keep
    left = {*axes.list_annotating(columns)} - {*keep}
    others = [at for at, name in enumerate(columns) if name not in left]
    # What is apart from most columns, behind text or other annotation.
    parts = np.array(table.numeric)[others] - range(len(others))
    doubtful = axes.list_doubtful([columns[at] for at in others], X[:1000, others], parts)
    doubtful = [name for name in doubtful if name not in keep]
    if doubtful and len(left) + len(doubtful) < len(columns):
        about = {"ignore": [*table.settings.ignore, *doubtful], "keep": [*keep, *doubtful]}
        raise refusal("doubtful", names=doubtful, **about)
    # Without names, as STAR writes the counts of one sample.
    is_one = not table.has_header and len(others) <= MIN_SAMPLES
    if not others or is_one or (left and len(others) < MIN_SAMPLES):
        raise refusal("no_samples", names=columns)


def _without(table: _Table, names: Sequence, left: list[str], kind: str) -> np.ndarray:
    """Leave out lines or columns by their names, say so, and return the others."""
    gone = {*left} - {*table.settings.keep}
    # The numbers of lines that pandas and R write have no name.
    told = [name for name in left if name in gone and name and name != "Unnamed: 0"]
    if told:
        table.remarks.append(say(kind, names=told, most=told[:20]))
    found = [at for at, name in enumerate(names) if name not in gone]
    # Lines of limits, or of probes without a gene, where others have a name.
    blank = [at for at in found if str(names[at]).strip("- ") in ("", "NA", "nan")]
    if kind.endswith("lines") and 0 < len(blank) < len(found):
        table.remarks.append(say("nameless", n=len(blank)))
        found = sorted({*found} - {*blank})
    return np.array(found, dtype=np.intp)


def _say_text(table: _Table, texts: Mapping[str, Sequence[str]], kind: str) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    names = [name for name in texts if name not in table.named]
    few = [name for name in names if name and axes.few_levels(texts[name])]
    cure = say("may_annotate", names=few[:20]) if few else ""
    if few and not table.settings.labels:
        cure = say("may_be_labels", name=few[0]) + cure
    if names:
        table.remarks.append(say("text", kind=kind, names=names, cure=cure))
