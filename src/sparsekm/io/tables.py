"""The workflow's tables (CSV), declared in ``tables.toml``: every cell is checked.

As for HDF5 files, anything that the writer would not have written raises `DamagedFileError`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sparsekm.io.atomic import write_table
from sparsekm.io.hdf5_format import DamageError, checked, require
from sparsekm.io.input_error import reason_of

# Tables made of floats write 2 as 2.0.
_INTEGER = r"-?[0-9]{1,18}(?:\.0)?"
_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
# For each kind: a pattern of its cells, its description, and the dtype of the column. "word" is any
# text. "identifier" is an integer or nothing (Int64) if all cells are, and otherwise text.
_KINDS = {
    "whole": (_INTEGER, "a whole number", np.int64),
    "number": (_NUMBER, "a finite number", np.float64),
    "flag": ("True|False", "True or False", bool),
    "whole?": (f"(?:{_INTEGER})?", "a whole number or nothing", "Int64"),
    "number?": (f"(?:{_NUMBER})?", "a finite number or nothing", np.float64),
}


def _read_words(file: str | Path) -> pd.DataFrame:
    """Read a table as text: cells such as "NA" or "1" are not converted.

    The file must be a UTF-8 table in which each line has as many cells as the header, and the
    column names must differ.
    """
    cells = _parse(file, header=None, dtype=str, na_filter=False)
    header, rows = cells.iloc[0].tolist(), cells.iloc[1:]
    # pandas pads lines that are too short, even with na_filter=False.
    short = rows.isna().any(axis=1)
    if short.any():
        raise DamageError(f"line {int(short.argmax()) + 2} should have {len(header)} cells")
    require(len(set(header)) == len(header), f"columns={header} should differ")
    return rows.set_axis([str(name) for name in header], axis=1).reset_index(drop=True)


def infer_table(file: str | Path, rule: str, columns: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table whose columns depend on the run; numbers are read to the last bit."""
    with checked(file, rule):
        table = _parse(file, float_precision="round_trip")
        _require_columns(table, columns)
    return table


def _require_columns(table: pd.DataFrame, columns: Iterable[str]) -> None:
    absent = [name for name in columns if name not in table.columns]
    require(not absent, f"columns={list(table.columns)} should include {absent}")


def _parse(file: str | Path, **options: Any) -> pd.DataFrame:
    body = Path(file).read_bytes()
    require(b"\0" not in body, f"byte {body.find(0)} is NUL; the file is not text")
    try:
        return pd.read_csv(BytesIO(body), encoding="utf-8", **options)
    except Exception as error:
        raise DamageError(f"not a table ({reason_of(error)})") from error


def _convert(cells: pd.Series, kind: str) -> pd.Series:
    """Convert a column of cells to its kind; an error names the wrong cell and its line."""
    if kind == "identifier":
        kind = "whole?" if cells.str.fullmatch("[0-9]{0,18}").all() else "word"
    if kind == "word":
        return cells
    pattern, wanted, dtype = _KINDS[kind]
    is_right = cells.str.fullmatch(pattern)
    if dtype is np.float64:
        found = cells.where(is_right & (cells != ""), "nan").astype(np.float64)
        is_right &= ~np.isinf(found)
    if not is_right.all():
        row = int(np.argmin(is_right))
        cell = f"line {row + 2}, {cells.name}={cells.iloc[row][:40]!r}"
        raise DamageError(f"{cell} should be {wanted}")
    if dtype is bool:
        return cells == "True"
    if dtype is not np.float64:
        found = cells.str.removesuffix(".0").replace("", None).astype(dtype)
    return found


def _read_kinds(lines: str) -> dict[str, str]:
    """Return the kind of each name, in order, from lines of a kind and names."""
    rows = map(str.split, lines.strip().splitlines())
    return {name.removesuffix("*"): kind for kind, *names in rows for name in names}


class TableFormat:
    """A kind of table, which `rule` writes; with a column ``chosen``, exactly one row is chosen.

    `columns` are lines of a kind and the names of the columns of this kind. A table has exactly
    these columns, in this order, unless there are `others`. These are lines of a kind and the
    prefixes of further columns, in any order.
    """

    def __init__(self, rule: str, columns: str, others: str = "") -> None:
        self.rule, self.columns, self.others = rule, _read_kinds(columns), _read_kinds(others)

    def write(self, file: str | Path, table: pd.DataFrame, chosen: int | None = None) -> None:
        """Write the table atomically; `chosen` is the position of the row to mark."""
        if chosen is not None:
            table = table.assign(chosen=np.arange(len(table)) == chosen)
        write_table(table if self.others else table[list(self.columns)], file)

    def read(self, file: str | Path) -> pd.DataFrame:
        """Read the table and check every cell: str, int64, float64 (NaN if empty) and bool."""
        with checked(file, self.rule):
            return self._read(file)

    def _read(self, file: str | Path) -> pd.DataFrame:
        table = _read_words(file)
        found, kinds = list(table.columns), dict(self.columns)
        if self.others:
            _require_columns(table, kinds)
        else:
            require(found == list(kinds), f"columns={found} should be {list(kinds)}")
        for name in found:
            starts = [*filter(name.startswith, self.others)]
            is_known = name in kinds or starts
            require(is_known, f"column {name!r} should begin with one of {[*self.others]}")
            kinds.setdefault(name, self.others[starts[0]] if starts else "")
        cells = {name: _convert(table[name], kinds[name]) for name in found}
        table = pd.DataFrame(cells, index=table.index)
        is_chosen = "chosen" not in self.columns or table["chosen"].sum() == 1
        require(is_chosen, "there should be one chosen row")
        return table

    def write_row(self, file: str | Path, values: Mapping[str, object]) -> None:
        """Write a table of one row; unknown values are None."""
        if set(values) != set(self.columns):
            raise ValueError(f"columns={sorted(values)} should be exactly {list(self.columns)}.")
        self.write(file, pd.DataFrame([values]))

    def read_row(self, file: str | Path) -> pd.Series:
        """Read a table of one row; unknown values are NaN."""
        with checked(file, self.rule):
            table = self._read(file)
            require(len(table) == 1, f"rows={len(table)} should be 1")
        return table.iloc[0]


_DECLARED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TABLES = {name: TableFormat(**about) for name, about in _DECLARED.items()}
"""The formats by the names of their files."""

SCORES, SEEDS, GAP = TABLES["scores.csv"], TABLES["seeds.csv"], TABLES["gap.csv"]
COUNTS, SEPARATION = TABLES["cluster_counts.csv"], TABLES["separation.csv"]
CANDIDATES, CHOICES, CLUSTERS, DIVISIONS = (
    TABLES[f"{name}.csv"] for name in ("candidates", "choices", "clusters", "divisions")
)
