"""Reading a matrix from a table of text: which cells are measurements, of which samples.

The cells are read once (`text_table`). What stands in them tells columns of text from those of
numbers, finds the names of the lines, and decides with the names of the columns whether lines or
columns are the samples. What is neither a name, a class nor a measurement is left out, which a
remark says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from sparsekm.io.readers.assembling import Column, Parts, assemble, merge_features
from sparsekm.io.readers.cells import listed_numbers
from sparsekm.io.readers.left_out import (
    annotating_columns,
    doubtful_columns,
    few_levels,
    left_out_features,
)
from sparsekm.io.readers.names import (
    NUMBERING,
    is_known,
    is_row_numbers,
    names_features,
    names_samples,
)
from sparsekm.io.readers.orientation import Axes, find_orientation
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_size,
    listed,
    quoted,
    shown,
    suggest,
)
from sparsekm.io.readers.text_table import UNREADABLE, TextTable, read_table
from sparsekm.io.row_stream import RowStream

_FEWEST_IDS = 10


@dataclass(frozen=True)
class TableSettings:
    """How a table is to be read; see `sparsekm.command.table_settings`."""

    labels: str | None = None
    samples: str | None = None
    groups: str | None = None
    ignore: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    transpose: bool | str = "auto"
    decimal: str = "auto"
    missing_values: tuple[object, ...] = ()
    duplicates: str | None = None

    @property
    def named(self) -> dict[str, str]:
        """The names of classes, samples and groups, by setting."""
        pairs = (("labels", self.labels), ("samples", self.samples), ("groups", self.groups))
        return {key: name for key, name in pairs if name is not None}


def read_text(file: Path, settings: TableSettings, text: str | None = None) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed, changed and left out.

    A `MatrixError` names the file, the value, the rule and the setting that helps. `text` is what
    another reader made of the file.
    """
    for key, name in settings.named.items():
        if name in settings.ignore:
            raise MatrixError(
                f"{file}: {key}={name!r} should not also be ignored. Set either {key} or ignore."
            )
    try:
        table = read_table(file, text, settings.decimal, settings.missing_values)
        return _Reading(table, settings).matrix()
    except MatrixError as error:
        message = str(error)
        raise error if str(file) in message else MatrixError(f"{file}: {message}") from error
    except UNREADABLE as error:
        raise MatrixError(f"{file}: {' '.join(str(error).split()).rstrip('.')}.") from error


class _Reading:
    """What the lines and columns of one table are, by index."""

    def __init__(self, table: TextTable, settings: TableSettings) -> None:
        self.table, self.settings, self.remarks = table, settings, table.remarks
        self.header = table.header
        named = {*settings.named.values(), *settings.ignore}
        body = slice(table.n_described, None)
        n_text = table.is_text[body].sum(axis=0)
        n_numbers = (~np.isnan(table.values[body])).sum(axis=0)
        is_text = n_text > n_numbers
        is_text[1 : 1 + table.n_annotations] = True
        is_text |= [bool(name) and name in named for name in self.header]
        # What no line has a value for is empty or, with a name, all missing.
        empty = (n_text + n_numbers == 0) & [not name for name in self.header]
        if empty.any():
            self.remarks.append(f"{empty.sum()} columns without a name are empty and left out.")
        self.text = np.flatnonzero(is_text & ~empty).tolist()
        self.numeric = np.flatnonzero(~is_text & ~empty).tolist()
        first = self.numeric[:1]
        ids = [at for at in self.numeric if NUMBERING.fullmatch(self.header[at])]
        ids += [at for at in first if at == 0 or names_features(self.header[at])]
        cells = table.columns({*self.text, *ids, 0})
        self.cells = {at: np.array(column, dtype=object) for at, column in cells.items()}
        # Lines of text, such as units or classes, are set aside.
        share = np.zeros(len(table.lines))
        if len(self.numeric) > 1:
            share = table.is_text[:, self.numeric].sum(axis=1)
            share = np.where(share > 1, share / len(self.numeric), 0)
        share[: table.n_described] = 1
        self.rows = np.flatnonzero(share <= 0.5)
        self.aside = np.flatnonzero(share > 0.5)
        self._refuse_long()
        self.edge = self._find_edge(ids)
        self.text = [at for at in self.text if at != self.edge]
        self.numeric = [at for at in self.numeric if at != self.edge]
        if self.numeric[:1] == [0] and self.edge and is_row_numbers(self.header[0], self.column(0)):
            # Software numbered the lines.
            self.numeric = self.numeric[1:]
        if not self.numeric:
            raise MatrixError(
                f"{table.file}: its columns {shown(self.header)} hold text; there should be "
                "numbers. Set decimal if numbers have another decimal separator."
            )
        self.ignored: set[str] = set()
        self.transpose = self._find_orientation()

    def column(self, at: int) -> list[str]:
        """Return the cells of a column in the lines of numbers."""
        return self.cells[at][self.rows].tolist()

    def names(self, columns: Sequence[int]) -> list[str]:
        """Return the headings of some columns."""
        return [self.header[at] for at in columns]

    def _refuse_long(self) -> None:
        """Refuse a table with a line for each value, where two columns name sample and feature."""
        texts = {at: self.column(at) for at in self.text[:6]}
        n = len(self.rows)
        sizes = {at: len({*column}) for at, column in texts.items()}
        if self.settings.named or not 1 <= len(self.numeric) <= 2 or n in sizes.values() or n < 6:
            return
        for one, two in combinations(texts, 2):
            n_pairs = len({*zip(texts[one], texts[two], strict=True)})
            is_axis = [1 < sizes[at] <= 0.6 * n for at in (one, two)]
            if all(is_axis) and n_pairs == n >= sizes[one] * sizes[two] / 4:
                sample, feature, value = self.names([one, two, self.numeric[-1]])
                if names_features(sample):
                    sample, feature = feature, sample
                file, separator = self.table.file, self.table.separator
                wide = file.with_name(f"{file.name.split('.')[0]}_wide.csv")
                raise MatrixError(
                    f"{file}: a long table, with a line for each value of a sample ({sample!r}) "
                    f'and a feature ({feature!r}), is not read. Convert it: python -c "import '
                    f"pandas; pandas.read_csv({str(file)!r}, sep={separator!r}).pivot_table("
                    f"index={sample!r}, columns={feature!r}, values={value!r}).to_csv("
                    f'{str(wide)!r})", and give {wide.name}.'
                )

    def _find_edge(self, ids: Sequence[int]) -> int | None:
        """Return the column with the names of the lines, if there is one."""
        header, settings = self.header, self.settings
        if settings.samples in header:
            return header.index(settings.samples)
        taken = {*settings.ignore, settings.labels, settings.groups}
        candidates = [at for at in self.text if header[at] not in taken or not header[at]]
        share = {at: len({*self.column(at)}) / max(1, len(self.rows)) for at in candidates}
        for at in candidates:
            heading = header[at]
            if is_known(heading, "describing") and len(candidates) > 1:
                continue
            kinds = ("feature_annotations", "sample_annotations")
            about = any(is_known(heading, kind) for kind in kinds)
            if (
                (at == 0 and not heading and (self.table.has_header or share[at] > 0.5))
                or (names_features(heading) and share[at] > 0.1 and len({*self.column(at)}) > 2)
                or (share[at] > 0.5 and (at == 0 or names_samples(heading) or not about))
            ):
                return at
        numbers = [at for at in self.numeric if header[at] not in taken or not header[at]]
        for at in sorted({*ids} & {*numbers}):
            column, first = self.column(at), at == min(numbers)
            if len({*column}) < len(column):
                continue
            if first and (names_features(header[at]) or (at == 0 and not header[0])):
                return at
            if not all(map(str.isdecimal, column)):
                continue
            if at == 0 and not self.table.has_header and len(column) >= _FEWEST_IDS:
                others = self.table.values[np.ix_(self.rows, numbers[1:])]
                if (np.rint(others) != others).any():
                    return 0
            if NUMBERING.fullmatch(header[at]) and (first or header[at].lower() not in ("", "x")):
                return at
        for at in candidates:
            if is_known(header[at], "feature_annotations") and share[at] == 1:
                return at
        if settings.transpose is True and self.table.has_header and (candidates or numbers):
            return min([*candidates, *numbers])
        is_blank = not header[0] and self.table.has_header
        return 0 if is_blank and 0 not in self.numeric else None

    def _find_orientation(self) -> bool:
        """Decide whether lines hold features, and say so."""
        table, settings, header = self.table, self.settings, self.header
        if isinstance(settings.transpose, bool):
            return settings.transpose
        heading, lines, above = "", None, []
        if self.edge is not None:
            heading, lines = header[self.edge], self.column(self.edge)
            above = self.cells[self.edge][self.aside].tolist()
            lines = None if is_row_numbers(heading, lines) else lines
        axes = Axes(
            heading,
            lines,
            self.names(self.numeric),
            len(self.rows),
            self.names(self.text),
            above,
            table.has_header,
            table.values[np.ix_(self.rows[:500], self.numeric[:500])],
            [header[at] for at in self.text if few_levels(self.column(at))],
        )
        found = find_orientation(axes)
        where = next((key for key, name in settings.named.items() if name in header), None)
        if where is None and settings.named:
            key, name = next(iter(settings.named.items()))
            if self._find_line(name) is not None or self._find_above(name) is not None:
                self.remarks.append(
                    f"{key} names a line, {name!r}: lines are read as features and columns as "
                    "samples. Set transpose: false if lines hold samples."
                )
                return True
        elif where is not None:
            if found:
                self.remarks.append(
                    f"{axes.signs[0]} suggest features in lines, but {where} names a column: lines "
                    "are read as samples. Set transpose: true if they hold features."
                )
            return False
        if found is None:
            raise MatrixError(
                f"{table.file}: {len(self.rows)} lines and {len(self.numeric)} columns, and their "
                "names do not show which are the samples. Set transpose: true if each line is a "
                "feature (such as a gene), transpose: false if each line is a sample."
            )
        if found:
            self.remarks.append(
                f"lines are read as features and columns as samples, because of {axes.signs[0]}. "
                "Set transpose: false if lines hold samples."
            )
        return found

    def _find_line(self, name: str) -> int | None:
        """Return the line of a name."""
        if self.edge is None:
            return None
        found = np.flatnonzero(self.cells[self.edge] == name.strip())
        return int(found[0]) if len(found) else None

    def _find_above(self, name: str) -> list[str] | None:
        """Return the line above the header that a setting means: GEO's have prefixes."""
        plain = name.strip().lstrip("!").casefold()
        keys = {key.casefold(): values for key, values in reversed(self.table.above.items())}
        return keys.get(plain) or next((keys[key] for key in keys if key.startswith(plain)), None)

    def matrix(self) -> RawMatrix:
        """Assemble the matrix."""
        table, settings, remarks = self.table, self.settings, self.remarks
        self._set_special_lines_aside()
        self._check_settings()
        self._check_odd()
        X = self._values()
        for what, example in table.changed.items():
            remarks.append(f"some numbers are written with {what}, such as {example!r}.")
        columns = self.names(self.numeric)
        names = None if self.edge is None else self.column(self.edge)
        if self.transpose and names is None:
            names = [f"feature{at + 1}" for at in range(len(X))]
        choose = self._choose_of_features if self.transpose else self._choose_of_samples
        rows, chosen = choose(names, columns, X)
        if len(rows) < len(X) or len(chosen) < len(columns):
            X = X[np.ix_(rows, chosen)]
        of_lines = names and [names[at] for at in rows]
        of_columns = [columns[at] for at in chosen]
        features, samples = (of_lines, of_columns) if self.transpose else (of_columns, of_lines)
        X = X.T if self.transpose else X
        check_size(table.file, *X.shape)
        X, features = merge_features(X, features, settings.duplicates, remarks)
        offset = np.nan_to_num(X[0])
        at_lines, at_columns = self.rows[rows], np.array(self.numeric)[chosen]

        def column(name: str | None) -> Column | None:
            if name is None:
                return None
            if not self.transpose:
                return name, self.cells[self.header.index(name)][at_lines]
            line, above = self._find_line(name), self._find_above(name)
            cells = table.cells(line) if line is not None else ["", *above]
            return name, [cells[at].strip() for at in at_columns]

        if self.transpose and settings.samples is not None:
            samples = column(settings.samples)[1]
        elif samples is not None:
            samples = [name or f"sample{at + 1}" for at, name in enumerate(samples)]
        labels, groups = column(settings.labels), column(settings.groups)
        if table.above and labels is None:
            known = [name for name in table.above if not name.startswith("Sample_")]
            known = known or [*table.above]
            remarks.append(
                f"the lines above describe the samples: {shown(known)}. Set labels: "
                f"{quoted(known[0])} for known classes."
            )
        hold = "features" if self.transpose else "samples"
        missing = settings.missing_values
        parts = Parts(
            table.file, features, samples, labels, groups, None, None, hold, missing, remarks
        )
        return assemble(parts, RowStream.of((X - offset).astype(np.float32, order="C")), offset)

    def _set_special_lines_aside(self) -> None:
        """Set aside the lines that settings name, where lines hold features, or ignore."""
        settings = self.settings
        special = {name for name in settings.ignore if name not in self.header}
        if self.transpose:
            special = {*settings.named.values(), *settings.ignore}
        if self.edge is None or not special:
            return
        names = self.column(self.edge)
        found = np.array([name in special for name in names], dtype=bool)
        self.ignored = special.intersection(names)
        if self.transpose:
            self.aside = np.sort([*self.aside, *self.rows[found]])
        self.rows = self.rows[~found]

    def _values(self) -> np.ndarray:
        """Return the measurements, (lines, columns), NaN if missing."""
        X = self.table.values[np.ix_(self.rows, self.numeric)]
        infinite = np.isinf(X)
        if infinite.any():
            self.remarks.append(
                f"{infinite.sum()} infinite values, such as the logarithm of zero, count as "
                "missing."
            )
            X[infinite] = np.nan
        for number in listed_numbers(self.settings.missing_values):
            X[number == X] = np.nan
        large = np.abs(X) > np.finfo(np.float32).max
        if large.any():
            row, column = (int(at[0]) for at in np.nonzero(large))
            raise MatrixError(
                f"{self.table.file}: line {self.table.numbers[self.rows[row]]}: {X[row, column]} "
                f"in column {self.header[self.numeric[column]]!r} is beyond the range of single "
                "precision."
            )
        return X

    def _check_settings(self) -> None:
        """Refuse names in settings that the table does not have."""
        file, settings = self.table.file, self.settings
        names = [name for name in self.header if name]
        lines = [] if self.edge is None else self.cells[self.edge].tolist()
        kind = "lines and columns" if self.transpose else "columns"
        known = {*names, *lines} if self.transpose else {*names, *self.ignored}
        for key, name in settings.named.items():
            there = name in known
            if self.transpose:
                there = self._find_line(name) is not None or self._find_above(name) is not None
            if not there:
                hint = ""
                if not self.transpose and name in lines:
                    hint = f" A line has the name {name!r}. Set transpose: true."
                raise MatrixError(
                    f"{file}: {key}={name!r} should be one of its {kind} "
                    f"{shown([*(lines if self.transpose else ()), *names])}.{hint}"
                    f"{suggest(key, name, known)}"
                )
        missing = [name for name in settings.ignore if name not in known]
        if missing:
            hint = f" Leave them out of the list: {listed(missing)}." if len(missing) > 1 else ""
            raise MatrixError(
                f"{file}: ignore={shown(missing)} should be among its {kind} {shown(names)}."
                f"{hint}{suggest('ignore', missing[0], known)}"
            )

    def _check_odd(self) -> None:
        """Refuse text among numbers, with the setting that makes it missing."""
        odd = np.argwhere(self.table.is_text[np.ix_(self.rows, self.numeric)])
        if not len(odd):
            return
        words: Counter[str] = Counter()
        for row in np.unique(odd[:, 0]):
            cells = self.table.cells(self.rows[row])
            words.update(cells[self.numeric[at]].strip() for at in odd[odd[:, 0] == row, 1])
        line, column = self.rows[odd[0, 0]], self.numeric[odd[0, 1]]
        wrong = [self.header[self.numeric[at]] for at in np.unique(odd[:, 1])]
        known = [word for word, _ in words.most_common()]
        cure = (
            f"Set missing_values: {listed([*self.settings.missing_values, *known])} if they mean "
            "missing values"
        )
        if len(wrong) < len(self.numeric):
            ignore = listed([*self.settings.ignore, *wrong])
            cure += f", or ignore: {ignore} to leave the columns out"
        noun = "one column is" if len(wrong) == 1 else f"{len(wrong)} columns are"
        raise MatrixError(
            f"{self.table.file}: {noun} not numeric throughout: {shown(wrong)}; the first such "
            f"value is {self.table.cells(line)[column].strip()!r} in column "
            f"{self.header[column]!r}, line {self.table.numbers[line]}. {cure}."
        )

    def _choose_of_features(
        self, names: list[str], columns: list[str], X: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which lines are features and which columns samples, and say what is left out."""
        file, settings, remarks = self.table.file, self.settings, self.remarks
        left = [name for name in annotating_columns(columns) if name not in settings.keep]
        others = [at for at, name in enumerate(columns) if name not in left]
        doubtful = doubtful_columns([columns[at] for at in others], X[:1000, others])
        doubtful = [name for name in doubtful if name not in settings.keep]
        if doubtful and len(left) + len(doubtful) < len(columns):
            raise MatrixError(
                f"{file}: columns {shown(doubtful)} look like annotation of the features, not like "
                f"samples. Set ignore: {listed([*settings.ignore, *doubtful])} to leave them out, "
                f"or keep: {listed([*settings.keep, *doubtful])} if they are samples."
            )
        if left and len(left) == len(columns):
            raise MatrixError(
                f"{file}: its columns {shown(columns)} describe features, such as the results of a "
                "test or the measures of one sample; there should be a column for each sample. Use "
                "the table of measurements, or set keep to the columns that are samples."
            )
        chosen = self._without(columns, left, "columns", "annotate the features")
        self._say_text("columns", {name: [] for name in self.names(self.text)})
        left = left_out_features(names, X.T, settings.keep, remarks, lines=True)
        rows = self._without(names, left, "lines", "describe the samples or are totals")
        nameless = [at for at in rows if names[at].strip("- ") in ("", "NA", "nan")]
        if nameless and len(nameless) < len(rows):
            remarks.append(f"{len(nameless)} lines without a feature name are left out.")
            rows = np.setdiff1d(rows, nameless)
        if self.edge is not None:
            aside = {self.cells[self.edge][at]: self.table.cells(at) for at in self.aside}
            self._say_text("lines", aside)
        return rows, chosen

    def _choose_of_samples(
        self, names: list[str] | None, columns: list[str], X: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which lines are samples and which columns features, and say what is left out."""
        left = left_out_features(columns, X, self.settings.keep, self.remarks, lines=False)
        chosen = self._without(columns, left, "columns", "describe the samples")
        texts = {self.header[at]: self.column(at) for at in self.text}
        self._say_text("columns", texts, has_names=names is not None)
        left = [
            name
            for name in names or ()
            if is_known(name, "summaries") and name not in self.settings.keep and len(name) > 1
        ]
        rows = self._without(names or range(len(X)), left, "lines", "summarise the others")
        if len(self.aside):
            self.remarks.append(
                f"{len(self.aside)} lines of text are left out, the first of them "
                f"{shown(self.table.cells(self.aside[0]), 4)}."
            )
        return rows, chosen

    def _without(self, names: Sequence, left: list[str], kind: str, why: str) -> np.ndarray:
        """Leave out lines or columns by their names, and say so."""
        gone = set(left)
        # The numbers of lines that pandas and R write have no name.
        left = [name for name in left if name and name != "Unnamed: 0"]
        if left:
            self.remarks.append(
                f"{kind} {shown(left)} {why} and are left out. Set keep: {listed(left[:20])} to "
                "use them."
            )
        return np.array([j for j, name in enumerate(names) if name not in gone], dtype=np.intp)

    def _say_text(self, kind: str, texts: dict[str, list[str]], *, has_names: bool = True) -> None:
        """Say which columns or lines of text are left out, and what they may be."""
        settings = self.settings
        names = [name for name in texts if name not in {*settings.named.values(), *settings.ignore}]
        if not names:
            return
        classes = [] if settings.labels else [name for name in names if few_levels(texts[name])]
        cure = f" Set labels: {quoted(classes[0])} if it holds known classes." if classes else ""
        different = [name for name in names if len({*texts[name]}) == len(texts[name]) > 0]
        if different and not has_names:
            cure += f" Set samples: {quoted(different[0])} if it names the samples."
        self.remarks.append(f"{kind} {shown(names)} hold text and are left out.{cure}")
