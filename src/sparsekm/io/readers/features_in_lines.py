"""Reading a text table whose lines hold features and whose columns hold samples."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_features,
    check_samples,
    check_size,
    listed,
)
from sparsekm.io.readers.remarks import list_remarks
from sparsekm.io.readers.table_parts import TableParts
from sparsekm.io.readers.text_table import UNREADABLE, TextTable
from sparsekm.io.readers.value_blocks import Gaps
from sparsekm.io.readers.wrong_cells import WrongCells
from sparsekm.io.row_stream import RowStream


def read_features_in_lines(table: TextTable, parts: TableParts) -> RawMatrix:
    """Read a matrix with one feature per line; see `read_text` for parameters and errors.

    The first column that is not ignored holds the feature names. `labels`, `groups` and `samples`
    name lines.
    """
    file, header = table.file, table.header
    left_out = {*table.empty, *(at for at, name in enumerate(header) if name in parts.ignore)}
    edge, *columns = [at for at in range(len(header)) if at not in left_out]
    samples = [header[at] for at in columns]
    names, cells, other_lines = _read_names(table, parts, edge, columns)
    parts.check(file, [*names.values(), *cells, *header], "lines and columns")
    features = check_features(file, names.values(), can_ignore=True)
    check_size(file, len(samples), len(features))
    X, offset = _read_numbers(table, parts, columns, names, other_lines)
    raw = RawMatrix(RowStream.of(X), offset, features)
    parts.read_into(raw, file, cells.__getitem__)
    raw.samples = check_samples(file, cells[parts.samples] if parts.samples else samples)
    raw.remarks = [*table.remarks, *list_remarks(raw, parts.labels)]
    return raw


def _read_names(
    table: TextTable, parts: TableParts, edge: int, columns: list[int]
) -> tuple[dict[int, str], dict[str, list[str]], list[int]]:
    """Read the feature names by line number, the cells of the other lines, and their numbers."""
    names: dict[int, str] = {}
    cells: dict[str, list[str]] = {}
    left_out: list[int] = []
    for at, line in enumerate(table.lines()):
        if not line:
            continue
        if len(line) != table.n_columns:
            raise MatrixError(
                f"{table.file}: line {at + 2} has {len(line)} cells; it should have "
                f"{table.n_columns}."
            )
        name = line[edge].strip()
        if name in (parts.labels, parts.samples, parts.groups, *parts.ignore):
            cells[name] = [line[column] for column in columns]
            left_out.append(at)
        else:
            names[at] = name
    return names, cells, left_out


def _read_numbers(
    table: TextTable,
    parts: TableParts,
    columns: list[int],
    names: dict[int, str],
    left_out: list[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Read the values of the feature lines: X, shape (samples, features), and the offset."""
    features = list(names.values())
    by_feature = np.empty((len(features), len(columns)), dtype=np.float32)
    offset = np.zeros(len(features))
    gaps, start = Gaps(table.file), 0
    try:
        for values, _ in table.chunks(columns, [], left_out):
            stop = start + len(values)
            offset[start:stop] = np.nan_to_num(values[:, 0], posinf=0, neginf=0)
            with np.errstate(over="ignore", invalid="ignore"):
                by_feature[start:stop] = values - offset[start:stop, np.newaxis]
            gaps.count(by_feature[start:stop].T, first_feature=start)
            start = stop
    except UNREADABLE as error:
        if not isinstance(error, MatrixError):
            _explain(table, parts, columns, names)
        raise
    gaps.check(features, can_ignore=True)
    return np.ascontiguousarray(by_feature.T), offset


def _explain(
    table: TextTable, parts: TableParts, columns: list[int], features: dict[int, str]
) -> None:
    """Raise an error that names the lines or columns with values other than numbers."""
    wrong = WrongCells(table)
    by_column: Counter[int] = Counter()
    for at, line in enumerate(table.lines()):
        if at in features:
            for sample, column in enumerate(columns, 1):
                wrong.examine(line[column], features[at], sample)
                by_column[column] += table.is_text(line[column])
    text = [table.header[at] for at in columns if 2 * by_column[at] > len(features)]
    if text:
        raise MatrixError(
            f"{table.file}: columns {listed(text)} contain text; every column after the first "
            f"should be numeric. Set ignore: {listed(text)}, or transpose: false if lines hold "
            "samples."
        )
    wrong.check("lines", list(features.values()), parts)
