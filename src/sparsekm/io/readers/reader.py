"""Reading a user's matrix in any supported format; workbooks and Parquet files as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from sparsekm.io.readers.messages import (
    KNOWN_FORMATS,
    MatrixError,
    explain_damage,
    need,
    refusal,
    refuse_format,
    say,
)
from sparsekm.io.readers.raw_matrix import RawMatrix, Settings
from sparsekm.io.readers.stored_matrix import find_mtx, read_stored, read_tenx_folder
from sparsekm.io.readers.table_reader import read_text

SUFFIXES = (
    *(".npz", ".h5ad", ".h5", ".hdf5", ".zarr", ".xlsx", ".xlsm", ".parquet", ".mtx"),
    *(".csv", ".tsv", ".txt", ".tab", ".data", ".gct", ".gz"),
)
"""File name extensions that are known; a file with another one is read as text."""

_STORED = (".npz", ".h5ad", ".h5", ".hdf5", ".zarr")
_OF_TABLES = ("samples", "ignore", "keep", "duplicates", "decimal")


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
    settings = Settings(labels, layer, groups, **others)
    file = Path(file)
    name = file.name.lower()
    for endings in KNOWN_FORMATS:
        ending = max(filter(name.endswith, endings.split()), key=len, default="")
        if ending[:1] == ".":
            refuse_format(file, endings, ending)
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file.")
    mtx = find_mtx(file)
    is_store = file.is_dir() and (name.endswith(".zarr") or (file / ".zgroup").exists())
    if file.is_dir() and mtx is None and not is_store:
        raise MatrixError(say("other_folder", path=str(file)))
    if name.endswith(".zarr") and not is_store:
        raise MatrixError(say("file_of_zarr", path=str(file)))
    if mtx is not None or is_store or name.endswith(_STORED):
        for key in _OF_TABLES:
            value = getattr(settings, key)
            if value and value != "auto":
                value = [*value] if isinstance(value, tuple) else value
                raise refusal("other_setting", file, key=key, kinds="tables", value=value)
        return read_stored(file, settings) if mtx is None else read_tenx_folder(mtx, settings)
    if name.endswith((".xlsx", ".xlsm")):
        return _read_workbook(file, settings)
    if layer is not None:
        raise refusal("needless_layer", file, layer=layer)
    return (_read_parquet if name.endswith((".parquet", ".pq")) else read_text)(file, settings)


def _read_workbook(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a sheet, by default the first that holds a table of numbers."""
    need(file, "openpyxl", "Excel workbooks", "excel")
    sheet, cure = settings.layer, "Excel. Save it again, or as 'CSV UTF-8'."
    with (
        explain_damage(file, ".xlsx file", cure),
        pd.ExcelFile(file, engine="openpyxl") as book,
    ):
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise refusal("no_sheet", file, sheet=sheet, names=names)
        options = {"header": None, "dtype": object, "na_filter": False}
        tables = (one for one in names if _is_table(book.parse(one, nrows=30, **options)))
        chosen = sheet or next(tables, names[0])
        page = book.parse(chosen, **options).map(str)
    text = page.replace({r"[\r\n]+": " ", r" 00:00:00$": ""}, regex=True)
    raw = read_text(file, settings, text.to_csv(header=False, index=False))
    if len(names) > 1 and sheet is None:
        raw.remarks.insert(0, say("sheet", sheet=chosen, names=names))
    return raw


def _read_parquet(file: Path, settings: Settings) -> RawMatrix:
    """Read and check a table of Parquet, whose index holds the names of the lines."""
    need(file, "pyarrow", "Parquet files", "parquet")
    with explain_damage(file, ".parquet file", "pandas.DataFrame.to_parquet."):
        frame = pd.read_parquet(file)
        text = frame.to_csv(index=not isinstance(frame.index, pd.RangeIndex))
    return read_text(file, settings, text)


def _is_table(page: pd.DataFrame) -> bool:
    """Tell whether a sheet has lines of numbers, unlike one with notes."""
    numbers = page.map(lambda value: isinstance(value, int | float)).sum(axis=1)
    return int((numbers > (page.shape[1] > 2)).sum()) > 2
