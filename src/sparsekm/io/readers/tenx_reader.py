"""Reading counts of 10x Genomics: a folder of ``matrix.mtx``, or an ``.h5`` of either version."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.io import mmread
from scipy.sparse import csr_array

from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.named import Stored, assemble
from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    RawMatrix,
    check_size,
    explain_damage,
    repeated_names,
)
from sparsekm.io.readers.sparse_rows import SparseRows

_FEATURES = ("features.tsv.gz", "features.tsv", "genes.tsv.gz", "genes.tsv")
_BARCODES = ("barcodes.tsv.gz", "barcodes.tsv")


def find_mtx(path: Path) -> Path | None:
    """Return the matrix of a folder of 10x, or the file itself if it is one."""
    if path.name.lower().endswith((".mtx", ".mtx.gz")):
        return path
    if not path.is_dir():
        return None
    found = sorted(file for file in path.iterdir() if file.name.endswith((".mtx", ".mtx.gz")))
    return found[0] if len(found) == 1 else None


def read_tenx_folder(file: Path, missing_values: tuple[object, ...] = ()) -> RawMatrix:
    """Read and check a matrix of Matrix Market, features x cells, with the names next to it."""
    prefix, mark, _ = file.name.rpartition("matrix.mtx")
    features, barcodes = (
        next(
            (
                file.with_name(prefix + name)
                for name in names
                if file.with_name(prefix + name).exists()
            ),
            None,
        )
        for names in (_FEATURES, _BARCODES)
    )
    if features is None or barcodes is None or not mark:
        raise MatrixError(
            f"{file}: there should be {prefix}matrix.mtx, {prefix}features.tsv (or genes.tsv) and "
            f"{prefix}barcodes.tsv in one folder, each perhaps with .gz."
        )
    with explain_damage(file, "matrix of 10x", "Cell Ranger."):
        about = [line.split("\t") for line in _lines(features)]
        cells = _lines(barcodes)
        with _open(file) as opened:
            sizes = next(line for line in opened if not line.startswith(b"%")).split()
            n_rows, n_columns, n_stored = map(int, sizes)
        if (n_rows, n_columns) != (len(about), len(cells)):
            raise MatrixError(
                f"{file}: {n_rows} x {n_columns} should be {len(about)} features x {len(cells)} "
                "barcodes, the lines of the files next to it."
            )
        check_size(file, n_columns, n_rows, n_stored)
        with _open(file) as opened:
            matrix = csr_array(mmread(opened).T)
    ids = [line[0] for line in about]
    symbols = [line[1] if len(line) > 1 else line[0] for line in about]
    types = [line[2] if len(line) > 2 else "" for line in about]
    stored = Stored(file, partial(nullcontext, matrix), cells, None)
    return _finish(stored, ids, symbols, types, missing_values)


def tenx_group(opened: h5py.File, genome: str | None) -> str | None:
    """Return the group of an HDF5 file with a matrix of 10x, or None: version 2 has genomes."""
    names = [name for name in opened if isinstance(opened.get(name), h5py.Group)]
    found = [name for name in names if {"barcodes", "indptr", "data", "shape"} <= set(opened[name])]
    if genome is not None:
        return genome if genome in found else None
    return found[0] if found else None


def read_tenx_h5(
    file: Path,
    opened: h5py.File,
    group: str,
    labels: str | None,
    groups: str | None,
    transpose: bool | str = "auto",
    missing_values: tuple[object, ...] = (),
) -> RawMatrix:
    """Read and check a matrix of cells x features, stored by cell."""
    if labels or groups:
        raise MatrixError(f"{file}: labels and groups should be left out: 10x files have none.")
    node = opened[group]
    about = node.get("features", node)
    ids = _strings(about["id" if "id" in about else "genes"])
    symbols = _strings(about["name" if "name" in about else "gene_names"])
    types = _strings(about["feature_type"]) if "feature_type" in about else [""] * len(ids)
    shape = tuple(int(length) for length in node["shape"][()])[::-1]
    cells = _strings(node["barcodes"])
    if shape != (len(cells), len(ids)) or len(symbols) != len(ids):
        raise MatrixError(
            f"{file}: shape={shape} should be ({len(cells)}, {len(ids)}), barcodes x features."
        )
    check_size(file, *shape, n_stored=int(node["data"].shape[0]), in_blocks=True)

    @contextmanager
    def matrix() -> Iterator[SparseRows]:
        with open_contained(file, "Cell Ranger") as again:
            yield SparseRows(file, again[group], shape)

    return _finish(Stored(file, matrix, cells, None), ids, symbols, types, missing_values)


def _finish(
    stored: Stored, ids: list[str], symbols: list[str], types: list[str], missing: tuple
) -> RawMatrix:
    """Name features by symbol, with the id if several share it, and keep gene expression only."""
    repeated = set(repeated_names(symbols))
    stored.columns = [
        f"{symbol}_{one}" if symbol in repeated else symbol
        for symbol, one in zip(symbols, ids, strict=True)
    ]
    if repeated:
        stored.remarks.append(
            f"{len(repeated)} symbols belong to several genes: their ids are appended."
        )
    raw = assemble(stored, False, missing)
    genes = np.flatnonzero([kind in ("", "Gene Expression") for kind in types])
    if 0 < len(genes) < len(ids):
        others = sorted({*types} - {"", "Gene Expression"})
        raw.remarks.append(f"{len(ids) - len(genes)} features are left out: {', '.join(others)}.")
        raw.X, raw.offset = raw.X.select(genes), raw.offset[genes]
        raw.features = [raw.features[at] for at in genes]
    return raw


def _strings(node: Any) -> list[str]:
    values = node[()]
    return [one.decode() if isinstance(one, bytes) else str(one) for one in values.tolist()]


def _open(file: Path) -> Any:
    return gzip.open(file) if file.name.endswith(".gz") else file.open("rb")


def _lines(file: Path) -> list[str]:
    with _open(file) as opened:
        return opened.read().decode("utf-8").splitlines()
