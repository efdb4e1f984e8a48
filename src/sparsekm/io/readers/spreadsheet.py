"""Reading a matrix from a sheet of an Excel workbook, or from a Parquet file, as text is read."""

from __future__ import annotations

import csv
import datetime
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from sparsekm.io.input_error import InputError
from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix, explain_damage, shown
from sparsekm.io.readers.table_head import TableSettings
from sparsekm.io.readers.text_reader import read_text

_LOOKED_AT = 30


def read_spreadsheet(file: Path, settings: TableSettings, sheet: str | None = None) -> RawMatrix:
    """Read and check a sheet, by default the first that holds a table of numbers."""
    openpyxl = _need(file, "openpyxl", "Excel workbooks", "excel")

    def write(text: Path) -> list[str]:
        with explain_damage(file, ".xlsx file", "Excel. Save it again, or as 'CSV UTF-8'."):
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            with closing(book):
                return _write_sheet(file, book, sheet, text)

    return _read_as_text(file, settings, write)


def read_parquet(file: Path, settings: TableSettings, layer: str | None = None) -> RawMatrix:
    """Read and check a table of Parquet, whose index holds the names of the lines."""
    _need(file, "pyarrow", "Parquet files", "parquet")

    def write(text: Path) -> list[str]:
        import pandas as pd

        with explain_damage(file, ".parquet file", "pandas.DataFrame.to_parquet."):
            frame = pd.read_parquet(file)
            is_plain = isinstance(frame.index, pd.RangeIndex)
            # The name of the edge says that it is one.
            frame.to_csv(text, index=not is_plain)
        return []

    return _read_as_text(file, settings, write)


def parquet_metadata(file: Path) -> Any:
    """Return what a Parquet file declares of itself."""
    import pyarrow.parquet

    return pyarrow.parquet.read_metadata(file)


def _need(file: Path, package: str, what: str, extra: str) -> Any:
    try:
        return __import__(package)
    except ModuleNotFoundError as error:
        raise MatrixError(
            f"{file}: reading {what} requires {package}. Install it: pip install "
            f'"sparsekm[{extra}]".'
        ) from error


def _read_as_text(
    file: Path, settings: TableSettings, write: Callable[[Path], list[str]]
) -> RawMatrix:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "sheet.csv"
        remarks = write(text)
        try:
            raw = read_text(text, settings)
        except InputError as error:
            raise MatrixError(str(error).replace(str(text), str(file))) from error
    raw.remarks[:0] = remarks
    return raw


def _write_sheet(file: Path, book: Any, sheet: str | None, text: Path) -> list[str]:
    """Write a sheet as text, and return a remark on which one if there are several."""
    pages = {page.title: page for page in book.worksheets}
    for page in pages.values():
        # Some programs declare fewer cells than they write.
        page.reset_dimensions()
    if sheet is not None and sheet not in pages:
        raise MatrixError(f"{file}: layer={sheet!r} should be one of its sheets {shown([*pages])}.")
    chosen = sheet or next(
        (name for name, page in pages.items() if _is_table(page)), next(iter(pages))
    )
    with text.open("w", encoding="utf-8", newline="") as opened:
        writer, width = csv.writer(opened), 0
        for row in pages[chosen].iter_rows(values_only=True):
            cells = [_as_text(value) for value in row]
            # Rows may have empty cells after their last value.
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                width = max(width, len(cells))
                writer.writerow([*cells, *[""] * (width - len(cells))])
    if len(pages) == 1 or sheet is not None:
        return []
    return [
        f"reading sheet {chosen!r} of {shown([*pages])}. Set layer to the name of another one to "
        "read that."
    ]


def _is_table(page: Any) -> bool:
    """Tell whether a sheet has lines of numbers, unlike one with notes."""
    n_lines = 0
    for row in page.iter_rows(max_row=_LOOKED_AT, values_only=True):
        numbers = sum(isinstance(value, int | float) for value in row)
        n_lines += numbers > 1 or (numbers == 1 and len(row) <= 2)
    return n_lines > 2


def _as_text(value: Any) -> str:
    """Write the value of a cell like a text table."""
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        # Excel has no integers: 5460.0 may be an id.
        return str(int(value))
    return " ".join(str(value).splitlines())
