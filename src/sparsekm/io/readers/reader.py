"""Reading a user's matrix in any supported format; workbooks and Parquet files as text."""

from __future__ import annotations

import csv
import datetime
import io
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from sparsekm.io.readers.raw_matrix import (
    KNOWN_FORMATS,
    MatrixError,
    RawMatrix,
    Settings,
    explain_damage,
    refuse_format,
    shown,
)
from sparsekm.io.readers.stored_matrix import read_stored
from sparsekm.io.readers.table_reader import read_text
from sparsekm.io.readers.tenx_folder import find_mtx, read_tenx_folder

SUFFIXES = (
    *(".npz", ".h5ad", ".h5", ".hdf5", ".zarr", ".xlsx", ".xlsm", ".parquet", ".mtx"),
    *(".csv", ".tsv", ".txt", ".tab", ".data", ".gct", ".gz"),
)
"""File name extensions that are known; a file with another one is read as text."""

_STORED = (".npz", ".h5ad", ".h5", ".hdf5", ".zarr")


def read_matrix(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    **others: Any,
) -> RawMatrix:
    """Read and check a matrix of samples x features; values that are missing are NaN.

    Settings are those of `sparsekm.command.table_settings`. A `MatrixError` names the file, the
    value, the rule and the setting that helps.
    """
    for key in ("ignore", "keep", "annotate"):
        others[key] = tuple(map(str, others.get(key) or ()))
    settings = Settings(labels, layer, groups, **others)
    file = Path(file)
    name = file.name.lower()
    _refuse_other_formats(file)
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file.")
    mtx = find_mtx(file)
    is_store = file.is_dir() and mtx is None
    if is_store and not name.endswith(".zarr") and not (file / ".zgroup").exists():
        raise MatrixError(
            f"path={str(file)!r} is a folder; it should be a file, a .zarr, or a folder of 10x "
            "(matrix.mtx, features.tsv, barcodes.tsv)."
        )
    if name.endswith(".zarr") and not file.is_dir():
        raise MatrixError(f"path={str(file)!r} is a file; a .zarr should be a folder.")
    if mtx is not None or is_store or name.endswith(_STORED):
        holds_annotations = is_store or name.endswith(".h5ad")
        others = () if holds_annotations else ("annotate",)
        for key in ("samples", "ignore", "keep", "duplicates", "decimal", *others):
            value = getattr(settings, key)
            if value and value != "auto":
                shown_value = list(value) if isinstance(value, tuple) else value
                kinds = "tables and AnnData files" if key == "annotate" else "tables"
                raise MatrixError(
                    f"{file}: {key} applies only to {kinds}. Leave out {key}: {shown_value}."
                )
        return read_stored(file, settings) if mtx is None else read_tenx_folder(mtx, settings)
    if name.endswith((".xlsx", ".xlsm")):
        return _read_workbook(file, settings)
    if layer is not None:
        raise MatrixError(
            f"{file}: layer={layer!r} should be left out: only .h5ad, .h5, .zarr and .xlsx have "
            "layers."
        )
    return (_read_parquet if name.endswith((".parquet", ".pq")) else read_text)(file, settings)


def _refuse_other_formats(file: Path) -> None:
    for endings in KNOWN_FORMATS:
        ending = max(filter(file.name.lower().endswith, endings.split()), key=len, default=None)
        if ending and ending[0] == ".":
            refuse_format(file, endings, ending)


_LOOKED_AT = 30


def _read_workbook(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a sheet, by default the first that holds a table of numbers."""
    sheet, openpyxl = settings.layer, _need(file, "openpyxl", "Excel workbooks", "excel")
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


def _read_parquet(file: Path, settings: Settings) -> RawMatrix:
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
