"""Reading a user's matrix in any supported format, and the memory that this may take."""

from __future__ import annotations

import math
import re
import zipfile
from datetime import date, time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from sparsekm.io.input_error import check_file
from sparsekm.io.readers.messages import (
    CONVERSIONS,
    MatrixError,
    Said,
    Way,
    explain_damage,
    need,
    of_file,
    refusal,
    refuse_format,
    say,
)
from sparsekm.io.readers.raw_matrix import RawMatrix, Settings, check_size, held_bytes
from sparsekm.io.readers.stored_matrix import arrays_in, find_layout, find_mtx, read_stored
from sparsekm.io.readers.table_reader import read_text
from sparsekm.io.readers.value_blocks import open_stored

_STORED = (".npz", ".h5ad", ".h5", ".hdf5", ".zarr")
_WORKBOOKS = (".xlsx", ".xlsm")
SUFFIXES = (
    *_STORED,
    *_WORKBOOKS,
    *(".parquet", ".mtx", ".csv", ".tsv", ".txt", ".tab", ".data", ".gct", ".gz"),
)
"""File name extensions that are known; a file with another one is read as text."""

_OF_TABLES = ("samples", "ignore", "keep", "duplicates", "decimal")
# Parts of an AnnData file that do not describe the matrix.
_UNUSED = {"data", "indices", "indptr", "layers", "obsm", "varm", "obsp", "varp", "uns", "raw"}
COPIES = 3  # float32 matrices in memory at once while one is read and normalised as a whole
BLOCK_BYTES = 2**29  # memory of the blocks of a matrix that is read in blocks of rows
LINE_BYTES = 256  # memory per sample and feature of such a matrix: sums, labels and starts of rows
PASSES = 3  # how often such a matrix is read, compared with one that is read as a whole
OBJECT_BYTES = 32  # memory per byte of names and text columns, which become Python objects
TEXT_BYTES = 16  # memory per byte of a text table, for the shortest cells and the sample names
MOST_INFLATION = 1032  # largest compression ratio of gzip
CELL_BYTES = 12  # text of a cell of a Parquet file
MOST_BYTES = 2**36


def read_matrix(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    **others: Any,
) -> RawMatrix:
    """Read and check a matrix of samples x features; values that are missing are NaN.

    Settings are those of `sparsekm.io.table_settings`. A `MatrixError` names the file, the
    value, the rule and the setting that helps.
    """
    for key in ("ignore", "keep", "annotate"):
        others[key] = tuple(map(str, others.get(key) or ()))
    with of_file(file):
        return _read(Path(file), Settings(labels, layer, groups, **others))


def _read(file: Path, settings: Settings) -> RawMatrix:
    name, mtx = file.name.lower(), find_mtx(file)
    for endings in CONVERSIONS:
        ending = max(filter(name.endswith, endings.split()), key=len, default="")
        if ending[:1] == ".":
            refuse_format(file, endings, ending)
    check_file(file, or_folder=True)
    if file.is_dir() and not (mtx or name.endswith(".zarr") or (file / ".zgroup").exists()):
        raise refusal("other_folder")
    if mtx or file.is_dir() or name.endswith(_STORED):
        for key in _OF_TABLES:
            value = getattr(settings, key)
            if value and value != "auto":
                value = [*value] if isinstance(value, tuple) else value
                raise refusal("other_setting", key=key, value=value)
        return read_stored(mtx or file, settings)
    if name.endswith(_WORKBOOKS):
        return _read_workbook(file, settings)
    if settings.layer is not None:
        raise refusal("needless_layer", layer=settings.layer)
    text = None
    if name.endswith((".parquet", ".pq")):
        need("pyarrow", "Parquet files", "parquet")
        with explain_damage(".parquet file", "pandas.DataFrame.to_parquet."):
            frame = pd.read_parquet(file)
            # The index holds the names of the rows.
            text = frame.to_csv(index=not isinstance(frame.index, pd.RangeIndex))
    return read_text(file, settings, text)


def _read_workbook(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a sheet, by default the first one with a table of numbers."""
    need("openpyxl", "Excel workbooks", "excel")
    sheet, cure = settings.layer, "Excel. Save it again, or as 'CSV UTF-8'."
    options = {"header": None, "dtype": object, "na_filter": False}

    def is_table(name: str) -> bool:
        # The first column may number notes.
        page = book.parse(name, nrows=30, **options).iloc[:, 1:]
        numbers = page.map(_is_number).sum(axis=1)
        return int((numbers > (page.shape[1] > 1)).sum()) > 2

    with explain_damage(".xlsx file", cure), pd.ExcelFile(file, engine="openpyxl") as book:
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise refusal("no_sheet", sheet=sheet, names=names)
        tables = [sheet] if sheet else [*filter(is_table, names)] or names[:1]
        page = book.parse(tables[0], **options).apply(_numbers_of_dates).map(str)
        _refuse_uncomputed(file, book.book[tables[0]]._worksheet_path, tables[0])
    text = page.replace({r"[\r\n]+": " ", r" 00:00:00$": ""}, regex=True)
    said = say("sheet", sheet=tables[0], names=names) if len(names) > 1 and not sheet else Said("")
    others = [Way({"layer": other}, f"to read the sheet {other!r}") for other in tables[1:]]
    try:
        raw = read_text(file, settings, text.to_csv(header=False, index=False))
    except MatrixError as error:
        ways = [way._replace(settings={"layer": tables[0], **way.settings}) for way in error.ways]
        raise MatrixError(f"{said} {error}".strip(), [*ways, *others]) from error
    raw.remarks[:0] = [Said(said, others)] * bool(said)
    return raw


# openpyxl reads a formula as 0 or as an empty cell.
_UNCOMPUTED = re.compile(
    rb'<c r="(\w+)"[^>]*>\s*<f(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>'
)


def _refuse_uncomputed(file: Path, part: str, sheet: str) -> None:
    """Refuse a formula without a stored value; `part` is the sheet in the archive."""
    with zipfile.ZipFile(file) as archive:
        found = _UNCOMPUTED.search(archive.read(part))
    if found:
        raise refusal("formula", cell=found[1].decode(), sheet=sheet)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _numbers_of_dates(column: pd.Series) -> pd.Series:
    """Return the numbers of cells that only look like dates, among numbers and below a name."""
    from openpyxl.utils.datetime import to_excel

    is_date = column.map(lambda value: isinstance(value, date | time))
    is_date[column.ne("").idxmax()] = False
    if not column.map(_is_number).any():
        return column
    return column.mask(is_date, column[is_date].map(to_excel))


class ReadingSize(NamedTuple):
    """The resources for reading a matrix beyond those for a small one."""

    memory: int  # bytes
    processed: int = 0  # bytes that take processor time, if more than those held
    matrix: int = 0  # bytes of the matrix itself, if the file declares them
    n_samples: int = 0


def measure_matrix(file: str | Path, layer: str | None = None) -> ReadingSize:
    """Return the resources of reading and normalising; 0 if the file declares no size."""
    file = Path(file)
    try:
        check_file(file, or_folder=True)
        n_bytes = _text_bytes(file)
        if n_bytes is not None:
            return ReadingSize(min(TEXT_BYTES * n_bytes, MOST_BYTES))
        with open_stored(file) as opened:
            found = find_layout(file, opened, layer)
            (n, p), n_stored, in_blocks = found.shape, found.n_stored, found.in_blocks
            node = found.node if n_stored is None else found.node["data"]
            stored, parts = node.nbytes + 8 * (n_stored or 0), arrays_in(opened).items()
            used = [part for name, part in parts if _UNUSED.isdisjoint(name.split("/"))]
            names = OBJECT_BYTES * sum(one.nbytes for one in used if len(one.shape or ()) == 1)
            chunk = math.prod(getattr(node, "chunks", None) or [0]) * node.dtype.itemsize
    # The job that reads the file reports the error.
    except (ImportError, OSError, ValueError, zipfile.BadZipFile):
        return ReadingSize(0)
    with of_file(file):
        check_size(n, p, n_stored=n_stored, in_blocks=in_blocks)
    matrix = held_bytes(n, p, n_stored)
    whole = COPIES * matrix + 2 * stored + names
    blocks = BLOCK_BYTES + LINE_BYTES * (n + p) + 2 * chunk + names if in_blocks else whole
    return ReadingSize(min(whole, blocks, MOST_BYTES), PASSES * whole * in_blocks, matrix, n)


def _text_bytes(file: Path) -> int | None:
    """Return the largest size of a table as text; None for a file that declares its size."""
    name, text = file.name.lower(), find_mtx(file) or file
    if name.endswith(_WORKBOOKS):
        with zipfile.ZipFile(file) as archive:
            return sum(member.file_size for member in archive.infolist())
    if name.endswith((".parquet", ".pq")):
        import pyarrow.parquet

        about = pyarrow.parquet.read_metadata(file)
        return CELL_BYTES * about.num_rows * about.num_columns
    if text == file and (file.is_dir() or name.endswith(_STORED)):
        return None
    return (MOST_INFLATION if text.suffix.lower() == ".gz" else 1) * text.stat().st_size
