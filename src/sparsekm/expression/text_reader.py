"""Reading a matrix from comma or tab separated text.

One sample per line, one feature per column, a header line with the features' names. A first
column without a name, or with text in it, or that the header has no cell for (as R writes it)
holds the samples' names; one of whole numbers that is called like an id is refused, since it may
or may not be a feature. Another column may hold the known classes; it is named by `labels`.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.expression.raw_matrix import (
    BlockCollector,
    MatrixError,
    RawMatrix,
    check_features,
    check_labels,
    check_samples,
    check_size,
)
from sparsekm.expression.text_stream import open_text

_CELLS_AT_ONCE = 2**20
_MOST_COLUMNS = 1_000_000
# What the column of the samples' names is called in messages where its header is empty.
_UNNAMED = "sample names"
# Names of a column that numbers the samples; the last is what pandas calls one without a name.
_NUMBERING = re.compile(
    r"((sample|cell|row|subject|patient)s?[ _.-]?)?(id|name|index|number)s?"
    r"|(sample|cell|row|subject|patient)s?|unnamed: 0",
    re.IGNORECASE,
)
# What text that is none, or a damaged .gz, can raise.
_UNREADABLE = (ValueError, csv.Error, EOFError, OSError, zlib.error)


def read_text(file: str | Path, labels: str | None = None) -> RawMatrix:
    """Read and check a matrix.

    Parameters
    ----------
    file : path
        Ends in ``.csv`` (commas) or ``.tsv`` (tabs); may be compressed with a further ``.gz``.
    labels : str, optional
        Name of the column of known classes.

    Returns
    -------
    matrix : RawMatrix

    Raises
    ------
    MatrixError
        Naming the file, the value and the rule that it breaks.
    """
    file = Path(file)
    separator = "\t" if file.name.lower().endswith((".tsv", ".tsv.gz")) else ","
    columns, sample_column = _columns(file, separator, labels)
    features = [name for name in columns if name not in (sample_column, labels)]
    check_features(file, features)
    text = [name for name in (sample_column, labels) if name is not None]
    collector = BlockCollector(file, features)
    blocks: list[np.ndarray] = []
    others: list[pd.DataFrame] = []
    try:
        for chunk in _chunks(file, separator, columns, features):
            blocks.append(collector.convert(chunk[features].to_numpy()))
            others.append(chunk[text])
            check_size(file, max(collector.n_rows, 3), len(features))
    except MatrixError:
        raise
    except _UNREADABLE as error:
        _explain(file, separator, columns, features)
        reason = " ".join(str(error).split()).rstrip(".")
        raise MatrixError(f"{file}: {reason}. Lines should have {len(columns)} cells.") from error
    check_size(file, collector.n_rows, len(features))
    offset = collector.finish()
    X = np.concatenate(blocks)
    if features[0] == columns[0]:
        _check_no_numbering(file, features[0], X[:, 0].astype(np.float64) + offset[0])
    other = pd.concat(others, ignore_index=True)
    return RawMatrix(
        X=X,
        offset=offset,
        features=features,
        samples=None
        if sample_column is None
        else check_samples(
            file, other[sample_column], sample_column if sample_column != _UNNAMED else ""
        ),
        labels=None
        if labels is None
        else check_labels(file, labels, other[labels].to_numpy(dtype=object), len(other)),
    )


def _chunks(
    file: Path, separator: str, columns: list[str], features: list[str]
) -> Iterator[pd.DataFrame]:
    """Read some lines at a time, features as numbers and everything else as text."""
    with open_text(file) as opened:
        yield from pd.read_csv(
            opened,
            sep=separator,
            names=columns,
            skiprows=1,
            index_col=False,
            dtype=dict.fromkeys(columns, str) | dict.fromkeys(features, np.float64),
            keep_default_na=False,
            na_values={name: ["", "NA", "NaN", "nan"] for name in features},
            chunksize=max(1, _CELLS_AT_ONCE // len(columns)),
            encoding="utf-8-sig",
        )


def _columns(file: Path, separator: str, labels: str | None) -> tuple[list[str], str | None]:
    """Name all columns, and tell which one holds the samples' names."""
    header, line = _first_lines(file, separator)
    if not any(header):
        raise MatrixError(f"{file}: the first line is empty; it should hold the features' names.")
    if len(header) > _MOST_COLUMNS:
        raise MatrixError(
            f"{file}: columns={len(header)} should be <= {_MOST_COLUMNS}; wider matrices are read "
            "from .npz, .h5 and .h5ad."
        )
    header = [name.strip() for name in header]
    others = [other for other in ",;\t" if len(header) == 1 and other in header[0]]
    if others:
        raise MatrixError(
            f"{file}: the header is one cell with {others[0]!r} in it; cells should be separated "
            f"by {separator!r}, as the file's ending says."
        )
    sample_column = None
    if len(line) == len(header) + 1:
        header = ["", *header]
    if len(line) != len(header):
        raise MatrixError(
            f"{file}: the first sample has {len(line)} cells, the header {len(header)}; they "
            "should agree."
        )
    if not header[0] or (header[0] != labels and _is_text(line[0])):
        sample_column = header[0] = header[0] or _UNNAMED
    if labels is not None and labels not in header:
        shown = ", ".join(header[:5]) + (", ..." if len(header) > 5 else "")
        raise MatrixError(
            f"{file}: labels={labels!r} should be one of its columns ({shown})."
            + _hint_at_row(file, separator, labels)
        )
    if len(set(header)) != len(header):
        check_features(file, header)
    if all(not _is_text(name) for name in header if name not in (sample_column, labels)):
        raise MatrixError(
            f"{file}: the first line holds numbers only; it should hold the features' names."
        )
    return header, sample_column


def _first_lines(file: Path, separator: str) -> list[list[str]]:
    """Read the cells of the header and of the first sample."""
    try:
        with _open_lines(file) as opened:
            lines = list(islice(csv.reader(opened, delimiter=separator), 2))
    except (FileNotFoundError, MatrixError):
        raise
    except _UNREADABLE as error:
        raise MatrixError(f"{file}: not UTF-8 text with one line per sample ({error}).") from error
    if len(lines) < 2:
        raise MatrixError(f"{file}: lines={len(lines)}; there should be a header and samples.")
    return lines


def _open_lines(file: Path) -> io.TextIOWrapper:
    return io.TextIOWrapper(open_text(file), encoding="utf-8-sig", newline="")


def _hint_at_row(file: Path, separator: str, labels: str) -> str:
    """Say so where `labels` names a line: samples that stand in columns are a common mistake."""
    try:
        with _open_lines(file) as opened:
            lines = csv.reader(opened, delimiter=separator)
            found = any(line and line[0].strip() == labels for line in lines)
    except _UNREADABLE:
        return ""
    return f" A line is called {labels!r}: the table looks transposed." if found else ""


def _is_text(cell: str) -> bool:
    if cell.strip() in ("", "NA", "NaN", "nan"):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _check_no_numbering(file: Path, name: str, values: np.ndarray) -> None:
    """Refuse a first column that is called, and counts, as one that numbers the samples."""
    distinct = np.unique(values)
    if (
        _NUMBERING.fullmatch(name)
        and len(distinct) == len(values)
        and (distinct == np.round(distinct)).all()
    ):
        raise MatrixError(
            f"{file}: column {name!r} looks like the samples' numbers, not a feature: it holds "
            f"{len(values)} different whole numbers. Empty its cell in the header to have it as "
            "the samples' names; rename it to have it as a feature."
        )


def _explain(file: Path, separator: str, columns: list[str], features: list[str]) -> None:
    """Name the columns that hold something else than numbers, if that was the trouble."""
    wrong: dict[str, tuple[int, str]] = {}
    try:
        with open_text(file) as opened:
            for table in pd.read_csv(
                opened,
                sep=separator,
                names=columns,
                skiprows=1,
                index_col=False,
                dtype=str,
                usecols=features,
                keep_default_na=False,
                chunksize=max(1, _CELLS_AT_ONCE // len(columns)),
                encoding="utf-8-sig",
            ):
                for name in features:
                    text = table[name][[_is_text(cell) for cell in table[name]]]
                    if len(text):
                        wrong.setdefault(name, (text.index[0] + 1, text.iloc[0]))
    except _UNREADABLE:
        return
    wrong = {name: wrong[name] for name in features if name in wrong}
    if wrong:
        name, (sample, cell) = next(iter(wrong.items()))
        shown = ", ".join(list(wrong)[:5]) + (", ..." if len(wrong) > 5 else "")
        raise MatrixError(
            f"{file}: {len(wrong)} columns are not numeric ({shown}); the first such value is "
            f"{cell!r} in column {name!r}, sample {sample}. Every feature should be numeric; the "
            "column of known classes is named by `labels`."
        )
