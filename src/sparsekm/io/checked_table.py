"""Reading the workflow's tables (CSV) with every cell checked.

As for HDF5 files, anything that the writer would not have written raises `DamagedFileError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.checked_hdf5 import DamagedFileError
from sparsekm.io.input_error import reason_of

WORD, WHOLE, NUMBER, FLAG = "word", "whole", "number", "flag"
"""Kinds of columns: text; an integer; a finite number; True or False."""
IDENTIFIER = "identifier"
"""Integers or empty cells (Int64) if all cells are such, otherwise text."""
WHOLE_OR_NOTHING, NUMBER_OR_NOTHING = "whole or nothing", "number or nothing"
"""The same, or empty."""

_SAID = {
    WHOLE: "a whole number",
    WHOLE_OR_NOTHING: "a whole number or nothing",
    NUMBER: "a finite number",
    NUMBER_OR_NOTHING: "a finite number or nothing",
    FLAG: "True or False",
}
_DIGITS = re.compile("[0-9]{0,18}")
_DTYPES = {WHOLE: np.int64, WHOLE_OR_NOTHING: object, FLAG: bool}


def read_words(file: str | Path, rule: str) -> pd.DataFrame:
    """Read a table as text: cells such as "NA" or "1" are not converted.

    The file must be a UTF-8 table in which each line has as many cells as the header, and the
    column names must differ.
    """
    body = _read_bytes(file, rule)
    try:
        cells = pd.read_csv(
            BytesIO(body), header=None, dtype=str, na_filter=False, encoding="utf-8"
        )
    except Exception as error:
        raise DamagedFileError(file, f"not a table ({reason_of(error)})", rule) from error
    header, rows = cells.iloc[0].tolist(), cells.iloc[1:]
    # pandas pads lines that are too short, even with na_filter=False.
    short = rows.isna().any(axis=1)
    if short.any():
        line = int(np.argmax(short.to_numpy())) + 2
        raise DamagedFileError(file, f"line {line} should have {len(header)} cells", rule)
    if len(set(header)) != len(header):
        raise DamagedFileError(file, f"columns={header} should differ", rule)
    return rows.set_axis([str(name) for name in header], axis=1).reset_index(drop=True)


def convert_columns(
    file: str | Path, table: pd.DataFrame, kinds: Mapping[str, str], rule: str
) -> pd.DataFrame:
    """Convert columns of text to their kinds; columns without a kind stay text."""
    converted = {
        name: _convert(file, name, table[name].tolist(), kinds.get(name, WORD), rule)
        for name in table.columns
    }
    return pd.DataFrame(converted, index=table.index)


def infer_table(file: str | Path, rule: str) -> pd.DataFrame:
    """Read a table whose columns depend on the run; numbers are read to the last bit."""
    body = _read_bytes(file, rule)
    try:
        return pd.read_csv(BytesIO(body), float_precision="round_trip", encoding="utf-8")
    except Exception as error:
        raise DamagedFileError(file, f"not a table ({reason_of(error)})", rule) from error


def require_columns(
    file: str | Path, table: pd.DataFrame, columns: Iterable[str], rule: str
) -> None:
    """Refuse a table that lacks a column."""
    absent = [name for name in columns if name not in table.columns]
    if absent:
        raise DamagedFileError(file, f"columns={list(table.columns)} should include {absent}", rule)


def _read_bytes(file: str | Path, rule: str) -> bytes:
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file; rule {rule} writes it.")
    body = file.read_bytes()
    if b"\0" in body:
        raise DamagedFileError(file, f"byte {body.index(0)} is NUL; the file is not text", rule)
    return body


def _convert(
    file: str | Path, name: str, cells: list[str], kind: str, rule: str
) -> np.ndarray | pd.api.extensions.ExtensionArray:
    if kind == IDENTIFIER:
        kind = WHOLE_OR_NOTHING if all(map(_DIGITS.fullmatch, cells)) else WORD
    if kind == WORD:
        return np.array(cells, dtype=object)
    read = {WHOLE: _whole, WHOLE_OR_NOTHING: _whole, FLAG: _flag}.get(kind, _finite)
    may_lack = kind in (WHOLE_OR_NOTHING, NUMBER_OR_NOTHING)
    values = np.empty(len(cells), dtype=_DTYPES.get(kind, np.float64))
    for row, cell in enumerate(cells):
        if may_lack and not cell:
            values[row] = None if kind == WHOLE_OR_NOTHING else np.nan
            continue
        try:
            values[row] = read(cell)
        except (ValueError, OverflowError):
            raise DamagedFileError(
                file, f"line {row + 2}, {name}={cell[:40]!r} should be {_SAID[kind]}", rule
            ) from None
    return pd.array(values, dtype="Int64") if kind == WHOLE_OR_NOTHING else values


def _whole(cell: str) -> int:
    # Tables made of floats write 2 as 2.0.
    value = int(cell.removesuffix(".0"))
    if not -(2**63) <= value < 2**63:
        raise ValueError(cell)
    return value


def _finite(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


def _flag(cell: str) -> bool:
    if cell not in ("True", "False"):
        raise ValueError(cell)
    return cell == "True"
