"""The memory that reading a matrix may take, estimated from what its file declares."""

from __future__ import annotations

import math
import zipfile
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from sparsekm.io.readers.anndata_reader import count_stored, is_read_in_blocks
from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.raw_matrix import check_size, held_bytes
from sparsekm.io.readers.spreadsheet import parquet_metadata
from sparsekm.io.readers.tenx_reader import find_mtx, tenx_group

COPIES = 3
"""Float32 matrices in memory at the same time while reading and normalising one as a whole."""
BLOCK_BYTES = 2**29
"""Memory of the blocks of a matrix that is read in blocks of rows."""
LINE_BYTES = 256
"""Memory per sample and per feature of such a matrix: sums, labels and starts of rows."""
PASSES = 3
"""How often such a matrix is read, for one that is read as a whole."""
OBJECT_BYTES = 32
"""Memory per byte of names, labels and text columns, which become Python objects."""
TEXT_BYTES = 16
"""Memory per byte of a text table, for the shortest cells and the sample names."""
MOST_INFLATION = 1032
"""Largest compression ratio of gzip."""
CELL_BYTES = 12
"""Text of a cell of a Parquet file."""
MOST_BYTES = 2**36
_DECLARING = (".h5ad", ".h5", ".hdf5", ".npz", ".zarr")


class ReadingSize(NamedTuple):
    """What reading a matrix may take beyond what a small one takes."""

    memory: int  # bytes
    processed: int = 0  # bytes that take processor time, if more than those held


@dataclass(frozen=True)
class _Declared:
    shape: tuple[int, int]
    stored: int  # bytes of the matrix in the file's type
    others: int = 0  # all other bytes
    n_stored: int | None = None  # values of a sparse matrix
    in_blocks: bool = False  # whether it is read in blocks of rows
    chunk: int = 0  # bytes of a chunk of an array, which is read completely


def measure_matrix(file: str | Path, layer: str | None = None) -> ReadingSize:
    """Return what a matrix may take while it is read and normalised.

    Nothing if the file does not declare a size; reading it will then report the problem. A matrix
    above the size limit is refused.
    """
    file = Path(file)
    name = file.name.lower()
    try:
        if name.endswith((".xlsx", ".xlsm")):
            with zipfile.ZipFile(file) as archive:
                n_bytes = sum(member.file_size for member in archive.infolist())
            return _of_text(n_bytes)
        if name.endswith((".parquet", ".pq")):
            about = parquet_metadata(file)
            return _of_text(CELL_BYTES * about.num_rows * about.num_columns)
        text = find_mtx(file) or file
        if text != file or not (file.is_dir() or name.endswith(_DECLARING)):
            n_bytes = text.stat().st_size
            return _of_text((MOST_INFLATION if text.suffix.lower() == ".gz" else 1) * n_bytes)
        found = _declared(file, layer)
    except Exception:
        return ReadingSize(0)
    n_stored = found.n_stored
    check_size(file, *found.shape, n_stored=n_stored, in_blocks=found.in_blocks)
    names = OBJECT_BYTES * found.others
    whole = COPIES * held_bytes(*found.shape, n_stored) + 2 * found.stored + names
    if not found.in_blocks:
        return ReadingSize(min(whole, MOST_BYTES))
    in_blocks = BLOCK_BYTES + LINE_BYTES * sum(found.shape) + 2 * found.chunk + names
    return ReadingSize(min(whole, in_blocks, MOST_BYTES), PASSES * whole)


def matrix_bytes(file: str | Path, layer: str | None = None) -> int:
    """Return the size of a matrix in memory, or 0 if its file does not declare it."""
    try:
        found = _declared(Path(file), layer)
    except Exception:
        return 0
    return held_bytes(*found.shape, found.n_stored)


def _of_text(n_bytes: int) -> ReadingSize:
    return ReadingSize(min(TEXT_BYTES * n_bytes, MOST_BYTES))


def _declared(file: Path, layer: str | None) -> _Declared:
    name = file.name.lower()
    if name.endswith(".npz"):
        return _declared_by_npz(file)
    with _open(file) as opened:
        is_anndata = "obs" in opened and "var" in opened
        group = (
            None if is_anndata or not name.endswith((".h5", ".hdf5")) else tenx_group(opened, layer)
        )
        if group is not None:
            node = opened[group]
            p, n = (int(length) for length in node["shape"][()])
            others = [
                part for key, part in node.items() if key not in ("data", "indices", "indptr")
            ]
            n_stored = int(node["data"].shape[0])
            return _Declared((n, p), _nbytes(node), sum(map(_nbytes, others)), n_stored, True)
        node = opened[(f"layers/{layer}" if is_anndata else layer) if layer else "X"]
        n, p = (int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
        if is_anndata:
            others = [opened["obs"], opened["var"]]
        else:
            others = [other for other in opened.values() if getattr(other, "ndim", 0) == 1]
        return _Declared(
            (n, p),
            _nbytes(node),
            sum(map(_nbytes, others)),
            count_stored(node),
            is_read_in_blocks(node),
            _chunk(node),
        )


def _open(file: Path) -> AbstractContextManager[Any]:
    if file.is_dir():
        import zarr

        return nullcontext(zarr.open_group(file, mode="r", use_consolidated=False))
    return open_contained(file, "h5py")


def _chunk(node: Any) -> int:
    """Return the bytes of a chunk of an array in an HDF5 file or Zarr store."""
    chunks = getattr(node, "chunks", None)
    return 0 if chunks is None else math.prod(chunks) * node.dtype.itemsize


def _nbytes(node: Any) -> int:
    """Return the bytes of an array in an HDF5 file or Zarr store, or of all in a group."""
    if hasattr(node, "dtype"):
        return node.nbytes
    if isinstance(node, h5py.Group):
        found: list[Any] = []
        node.visititems(lambda _, part: found.append(part))
    else:
        found = [part for _, part in node.members(None)]
    return sum(part.nbytes for part in found if hasattr(part, "dtype"))


def _declared_by_npz(file: Path) -> _Declared:
    with zipfile.ZipFile(file) as archive, archive.open("X.npy") as member:
        version = np.lib.format.read_magic(member)
        # Version 3 differs from version 2 only in the characters allowed in field names.
        read = "read_array_header_1_0" if version == (1, 0) else "read_array_header_2_0"
        (n, p), _, dtype = getattr(np.lib.format, read)(member)
        others = sum(item.file_size for item in archive.infolist() if item.filename != "X.npy")
        return _Declared((n, p), n * p * dtype.itemsize, others)
