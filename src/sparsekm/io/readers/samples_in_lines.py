"""Reading a text table whose lines hold samples."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

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
from sparsekm.io.readers.value_blocks import BlockCollector
from sparsekm.io.readers.wrong_cells import WrongCells
from sparsekm.io.row_stream import RowStream

# Headings of a column that numbers the samples; the last is pandas' name for an unnamed column.
_NUMBERING = re.compile(
    r"((sample|cell|row|subject|patient)s?[ _.-]?)?(id|name|index|number)s?"
    r"|(sample|cell|row|subject|patient)s?|unnamed: 0",
    re.IGNORECASE,
)


def read_samples_in_lines(table: TextTable, parts: TableParts) -> RawMatrix:
    """Read a matrix with one sample per line; see `read_text` for parameters and errors."""
    file, header = table.file, table.header
    first = next(filter(None, table.lines()))
    parts.check(file, header, "columns", _hint_at_lines(table, parts))
    edge = _sample_column(table, parts)
    special = [
        at for at, name in enumerate(header) if at == edge or name in (parts.labels, parts.groups)
    ]
    left_out = [*table.empty, *(at for at, name in enumerate(header) if name in parts.ignore)]
    if parts.samples and edge and not header[0]:
        left_out.append(0)
    columns = [at for at in range(len(header)) if at not in {*special, *left_out}]
    features = [header[at] for at in columns]
    _check_names(table, features, [header[at] for at in special], first)
    check_size(file, 3, len(features))
    collector = BlockCollector(file, features)
    blocks: list[np.ndarray] = []
    others: list[pd.DataFrame] = []
    try:
        for values, other in table.chunks(columns, special):
            blocks.append(collector.convert(values))
            others.append(other)
            check_size(file, max(collector.n_rows, 3), len(features))
    except UNREADABLE as error:
        if not isinstance(error, MatrixError):
            _explain(table, parts, columns)
        raise
    check_size(file, collector.n_rows, len(features))
    offset = collector.finish(can_ignore=True)
    X = np.concatenate(blocks)
    _check_no_numbering(file, features, X, offset)
    other = pd.concat(others, ignore_index=True)
    raw = RawMatrix(RowStream.of(X), offset, features)
    parts.read_into(raw, file, lambda name: other[header.index(name)])
    if edge is not None:
        raw.samples = check_samples(file, other[edge], header[edge])
    raw.remarks = [*table.remarks, *list_remarks(raw, parts.labels)]
    return raw


def _sample_column(table: TextTable, parts: TableParts) -> int | None:
    """Return the number of the column with the sample names, if there is one."""
    name = table.header[0]
    if parts.samples is not None:
        return table.header.index(parts.samples)
    if (name in parts.ignore and name) or (name and name in (parts.labels, parts.groups)):
        return None
    given = next((line[0] for line in table.lines() if line and line[0].strip()), "")
    return 0 if not name or table.is_text(given) else None


def _check_names(
    table: TextTable, features: list[str], others: list[str], first: list[str]
) -> None:
    """Check the feature names; they may be numbers if these cannot be the values of a sample."""
    file = table.file
    are_numbers = bool(features) and not any(map(table.is_text, features))
    are_ids = len(set(features)) == len(features) and all(name.isdecimal() for name in features)
    are_apart = others or not all(cell.strip().lstrip("-").isdecimal() for cell in first)
    if are_numbers and all(features) and not (are_ids and are_apart):
        raise MatrixError(
            f"{file}: the first line contains only numbers, {listed(features[:3])}; it should "
            "contain the feature names. Add a line of names above it."
        )
    named = [*features, *filter(None, others)]
    if len(set(named)) != len(named) or not all(features):
        check_features(file, named if all(features) else features, can_ignore=True)
    if not are_numbers:
        return
    table.remarks.append(
        f"feature names are numbers, {listed(features[:3])} and so on: they are used as ids, such "
        "as Entrez ids."
    )


def _hint_at_lines(table: TextTable, parts: TableParts) -> str:
    """Return a hint if a setting names a line: the table may have features in lines."""
    wanted = {parts.labels, parts.samples, parts.groups, *parts.ignore} - {None, *table.header}
    found = wanted and next(
        (line[0] for line in table.lines() if line and line[0].strip() in wanted), None
    )
    return f" A line has the name {found!r}. Set transpose: true." if found else ""


def _check_no_numbering(file: Path, features: list[str], X: np.ndarray, offset: np.ndarray) -> None:
    """Refuse a column that numbers the samples, judging by its heading and values."""
    for column, name in enumerate(features):
        if not _NUMBERING.fullmatch(name):
            continue
        values = X[:, column].astype(np.float64) + offset[column]
        distinct = np.unique(values)
        if len(distinct) == len(values) and (distinct == np.round(distinct)).all():
            raise MatrixError(
                f"{file}: column {name!r} looks like sample numbers, not a feature: it contains "
                f"{len(values)} different whole numbers. Set samples: {name}, or ignore: [{name}]; "
                "to use it as a feature, rename it."
            )


def _explain(table: TextTable, parts: TableParts, columns: list[int]) -> None:
    """Raise an error that names the columns with values other than numbers, if there are any."""
    wrong = WrongCells(table)
    try:
        for sample, line in enumerate(filter(None, table.lines()), 1):
            for at in columns:
                if at < len(line):
                    wrong.examine(line[at], table.header[at], sample)
    except UNREADABLE:
        return
    wrong.check("columns", table.header, parts)
