"""Reading a matrix from a sheet of an Excel workbook (``.xlsx``)."""

from __future__ import annotations

import csv
import datetime
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from sparsekm.io.input_error import InputError
from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix, explain_damage, listed
from sparsekm.io.readers.text_reader import read_text


def read_spreadsheet(
    file: str | Path, labels: str | None = None, sheet: str | None = None, **settings: Any
) -> RawMatrix:
    """Read and check a sheet, by default the first, as `read_text` reads a text table."""
    file = Path(file)
    try:
        import openpyxl
    except ModuleNotFoundError as error:
        raise MatrixError(
            f"{file}: reading Excel workbooks requires openpyxl. Install it: pip install "
            '"sparsekm[excel]".'
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "sheet.csv"
        cure = "Excel. Save it again, or as 'CSV UTF-8'."
        with explain_damage(file, ".xlsx file", cure):
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            with closing(book):
                remarks = _write_text(file, book, sheet, text)
        try:
            raw = read_text(text, labels, **settings)
        except InputError as error:
            raise MatrixError(str(error).replace(str(text), str(file))) from error
    raw.remarks[:0] = remarks
    return raw


def _write_text(file: Path, book: Any, sheet: str | None, text: Path) -> list[str]:
    """Write a sheet as text, and return a remark on which one if there are several."""
    names = [page.title for page in book.worksheets]
    if sheet is not None and sheet not in names:
        raise MatrixError(f"{file}: layer={sheet!r} should be one of its sheets {listed(names)}.")
    chosen = sheet or names[0]
    with text.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        width = 0
        for row in book[chosen].iter_rows(values_only=True):
            cells = [_as_text(value) for value in row]
            # Rows may have empty cells after their last value.
            n_cells = max((at for at, cell in enumerate(cells, 1) if cell), default=0)
            width = width or n_cells
            if n_cells:
                cells += [""] * (width - len(cells))
                writer.writerow(cells[: max(width, n_cells)])
    if sheet is None and len(names) > 1:
        return [f"reading sheet {chosen!r} of {listed(names)}. Set layer to read another sheet."]
    return []


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        # Excel has no integers: 5460.0 may be an id.
        return str(int(value))
    return str(value)
