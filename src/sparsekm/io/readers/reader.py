"""Reading a user's matrix in any supported format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsekm.io.readers.anndata_reader import read_anndata
from sparsekm.io.readers.array_reader import read_h5, read_npz
from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.io.readers.spreadsheet import read_spreadsheet
from sparsekm.io.readers.text_reader import read_text

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".xlsx")
"""File name extensions of tables, whose columns can be named in settings."""

SUFFIXES = (".npz", *TABLE_SUFFIXES, ".h5ad", ".h5", ".zarr")
"""Supported file name extensions."""

_LAYERED = {".h5ad": read_anndata, ".h5": read_h5, ".zarr": read_anndata}


def read_matrix(
    file: str | Path,
    labels: str | None = None,
    layer: str | None = None,
    groups: str | None = None,
    **settings: Any,
) -> RawMatrix:
    """Read and check a matrix of samples x features; the file ends in one of `SUFFIXES`.

    `labels` is the array of an ``.npz`` or ``.h5`` that holds the known classes (by default ``y``
    or ``labels``), or the column of a table or of ``obs``; `groups` likewise says which samples
    resemble each other, such as those of one donor. `layer` is the layer of an ``.h5ad`` or
    ``.zarr``, or the array of an ``.h5``, to read instead of X, or the sheet of an ``.xlsx``. For
    the other settings, those of tables, see `sparsekm.io.readers.text_reader.read_text`.

    A `MatrixError` names the file, the value and the rule.
    """
    file = Path(file)
    suffix = next((end for end in SUFFIXES if file.name.lower().endswith(end)), None)
    if suffix is None:
        raise MatrixError(f"path={str(file)!r} should end in one of {', '.join(SUFFIXES)}.")
    if not file.exists():
        raise FileNotFoundError(f"{file}: no such file.")
    if file.is_dir() != (suffix == ".zarr"):
        found, needed = ("folder", "file") if file.is_dir() else ("file", "folder")
        raise MatrixError(f"path={str(file)!r} is a {found}; a {suffix} should be a {needed}.")
    if suffix not in TABLE_SUFFIXES:
        _refuse_settings(file, settings)
    if suffix in _LAYERED:
        return _LAYERED[suffix](file, labels, layer, groups)
    if suffix == ".xlsx":
        return read_spreadsheet(file, labels, layer, groups=groups, **settings)
    if layer is not None:
        raise MatrixError(
            f"{file}: layer={layer!r} should be left out: only {', '.join(_LAYERED)} and .xlsx "
            "have layers."
        )
    if suffix == ".npz":
        return read_npz(file, labels, groups)
    return read_text(file, labels, groups=groups, **settings)


def _refuse_settings(file: Path, settings: dict[str, object]) -> None:
    usual = {"samples": None, "ignore": (), "transpose": "auto", "decimal": "auto"}
    given = [name for name, value in settings.items() if (value or usual[name]) != usual[name]]
    if given:
        raise MatrixError(
            f"{file}: {given[0]} applies only to tables ({', '.join(TABLE_SUFFIXES)}). Leave out "
            f"{given[0]}: {settings[given[0]]}."
        )
