"""Reading a user's matrix in any supported format."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.io.readers.spreadsheet import read_parquet, read_spreadsheet
from sparsekm.io.readers.stored_matrix import StoredSettings, read_stored
from sparsekm.io.readers.table_reader import TableSettings, read_text
from sparsekm.io.readers.tenx_folder import find_mtx, read_tenx_folder

SUFFIXES = (
    *(".npz", ".h5ad", ".h5", ".hdf5", ".zarr", ".xlsx", ".xlsm", ".parquet", ".mtx"),
    *(".csv", ".tsv", ".txt", ".tab", ".data", ".gct", ".gz"),
)
"""File name extensions that are known; a file with another one is read as text."""

_STORED = (".npz", ".h5ad", ".h5", ".hdf5", ".zarr")
_CONVERTED = json.loads(Path(__file__).with_name("known_formats.json").read_text(encoding="utf-8"))
"""Endings of formats that are not read, and the command that writes one that is."""


def read_matrix(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    *,
    samples: str | None = None,
    ignore: Sequence[object] = (),
    keep: Sequence[object] = (),
    transpose: bool | str = "auto",
    decimal: str = "auto",
    missing_values: Sequence[object] = (),
    duplicates: str | None = None,
) -> RawMatrix:
    """Read and check a matrix of samples x features; values that are missing are NaN.

    Settings are those of `sparsekm.command.table_settings`. A `MatrixError` names the file, the
    value, the rule and the setting that helps.
    """
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
    missing = tuple(missing_values or ())
    if mtx is not None or is_store or name.endswith(_STORED):
        given = {"samples": samples, "ignore": ignore, "keep": keep, "duplicates": duplicates}
        for key, value in {**given, "decimal": decimal.replace("auto", "")}.items():
            if value:
                raise MatrixError(
                    f"{file}: {key} applies only to tables. Leave out {key}: {value}."
                )
        if mtx is None:
            return read_stored(file, StoredSettings(labels, layer, groups, transpose, missing))
        if labels or groups or layer:
            raise MatrixError(
                f"{file}: labels, groups and layer should be left out: 10x folders have none."
            )
        return read_tenx_folder(mtx, missing)
    settings = TableSettings(
        labels, samples, groups, tuple(map(str, ignore)), tuple(map(str, keep)), transpose,
        decimal, missing, duplicates,
    )  # fmt: skip
    if name.endswith((".xlsx", ".xlsm")):
        return read_spreadsheet(file, settings, layer)
    if layer is not None:
        raise MatrixError(
            f"{file}: layer={layer!r} should be left out: only .h5ad, .h5, .zarr and .xlsx have "
            "layers."
        )
    if name.endswith((".parquet", ".pq")):
        return read_parquet(file, settings)
    return read_text(file, settings)


def _refuse_other_formats(file: Path) -> None:
    for endings, command in _CONVERTED.items():
        ending = max(filter(file.name.lower().endswith, endings.split()), key=len, default=None)
        if ending:
            stem = str(file.with_name(file.name[: -len(ending)]))
            for mark, value in (("file", str(file)), ("path", shlex.quote(str(file)))):
                command = command.replace(f"{{{mark}}}", value)
            raise MatrixError(
                f"{file}: {ending} is not read. Convert it: {command.replace('{stem}', stem)}, and "
                "give what that writes."
            )
