"""Reading a matrix from a table of text.

Usually a line holds a sample and a column a feature, below a header with the features' names. A
first column without a name, or with text in it, holds the samples' names. Where lines hold features
(`transpose`), all is the other way round: the header names the samples, the first column the
features.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from sparsekm.io.readers.features_in_lines import read_features_in_lines
from sparsekm.io.readers.orientation import find_orientation, names_features
from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.io.readers.samples_in_lines import read_samples_in_lines
from sparsekm.io.readers.table_parts import TableParts
from sparsekm.io.readers.text_table import UNREADABLE, TextTable, open_table

# Lines whose names are looked at.
_LINES_LOOKED_AT = 5000
_FEATURES_IN_LINES = (
    "lines are taken for features and columns for samples. Set transpose: false if lines hold "
    "samples."
)
_SAMPLES_IN_LINES = "lines are taken for samples. Set transpose: true if they hold features."


def read_text(
    file: str | Path,
    labels: str | None = None,
    *,
    samples: str | None = None,
    ignore: Sequence[str] = (),
    transpose: bool | str = "auto",
    decimal: str = "auto",
) -> RawMatrix:
    """Read and check a matrix.

    Parameters
    ----------
    file : path
        Ends in ``.csv`` (cells separated by commas), ``.tsv`` or ``.txt`` (tabs); another separator
        is found. May be compressed with a further ``.gz``.
    labels : str, optional
        Name of the column of known classes.
    samples : str, optional
        Name of the column of the samples' names.
    ignore : sequence of str
        Columns to leave out. With features in lines, columns or lines.
    transpose : {"auto", True, False}
        Whether lines hold features. "auto" asks the names, see `find_orientation`, and what
        `labels` and `samples` name.
    decimal : {"auto", ".", ","}
        What stands before the decimals.

    Returns
    -------
    matrix : RawMatrix
        Its remarks say what was guessed.

    Raises
    ------
    MatrixError
        Naming the file, the value, the rule that it breaks, and last the setting that cures it.
    """
    table = open_table(file, decimal)
    parts = TableParts(labels, samples, tuple(map(str, ignore)))
    try:
        if transpose == "auto":
            transpose, remarks = _find_orientation(table, parts)
            table.remarks.extend(remarks)
        return (read_features_in_lines if transpose else read_samples_in_lines)(table, parts)
    except MatrixError:
        raise
    except UNREADABLE as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise MatrixError(
            f"{table.file}: {reason}. Every line should have {table.n_columns} cells."
        ) from error


def _find_orientation(table: TextTable, parts: TableParts) -> tuple[bool, list[str]]:
    """Tell whether lines hold features, and what is to be said about that."""
    file, header = table.file, table.header
    edge = next((at for at, name in enumerate(header) if name not in parts.ignore), 0)
    heading, columns = header[edge], header[edge + 1 :]
    names = [line[edge].strip() for line in islice(table.lines(), _LINES_LOOKED_AT) if line[edge:]]
    if heading and not names_features(heading) and not any(map(table.is_text, names)):
        return False, []
    wanted = {"labels": parts.labels, "samples": parts.samples}
    for key, name in wanted.items():
        if name is not None and name not in header and _has_line(table, edge, name):
            return True, [f"{key} name a line, {name!r}: {_FEATURES_IN_LINES}"]
    n_lines = len(names) if len(names) < _LINES_LOOKED_AT else sum(map(bool, table.lines()))
    found = find_orientation(heading, columns, names, n_lines)
    named = next((key for key, name in wanted.items() if name in header), None)
    if named:
        odd = f"{found[1]}, but {named} name a column: {_SAMPLES_IN_LINES}" if found else ""
        return False, [odd] if found and found[0] else []
    if found is None:
        raise MatrixError(
            f"{file}: {n_lines} lines and {len(columns)} columns, whose names do not tell which of "
            "them are the samples. Set transpose: true if a line holds a feature (such as a gene), "
            "transpose: false if it holds a sample."
        )
    transpose, sign = found
    return transpose, [f"{sign}: {_FEATURES_IN_LINES}"] if transpose else []


def _has_line(table: TextTable, edge: int, name: str) -> bool:
    return any(line[edge:] and line[edge].strip() == name for line in table.lines())
