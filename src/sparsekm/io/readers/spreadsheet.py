"""Reading a matrix from a sheet of an Excel workbook, or from a Parquet file, as text is read."""

from __future__ import annotations

import csv
import datetime
import io
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix, explain_damage, shown
from sparsekm.io.readers.table_reader import TableSettings, read_text

_LOOKED_AT = 30


def read_spreadsheet(file: Path, settings: TableSettings, sheet: str | None = None) -> RawMatrix:
    """Read and check a sheet, by default the first that holds a table of numbers."""
    openpyxl = _need(file, "openpyxl", "Excel workbooks", "excel")
    with (
        explain_damage(file, ".xlsx file", "Excel. Save it again, or as 'CSV UTF-8'."),
        closing(openpyxl.load_workbook(file, read_only=True, data_only=True)) as book,
    ):
        pages = {page.title: page for page in book.worksheets}
        for page in pages.values():
            # Some programs declare fewer cells than they write.
            page.reset_dimensions()
        if sheet is not None and sheet not in pages:
            raise MatrixError(
                f"{file}: layer={sheet!r} should be one of its sheets {shown([*pages])}."
            )
        tables = (name for name, page in pages.items() if _is_table(page))
        chosen = sheet or next(tables, next(iter(pages)))
        text = _as_csv(pages[chosen])
    raw = read_text(file, settings, text)
    if len(pages) > 1 and sheet is None:
        raw.remarks.insert(
            0,
            f"reading sheet {chosen!r} of {shown([*pages])}. Set layer to the name of another one "
            "to read that.",
        )
    return raw


def read_parquet(file: Path, settings: TableSettings) -> RawMatrix:
    """Read and check a table of Parquet, whose index holds the names of the lines."""
    import pandas as pd

    _need(file, "pyarrow", "Parquet files", "parquet")
    with explain_damage(file, ".parquet file", "pandas.DataFrame.to_parquet."):
        frame = pd.read_parquet(file)
        text = frame.to_csv(index=not isinstance(frame.index, pd.RangeIndex))
    return read_text(file, settings, text)


def _need(file: Path, package: str, what: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise MatrixError(
            f"{file}: reading {what} requires {package}. Install it: pip install "
            f'"sparsekm[{extra}]".'
        ) from error


def _is_table(page: Any) -> bool:
    """Tell whether a sheet has lines of numbers, unlike one with notes."""
    n_lines = 0
    for row in page.iter_rows(max_row=_LOOKED_AT, values_only=True):
        numbers = sum(isinstance(value, int | float) for value in row)
        n_lines += numbers > 1 or (numbers == 1 and len(row) <= 2)
    return n_lines > 2


def _as_csv(page: Any) -> str:
    text, width = io.StringIO(), 0
    writer = csv.writer(text)
    for row in page.iter_rows(values_only=True):
        cells = [*map(_as_text, row)]
        # Rows may have empty cells after their last value.
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            width = max(width, len(cells))
            writer.writerow([*cells, *[""] * (width - len(cells))])
    return text.getvalue()


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
