"""Reading a matrix from a text table.

Usually each line is a sample and each column a feature, below a header with the feature names. If
the first column has no name or contains text, it holds the sample names. If lines are features
(`transpose`), the header holds the sample names and the first column the feature names.
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

# Number of lines whose names are examined.
_LINES_LOOKED_AT = 5000
_FEATURES_IN_LINES = (
    "lines are read as features and columns as samples. Set transpose: false if lines hold samples."
)
_SAMPLES_IN_LINES = "lines are read as samples. Set transpose: true if they hold features."


def read_text(
    file: str | Path,
    labels: str | None = None,
    *,
    samples: str | None = None,
    groups: str | None = None,
    ignore: Sequence[str] = (),
    transpose: bool | str = "auto",
    decimal: str = "auto",
) -> RawMatrix:
    """Read and check a matrix, whose remarks say what was guessed.

    The file ends in ``.csv`` (cells separated by commas), ``.tsv`` or ``.txt`` (tabs), and then in
    ``.gz`` if it is compressed; other separators are detected. `labels`, `samples` and `groups`
    name the columns (or lines) of known classes, sample names and groups, `ignore` those to leave
    out. `transpose` tells whether lines hold features: "auto" decides from the names, see
    `find_orientation`, and from what the others name. `decimal` is "auto" or the decimal separator.

    A `MatrixError` names the file, the value, the rule and the setting that helps.
    """
    table = open_table(file, decimal)
    parts = TableParts(labels, samples, groups, tuple(map(str, ignore)))
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
    """Decide whether lines hold features, and return remarks on the decision."""
    file, header = table.file, table.header
    edge = next((at for at, name in enumerate(header) if name not in parts.ignore), 0)
    heading, columns = header[edge], header[edge + 1 :]
    names = [line[edge].strip() for line in islice(table.lines(), _LINES_LOOKED_AT) if line[edge:]]
    if heading and not names_features(heading) and not any(map(table.is_text, names)):
        return False, []
    wanted = {"labels": parts.labels, "samples": parts.samples, "groups": parts.groups}
    for key, name in wanted.items():
        if name is not None and name not in header and _has_line(table, edge, name):
            return True, [f"{key} names a line, {name!r}: {_FEATURES_IN_LINES}"]
    n_lines = len(names) if len(names) < _LINES_LOOKED_AT else sum(map(bool, table.lines()))
    found = find_orientation(heading, columns, names, n_lines)
    named = next((key for key, name in wanted.items() if name in header), None)
    if named:
        odd = f"{found[1]}, but {named} names a column: {_SAMPLES_IN_LINES}" if found else ""
        return False, [odd] if found and found[0] else []
    if found is None:
        raise MatrixError(
            f"{file}: {n_lines} lines and {len(columns)} columns, and their names do not show "
            "which are the samples. Set transpose: true if each line is a feature (such as a "
            "gene), transpose: false if each line is a sample."
        )
    transpose, sign = found
    return transpose, [f"{sign}: {_FEATURES_IN_LINES}"] if transpose else []


def _has_line(table: TextTable, edge: int, name: str) -> bool:
    return any(line[edge:] and line[edge].strip() == name for line in table.lines())
