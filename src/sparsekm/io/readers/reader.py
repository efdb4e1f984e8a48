"""Reading a user's matrix in any supported format."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from sparsekm.io.readers.anndata_reader import read_anndata
from sparsekm.io.readers.array_reader import read_h5, read_npz
from sparsekm.io.readers.raw_matrix import MatrixError, RawMatrix
from sparsekm.io.readers.spreadsheet import read_parquet, read_spreadsheet
from sparsekm.io.readers.table_head import TableSettings
from sparsekm.io.readers.tenx_reader import find_mtx, read_tenx_folder
from sparsekm.io.readers.text_reader import read_text

SUFFIXES = (
    *(".npz", ".h5ad", ".h5", ".hdf5", ".zarr", ".xlsx", ".xlsm", ".parquet", ".mtx"),
    *(".csv", ".tsv", ".txt", ".tab", ".data", ".gct", ".gz"),
)
"""File name extensions that are known; a file with another one is read as text."""

_STORED = (".npz", ".h5ad", ".h5", ".hdf5", ".zarr", ".mtx", ".mtx.gz")
_OF_TABLES = ("samples", "ignore", "keep", "decimal", "duplicates")
_R = 'Rscript -e \'x <- readRDS("{file}"); write.csv(as.matrix(x), "{stem}.csv")\''
_PYTHON = "python -c 'import {package}; {package}.{call}.write_h5ad(\"{stem}.h5ad\")'"
_CONVERTED = {
    (".rds",): _R,
    (".rda", ".rdata"): 'Rscript -e \'x <- get(load("{file}")); write.csv(as.matrix(x), '
    '"{stem}.csv")\'',
    (".gctx",): "pip install cmapPy; gctx2gct -f {path}",
    (".loom",): _PYTHON.replace("{package}.{call}", 'anndata.io.read_loom("{file}")').replace(
        "{package}", "anndata.io"
    ),
    (".xls", ".xlsb", ".ods", ".numbers"): "soffice --headless --convert-to xlsx {path}",
    (".zip",): "unzip {path}",
    (".tar", ".tar.gz", ".tgz"): "tar -xf {path}",
    (".7z", ".rar"): "7z x {path}",
    (".bz2",): "bunzip2 -k {path}",
    (".xz",): "xz -dk {path}",
    (".zst",): "zstd -d {path}",
    (".feather", ".arrow"): "python -c 'import pandas; "
    'pandas.read_feather("{file}").to_parquet("{stem}.parquet")\'',
    (".sav",): 'python -c \'import pandas; pandas.read_spss("{file}").to_csv("{stem}.csv")\'',
    (".dta",): 'python -c \'import pandas; pandas.read_stata("{file}").to_csv("{stem}.csv")\'',
    (".sas7bdat", ".xpt"): "python -c 'import pandas; "
    'pandas.read_sas("{file}").to_csv("{stem}.csv")\'',
    (".npy",): 'python -c \'import numpy; numpy.savez("{stem}.npz", X=numpy.load("{file}"))\'',
    (".mat",): 'python -c \'import scipy.io, numpy; numpy.savez("{stem}.npz", '
    'X=scipy.io.loadmat("{file}")["X"])\'',
    (".arff",): "python -c 'import scipy.io.arff, pandas; "
    'pandas.DataFrame(scipy.io.arff.loadarff("{file}")[0]).to_csv("{stem}.csv", index=False)\'',
    (".biom",): "biom convert -i {path} -o {stem}.tsv --to-tsv",
    (".h5seurat",): 'Rscript -e \'SeuratDisk::Convert("{file}", dest = "h5ad")\'',
    (".json", ".jsonl"): "python -c 'import pandas; "
    'pandas.read_json("{file}").to_csv("{stem}.csv")\'',
}
"""Formats that are not read, and the command that writes one that is."""


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
    annotate: Sequence[object] = (),
) -> RawMatrix:
    """Read and check a matrix of samples x features; values that are missing are NaN.

    Settings are those of `sparsekm.command.table_settings`. A `MatrixError` names the file, the
    value, the rule and the setting that helps.
    """
    file = Path(file)
    name = file.name.lower()
    for endings, command in _CONVERTED.items():
        if name.endswith(endings):
            stem = file.with_name(file.name[: -len(max(filter(name.endswith, endings), key=len))])
            shown = command.replace("{file}", str(file)).replace("{path}", shlex.quote(str(file)))
            raise MatrixError(
                f"{file}: {max(filter(name.endswith, endings), key=len)} is not read. Convert it: "
                f"{shown.replace('{stem}', str(stem))}, and give what that writes."
            )
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
        given = {
            "samples": samples, "ignore": ignore, "keep": keep, "duplicates": duplicates,
            "decimal": None if decimal == "auto" else decimal,
        }  # fmt: skip
        for key, value in given.items():
            if value:
                raise MatrixError(
                    f"{file}: {key} applies only to tables. Leave out {key}: {value}."
                )
    names = tuple(map(str, annotate or ()))
    if names and not (name.endswith(".h5ad") or is_store) and name.endswith(_STORED):
        raise MatrixError(
            f"{file}: annotate={list(names)} should be left out: only tables and AnnData files "
            "have such columns."
        )
    if mtx is not None:
        if labels or groups or layer:
            raise MatrixError(
                f"{file}: labels, groups and layer should be left out: 10x folders have none."
            )
        return read_tenx_folder(mtx, missing)
    if is_store or name.endswith(".h5ad"):
        return read_anndata(file, labels, layer, groups, transpose, missing, names)
    if name.endswith((".h5", ".hdf5")):
        return read_h5(file, labels, layer, groups, transpose=transpose, missing_values=missing)
    settings = TableSettings(
        labels, samples, groups, tuple(map(str, ignore)), tuple(map(str, keep)), transpose,
        decimal, missing, duplicates, names,
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
    if name.endswith(".npz"):
        return read_npz(file, labels, groups, transpose=transpose, missing_values=missing)
    return read_text(file, settings)
