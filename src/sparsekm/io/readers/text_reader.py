"""Reading a matrix from a text table.

The first lines tell which columns hold text and which numbers, and with all names whether lines or
columns are the samples (`table_head`). Then the cells are read once. What is neither a name, a
class nor a measurement is left out, which a remark says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path

import numpy as np

from sparsekm.io.readers.left_out import (
    doubtful_columns,
    few_levels,
    left_out_columns,
    left_out_features,
    left_out_samples,
)
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_annotation,
    check_groups,
    check_labels,
    check_names,
    check_size,
    listed,
    quoted,
    shown,
    suggest,
)
from sparsekm.io.readers.remarks import list_remarks
from sparsekm.io.readers.repeated import merge_features, number_names
from sparsekm.io.readers.table_head import (
    TableHead,
    TableSettings,
    find_above,
    is_transposed,
    look_at,
)
from sparsekm.io.readers.text_lines import UNREADABLE, open_lines
from sparsekm.io.row_stream import RowStream

_CELLS_AT_ONCE = 2**20


@dataclass
class _Cells:
    """The cells of a table: numbers by block of lines, and text."""

    blocks: list[np.ndarray] = field(default_factory=list)
    offset: list[float] | np.ndarray | None = None  # by line or column, whichever are the features
    texts: dict[int, list[str]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)  # lines of text, by name
    odd: Counter[str] = field(default_factory=Counter)
    odd_columns: dict[int, tuple[int, str]] = field(default_factory=dict)  # line and cell
    skipped: set[str] = field(default_factory=set)  # names of lines that are ignored
    n_infinite: int = 0


def read_text(file: str | Path, settings: TableSettings) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed, changed and left out.

    A `MatrixError` names the file, the value, the rule and the setting that helps.
    """
    table = open_lines(file)
    try:
        head = look_at(table, settings)
        transpose = is_transposed(head, settings)
        return _read(head, settings, transpose)
    except MatrixError as error:
        message = str(error)
        raise error if str(file) in message else MatrixError(f"{file}: {message}") from error
    except UNREADABLE as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise MatrixError(
            f"{file}: {reason}. Every line should have {table.n_columns} cells."
        ) from error


def _read(head: TableHead, settings: TableSettings, transpose: bool) -> RawMatrix:
    """Read all cells, and assemble the matrix."""
    table = head.table
    cells = _read_cells(head, settings, transpose)
    _check_settings(head, cells, settings, transpose)
    _check_odd(head, cells, settings)
    names = None if head.edge is None else [name.strip() for name in cells.texts[head.edge]]
    X = np.concatenate(cells.blocks) if cells.blocks else np.empty((0, len(head.numeric)))
    cells.blocks.clear()
    columns = head.names(head.numeric)
    remarks = table.remarks
    if cells.n_infinite:
        remarks.append(
            f"{cells.n_infinite} infinite values, such as the logarithm of zero, count as missing."
        )
    for what, example in head.parser.changed.items():
        remarks.append(f"some numbers are written with {what}, such as {example!r}.")
    if transpose and names is None:
        names = [f"feature{at + 1}" for at in range(len(X))]
    choose = _choose_of_features if transpose else _choose_of_samples
    rows, chosen = choose(head, cells, settings, names, X)
    if len(rows) < len(X) or len(chosen) < len(columns):
        X = X[np.ix_(rows, chosen)]
    of_lines, of_columns = names and [names[at] for at in rows], [columns[at] for at in chosen]
    at_columns = [head.numeric[at] for at in chosen]
    offset = np.zeros(0) if cells.offset is None else np.array(cells.offset)
    if transpose:
        X, offset = np.ascontiguousarray(X.T), offset[rows]
        features, samples = of_lines, of_columns
    else:
        offset, features, samples = offset[chosen] if len(offset) else offset, of_columns, of_lines
    check_size(table.file, *X.shape)
    X, offset, features = merge_features(X, offset, features, settings.duplicates, remarks)
    features = check_names(table.file, features, "feature", "name it in the file")
    if samples is not None:
        samples = number_names(
            [name or f"sample{at + 1}" for at, name in enumerate(samples)], remarks
        )
        samples = check_names(table.file, samples, "sample", "name it in the file")
    raw = RawMatrix(RowStream.of(X), offset, features, samples)
    raw.lines = "features" if transpose else "samples"

    def values(name: str) -> list[str]:
        if not transpose:
            found = cells.texts[table.header.index(name)]
            return [found[at] for at in rows]
        if name in cells.lines:
            return [cells.lines[name][at] for at in at_columns]
        return [table.above[find_above(table, name)][at - 1] for at in at_columns]

    if settings.labels is not None:
        raw.labels = check_labels(
            table.file, settings.labels, values(settings.labels), settings.is_missing_label
        )
    if settings.groups is not None:
        raw.groups = check_groups(
            table.file, settings.groups, values(settings.groups), settings.is_missing_label
        )
    raw.annotations = {
        name: check_annotation(values(name), settings.is_missing_label)
        for name in settings.annotate
    }
    if transpose and settings.samples is not None:
        raw.samples = check_names(
            table.file, values(settings.samples), "sample", "set samples to another line"
        )
    if table.above and settings.labels is None:
        known = [name for name in table.above if not name.startswith("Sample_")] or [*table.above]
        remarks.append(
            f"the lines above describe the samples: {shown(known)}. Set labels: {quoted(known[0])} "
            "for known classes."
        )
    raw.remarks = [*remarks, *list_remarks(raw, settings.labels, settings.missing_values)]
    return raw


def _choose_of_features(
    head: TableHead, cells: _Cells, settings: TableSettings, names: list[str], X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which lines are features and which columns samples, and say what is left out."""
    table, columns = head.table, head.names(head.numeric)
    rows, chosen, remarks = np.arange(len(X)), np.arange(len(columns)), head.table.remarks
    left = left_out_columns(columns, settings.keep)
    others = [at for at, name in enumerate(columns) if name not in left]
    some = X[:1000, others].astype(np.float64) + np.array(cells.offset[:1000])[:, np.newaxis]
    doubtful = doubtful_columns([columns[at] for at in others], some, settings.keep)
    if doubtful and len(left) + len(doubtful) < len(columns):
        raise MatrixError(
            f"{table.file}: columns {shown(doubtful)} look like annotation of the features, not "
            f"like samples. Set ignore: {listed([*settings.ignore, *doubtful])} to leave them out, "
            f"or keep: {listed([*settings.keep, *doubtful])} if they are samples."
        )
    if left and len(left) == len(columns):
        raise MatrixError(
            f"{table.file}: its columns {shown(columns)} describe features, such as the results of "
            "a test or the measures of one sample; there should be a column for each sample. Use "
            "the table of measurements, or set keep to the columns that are samples."
        )
    chosen = _without(remarks, columns, chosen, left, "columns", "annotate the features")
    _say_text(remarks, head.names(head.text), settings, "columns", {})
    left = left_out_features(names, X.T, settings.keep, remarks, lines=True)
    rows = _without(remarks, names, rows, left, "lines", "describe the samples or are totals")
    nameless = [at for at in rows if names[at].strip("- ") in ("", "NA", "nan")]
    if nameless and len(nameless) < len(rows):
        remarks.append(f"{len(nameless)} lines without a feature name are left out.")
        rows = np.setdiff1d(rows, nameless)
    _say_text(remarks, [*cells.lines], settings, "lines", cells.lines)
    return rows, chosen


def _choose_of_samples(
    head: TableHead, cells: _Cells, settings: TableSettings, names: list[str] | None, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which lines are samples and which columns features, and say what is left out."""
    table, columns = head.table, head.names(head.numeric)
    rows, chosen, remarks = np.arange(len(X)), np.arange(len(columns)), head.table.remarks
    left = left_out_features(columns, X, settings.keep, remarks, lines=False)
    chosen = _without(remarks, columns, chosen, left, "columns", "describe the samples")
    texts = {table.header[at]: cells.texts[at] for at in head.text}
    _say_text(remarks, [*texts], settings, "columns", texts, has_names=names is not None)
    left = left_out_samples(names, settings.keep) if names else []
    rows = _without(remarks, names or (), rows, left, "lines", "summarise the others")
    if cells.lines:
        remarks.append(
            f"{len(cells.lines)} lines of text are left out, the first of them "
            f"{shown(next(iter(cells.lines.values())), 4)}."
        )
    return rows, chosen


def _without(
    remarks: list[str], names: Sequence[str], at: np.ndarray, left: list[str], kind: str, why: str
) -> np.ndarray:
    """Leave out lines or columns by their names, and say so."""
    if not left:
        return at
    gone = set(left)
    # The numbers of lines that pandas and R write have no name.
    left = [name for name in left if name and name != "Unnamed: 0"]
    if left:
        told = listed(left[:20])
        cure = f"Set keep: {told} to use them."
        if why == "describe the samples":
            cure += f" Set annotate: {told} to compare them with the clusters."
        remarks.append(f"{kind} {shown(left)} {why} and are left out. {cure}")
    return np.array([j for j in at if names[j] not in gone], dtype=np.intp)


def _say_text(
    remarks: list[str],
    names: list[str],
    settings: TableSettings,
    kind: str,
    values: dict[str, list[str]],
    has_names: bool = True,
) -> None:
    """Say which columns or lines of text are left out, and what they may be."""
    names = [name for name in names if name not in {*settings.named.values(), *settings.ignore}]
    if not names:
        return
    classes = (
        [] if settings.labels else [name for name in names if few_levels(values.get(name, ()))]
    )
    cure = f" Set labels: {quoted(classes[0])} if it holds known classes." if classes else ""
    if few := [name for name in names if few_levels(values.get(name, ()))]:
        cure += f" Set annotate: {listed(few[:20])} to compare them with the clusters."
    different = [
        name for name in names if name in values and len({*values[name]}) == len(values[name])
    ]
    if different and not has_names:
        cure += f" Set samples: {quoted(different[0])} if it names the samples."
    remarks.append(f"{kind} {shown(names)} hold text and are left out.{cure}")


def _read_cells(head: TableHead, settings: TableSettings, transpose: bool) -> _Cells:
    """Read the cells of all lines once."""
    table, parser = head.table, head.parser
    cells = _Cells(offset=[] if transpose else None)
    kept = [*head.text, *([] if head.edge is None else [head.edge])]
    cells.texts = {at: [] for at in kept}
    start, stop = head.numeric[0], head.numeric[-1] + 1
    is_slice = stop - start == len(head.numeric)
    pick = itemgetter(slice(start, stop)) if is_slice else itemgetter(*head.numeric)
    special = {*settings.named.values(), *settings.ignore}
    if not transpose:
        special = {name for name in settings.ignore if name not in table.header}
    height = max(1, _CELLS_AT_ONCE // len(head.numeric))
    buffer: list[Sequence[float]] = []
    numbers: list[int] = []
    described = table.n_described
    for number, row in table.rows():
        name = "" if head.edge is None else row[head.edge].strip()
        if special and not transpose and name in special:
            cells.skipped.add(name)
            continue
        if described or (special and name in special):
            described = max(0, described - 1)
            cells.lines.setdefault(name, row)
            continue
        found, has_text = parser.numbers(pick(row))
        if has_text:
            n_text = found.count(None)
            if n_text > 1 and 2 * n_text > len(found):
                cells.lines.setdefault(name, row)
                continue
            for at, value in zip(head.numeric, found, strict=True):
                if value is None:
                    cells.odd[row[at].strip()] += 1
                    cells.odd_columns.setdefault(at, (number, row[at].strip()))
            found = [float("nan") if value is None else value for value in found]
        for at in kept:
            cells.texts[at].append(row[at])
        buffer.append(found)
        numbers.append(number)
        if len(buffer) == height:
            _take(head, cells, buffer, numbers, transpose)
    if buffer:
        _take(head, cells, buffer, numbers, transpose)
    return cells


def _take(
    head: TableHead, cells: _Cells, buffer: list, numbers: list[int], transpose: bool
) -> None:
    """Convert lines to float32, less the offset of each feature, and empty the buffer."""
    block = np.array(buffer, dtype=np.float64)
    infinite = np.isinf(block)
    if infinite.any():
        cells.n_infinite += int(infinite.sum())
        block[infinite] = np.nan
    for number in head.parser.missing_numbers:
        block[block == number] = np.nan
    large = np.abs(np.nan_to_num(block)) > np.finfo(np.float32).max
    if large.any():
        row, column = (int(at[0]) for at in np.nonzero(large))
        raise MatrixError(
            f"{head.table.file}: line {numbers[row]}: {block[row, column]} in column "
            f"{head.names(head.numeric)[column]!r} is beyond the range of single precision."
        )
    if transpose:
        first = np.nan_to_num(block[:, 0])
        cells.offset.extend(first)
        block -= first[:, np.newaxis]
    else:
        if cells.offset is None:
            cells.offset = np.nan_to_num(block[0])
        block -= cells.offset
    cells.blocks.append(block.astype(np.float32))
    buffer.clear()
    numbers.clear()


def _check_settings(
    head: TableHead, cells: _Cells, settings: TableSettings, transpose: bool
) -> None:
    """Refuse names in settings that the table does not have."""
    table = head.table
    kind = "lines and columns" if transpose else "columns"
    names = [name for name in table.header if name]
    lines: list[str] = []
    if head.edge is not None:
        lines = [*cells.lines, *(name.strip() for name in cells.texts[head.edge])]
    known = {*names, *lines} if transpose else {*names, *cells.skipped}
    for key, name in settings.named.items():
        there = name in cells.lines or find_above(table, name) if transpose else name in known
        if not there:
            hint = ""
            if not transpose and name in lines:
                hint = f" A line has the name {name!r}. Set transpose: true."
            raise MatrixError(
                f"{table.file}: {key}={name!r} should be one of its {kind} "
                f"{shown([*(lines if transpose else ()), *names])}.{hint}"
                f"{suggest(key, name, known)}"
            )
    missing = [name for name in settings.ignore if name not in known]
    if missing:
        hint = f" Leave them out of the list: {listed(missing)}." if len(missing) > 1 else ""
        raise MatrixError(
            f"{table.file}: ignore={shown(missing)} should be among its {kind} {shown(names)}."
            f"{hint}{suggest('ignore', missing[0], known)}"
        )


def _check_odd(head: TableHead, cells: _Cells, settings: TableSettings) -> None:
    """Refuse text among numbers, with the setting that makes it missing."""
    if not cells.odd:
        return
    header = head.table.header
    wrong = [header[at] for at in sorted(cells.odd_columns)]
    at, (line, cell) = min(cells.odd_columns.items(), key=lambda item: item[1][0])
    words = sorted(cells.odd, key=lambda word: -cells.odd[word])
    words = listed([*settings.missing_values, *words])
    cure = f"Set missing_values: {words} if they mean missing values"
    if len(wrong) < len(head.numeric):
        cure += f", or ignore: {listed([*settings.ignore, *wrong])} to leave the columns out"
    noun = "one column is" if len(wrong) == 1 else f"{len(wrong)} columns are"
    raise MatrixError(
        f"{head.table.file}: {noun} not numeric throughout: {shown(wrong)}; the first such value "
        f"is {cell!r} in column {header[at]!r}, line {line}. {cure}."
    )
