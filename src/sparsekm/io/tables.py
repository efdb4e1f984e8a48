"""The workflow's tables (CSV): a format is a list of columns, and every cell is checked.

As for HDF5 files, anything that the writer would not have written raises `DamagedFileError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd

from sparsekm.io.atomic import write_table
from sparsekm.io.hdf5_format import DamagedFileError
from sparsekm.io.input_error import reason_of

WORD, WHOLE, NUMBER, FLAG = "word", "whole", "number", "flag"
"""Kinds of columns: text; an integer; a finite number; True or False."""
IDENTIFIER = "identifier"
"""Integers or empty cells (Int64) if all cells are such, otherwise text."""
WHOLE_OR_NOTHING, NUMBER_OR_NOTHING = "whole or nothing", "number or nothing"
"""The same, or empty."""

_DIGITS = re.compile("[0-9]{0,18}")


def _whole(cell: str) -> np.int64:
    # Tables made of floats write 2 as 2.0.
    return np.int64(int(cell.removesuffix(".0")))


def _finite(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(cell)
    return value


# By kind: how a cell is read, what it should be, and the dtype of the column.
_KINDS = {
    WHOLE: (_whole, "a whole number", np.int64),
    NUMBER: (_finite, "a finite number", np.float64),
    FLAG: ({"True": True, "False": False}.__getitem__, "True or False", bool),
    WHOLE_OR_NOTHING: (_whole, "a whole number or nothing", object),
    NUMBER_OR_NOTHING: (_finite, "a finite number or nothing", np.float64),
}


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
    read, wanted, dtype = _KINDS[kind]
    values = np.empty(len(cells), dtype=dtype)
    for row, cell in enumerate(cells):
        if not cell and kind in (WHOLE_OR_NOTHING, NUMBER_OR_NOTHING):
            values[row] = None if kind == WHOLE_OR_NOTHING else np.nan
            continue
        try:
            values[row] = read(cell)
        except (ValueError, KeyError, OverflowError):
            raise DamagedFileError(
                file, f"line {row + 2}, {name}={cell[:40]!r} should be {wanted}", rule
            ) from None
    return pd.array(values, dtype="Int64") if kind == WHOLE_OR_NOTHING else values


def columns(kind: str, names: str) -> dict[str, str]:
    """Give columns, their names separated by spaces, a kind."""
    return dict.fromkeys(names.split(), kind)


@dataclass(frozen=True)
class TableFormat:
    """A kind of table; if it has a column ``chosen``, exactly one row is chosen."""

    rule: str
    # The required columns, each with a kind of `sparsekm.io.tables`.
    columns: Mapping[str, str]
    # Kinds of further columns, by the beginning of their names. If given, columns may be in any
    # order; otherwise a table has exactly `columns`, in their order.
    others: Mapping[str, str] | None = None

    def write(self, file: str | Path, table: pd.DataFrame, chosen: int | None = None) -> None:
        """Write the table atomically; `chosen` is the position of the row to mark."""
        if chosen is not None:
            table = table.assign(chosen=np.arange(len(table)) == chosen)
        write_table(table if self.others else table[list(self.columns)], file)

    def read(self, file: str | Path) -> pd.DataFrame:
        """Read the table and check every cell: str, int64, float64 (NaN if empty) and bool."""
        table = read_words(file, self.rule)
        found = list(table.columns)
        if self.others:
            require_columns(file, table, self.columns, self.rule)
        elif found != list(self.columns):
            problem = f"columns={found} should be {list(self.columns)}"
            raise DamagedFileError(file, problem, self.rule)
        kinds = {name: self._kind_of(file, name) for name in found}
        cells = {
            name: _convert(file, name, table[name].tolist(), kinds[name], self.rule)
            for name in found
        }
        table = pd.DataFrame(cells, index=table.index)
        if "chosen" in self.columns and table["chosen"].sum() != 1:
            raise DamagedFileError(file, "there should be one chosen row", self.rule)
        return table

    def _kind_of(self, file: str | Path, column: str) -> str:
        if column in self.columns:
            return self.columns[column]
        for start, kind in self.others.items():
            if column.startswith(start):
                return kind
        raise DamagedFileError(
            file, f"column {column!r} should begin with one of {[*self.others]}", self.rule
        )

    def write_row(self, file: str | Path, values: Mapping[str, object]) -> None:
        """Write a table of one row; unknown values are None."""
        if set(values) != set(self.columns):
            raise ValueError(f"columns={sorted(values)} should be exactly {list(self.columns)}.")
        self.write(file, pd.DataFrame([values]))

    def read_row(self, file: str | Path) -> pd.Series:
        """Read a table of one row; unknown values are NaN."""
        table = self.read(file)
        if len(table) != 1:
            raise DamagedFileError(file, f"rows={len(table)} should be 1", self.rule)
        return table.iloc[0]


# The file ``scores.csv``: one row with the scores of a tuned fit; empty where truth is unknown.
SCORES = TableFormat(
    "score_clustering",
    {
        **columns(WORD, "dataset method"),
        **columns(NUMBER_OR_NOTHING, "n_samples n_features n_clusters sparsity"),
        **columns(NUMBER_OR_NOTHING, "n_nonzero_weights objective"),
        # These require a known truth.
        **columns(NUMBER_OR_NOTHING, "cer cer_chance ari ami ecr pzw pnw"),
    },
)


# The file ``seeds.csv``: the scores of the fit that is shown, then of those from other seeds.
# Seed 0 is that of the tuning.
SEEDS = TableFormat(
    "refit_other_seeds",
    {
        **columns(WHOLE, "seed"),
        **columns(NUMBER, "objective"),
        # Features that the fit shown keeps too, and the adjusted Rand index with its clusters.
        **columns(WHOLE, "n_nonzero_weights n_kept_too"),
        **columns(NUMBER, "agreement"),
        # These require known classes.
        **columns(NUMBER_OR_NOTHING, "cer cer_chance ari ami"),
    },
)


# The file ``gap.csv``: the gap curve of a path, ascending in sparsity, and the chosen row.
GAP = TableFormat(
    "tune_sparsity",
    {
        "sparsity": NUMBER,
        "n_selected": WHOLE,
        **columns(NUMBER, "objective log_objective reference_mean reference_sd gap se"),
        "chosen": FLAG,
    },
)


# The file ``cluster_counts.csv``: numbers of clusters tried, how many groups among them stand
# apart, the group of each cluster, and the row of the answer.
COUNTS = TableFormat(
    "compare_cluster_counts",
    {
        **columns(WHOLE, "n_clusters n_groups"),
        "reproducibility": NUMBER,
        "groups": WORD,
        "chosen": FLAG,
    },
)


# The file ``separation.csv``: neighbouring clusters, and whether there is a valley between them.
SEPARATION = TableFormat(
    "find_consensus",
    {
        **columns(WHOLE, "cluster_a cluster_b"),
        **columns(NUMBER, "p p_adjusted"),
        **columns(WHOLE, "n_middle n_a n_b"),
    },
)


# The file ``consensus.csv``: the kinds of start whose fits of folds the consensus is of.
STARTS = TableFormat(
    "find_consensus",
    {"start": WORD, "n_fits": WHOLE, **columns(NUMBER, "reproducibility agreement")},
)


# The file ``clusters.csv``: every sample's known class and its cluster by each method. Columns:
# ``sample``, ``label`` (empty if unknown), and ``cluster_m`` for each method m, counted from 0
# as in ``tuned.h5``, -1 where a sample was set aside; if m resamples, it is followed by
# ``reproducibility_m``, the share of the fits of folds that agree (empty if the tuning did not draw
# the sample). Rows are in the order of the matrix.
CLUSTERS = TableFormat(
    "export_clusters",
    {"sample": WORD, "label": WORD},
    others={"cluster_": WHOLE, "reproducibility_": NUMBER_OR_NOTHING},
)


# The file ``choices.csv``: the agreement of the answer with what another choice finds. Each row is
# a choice, its value, the samples and features that were clustered, and the adjusted Rand index.
CHOICES = TableFormat(
    "compare_choices",
    {
        **columns(WORD, "choice value"),
        **columns(WHOLE, "n_samples n_features n_clusters"),
        "agreement": NUMBER,
    },
)
