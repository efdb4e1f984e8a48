"""Where the matrix of a file is, and the memory that reading it may take, as the file declares."""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import h5py

from sparsekm.io.readers.raw_matrix import (
    MatrixError,
    check_size,
    held_bytes,
    quoted,
    refuse_format,
    shown,
)
from sparsekm.io.readers.stored_files import NpzArray, open_stored
from sparsekm.io.readers.tenx_folder import find_mtx

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


_CSR = ("data", "indices", "indptr")


class ReadingSize(NamedTuple):
    """What reading a matrix may take beyond what a small one takes."""

    memory: int  # bytes
    processed: int = 0  # bytes that take processor time, if more than those held


@dataclass
class Layout:
    """Where the matrix of a file is, (rows, columns), and what the file declares of it."""

    kind: str  # "anndata", "10x" or "arrays"
    name: str
    node: Any
    shape: tuple[int, ...]
    arrays: list[str] = field(default_factory=list)  # names of all arrays of the file
    others: list[Any] = field(default_factory=list)  # what describes rows and columns
    remarks: list[str] = field(default_factory=list)

    @cached_property
    def n_stored(self) -> int | None:
        """The number of values that a sparse matrix stores; None for an array."""
        return None if hasattr(self.node, "dtype") else int(self.node["data"].shape[0])

    @property
    def in_blocks(self) -> bool:
        """Whether the matrix is read row by row: an array or a sparse one by rows."""
        is_array = hasattr(self.node, "dtype") and not isinstance(self.node, NpzArray)
        is_csr = self.kind == "10x" or self.node.attrs.get("encoding-type") == "csr_matrix"
        return is_array or (not hasattr(self.node, "dtype") and is_csr)


def find_layout(file: Path, opened: Any, layer: str | None) -> Layout:
    """Find the matrix of an open file, whatever the file's ending."""
    is_archive = isinstance(opened, dict)
    is_anndata = all(hasattr(opened.get(part), "keys") for part in ("obs", "var"))
    if is_anndata or not (is_archive or file.suffix.lower() in (".h5", ".hdf5")):
        name = "X" if layer is None else f"layers/{layer}"
        if name not in opened:
            layers = sorted(opened["layers"].keys()) if "layers" in opened else []
            what = "X" if layer is None else f"layer={layer!r}"
            raise MatrixError(f"{file}: there is no {what}. Set layer to one of {layers}.")
        node = opened[name]
        shape = tuple(map(int, node.attrs.get("shape", getattr(node, "shape", ()))))
        return Layout("anndata", name, node, shape, others=[opened["obs"], opened["var"]])
    if is_archive and layer:
        raise MatrixError(
            f"{file}: layer={layer!r} should be left out: only .h5ad, .h5, .zarr and .xlsx have "
            "layers."
        )
    if not is_archive:
        # Version 2 of Cell Ranger names the group by the genome.
        groups = [one for one in opened if {*_CSR, "barcodes", "shape"} <= {*_keys(opened, one)}]
        if groups and (layer is None or layer in groups):
            node = opened[layer or groups[0]]
            others = [part for key, part in node.items() if key not in _CSR]
            shape = tuple(int(length) for length in node["shape"][()])[::-1]
            return Layout("10x", node.name, node, shape, others=others)
    return _find_array(file, opened, layer)


def _keys(opened: Any, name: str) -> list[str]:
    node = opened.get(name)
    return [*node] if isinstance(node, h5py.Group) else []


def _find_array(file: Path, opened: Any, layer: str | None) -> Layout:
    found = {*opened}
    if not isinstance(opened, dict):
        opened.visititems(lambda name, _: found.add(name))
        found = {name for name in found if isinstance(opened.get(name), h5py.Dataset)}
    names = sorted(found)
    if {*_CSR, "shape"} <= found:
        refuse_format(file, "npz of scipy.sparse", ".npz")
    if any(one.endswith("block0_values") for one in names):
        refuse_format(file, "h5 of pandas", file.suffix)
    name, remarks = layer or "X", []
    tables = [one for one in names if len(opened[one].shape or ()) == 2]
    if name not in names and layer is None and len(tables) == 1:
        name = tables[0]
        remarks = [f"the matrix is {name!r}, the only array with two axes."]
    if name not in names:
        raise MatrixError(
            f"{file}: arrays={shown(names)} should include {name!r} (samples x features)."
            + (f" Set layer: {quoted(tables[0])} if that is the matrix." if tables else "")
        )
    others = [opened[one] for one in names if len(opened[one].shape or ()) == 1]
    node = opened[name]
    return Layout("arrays", name, node, node.shape or (), names, others, remarks)


def measure_matrix(file: str | Path, layer: str | None = None) -> ReadingSize:
    """Return what a matrix may take while it is read and normalised.

    Nothing if the file does not declare a size; reading it will then report the problem. A matrix
    above the size limit is refused.
    """
    file = Path(file)
    try:
        n_bytes = _text_bytes(file)
        if n_bytes is not None:
            return ReadingSize(min(TEXT_BYTES * n_bytes, MOST_BYTES))
        with open_stored(file) as opened:
            found = find_layout(file, opened, layer)
            shape, n_stored, in_blocks = found.shape, found.n_stored, found.in_blocks
            n, p = shape
            stored, names = _nbytes(found.node), OBJECT_BYTES * sum(map(_nbytes, found.others))
            chunks = getattr(found.node, "chunks", None)
            chunk = math.prod(chunks) * found.node.dtype.itemsize if chunks else 0
    except Exception:
        return ReadingSize(0)
    check_size(file, n, p, n_stored=n_stored, in_blocks=in_blocks)
    whole = COPIES * held_bytes(n, p, n_stored) + 2 * stored + names
    if not in_blocks:
        return ReadingSize(min(whole, MOST_BYTES))
    blocks = BLOCK_BYTES + LINE_BYTES * (n + p) + 2 * chunk + names
    return ReadingSize(min(whole, blocks, MOST_BYTES), PASSES * whole)


def matrix_bytes(file: str | Path, layer: str | None = None) -> int:
    """Return the size of a matrix in memory, or 0 if its file does not declare it."""
    try:
        with open_stored(Path(file)) as opened:
            found: Layout = find_layout(Path(file), opened, layer)
            n, p = found.shape
            return held_bytes(n, p, found.n_stored)
    except Exception:
        return 0


def _text_bytes(file: Path) -> int | None:
    """Return the bytes of a table as text, at most; None of a file that declares its size."""
    name = file.name.lower()
    if name.endswith((".xlsx", ".xlsm")):
        with zipfile.ZipFile(file) as archive:
            return sum(member.file_size for member in archive.infolist())
    if name.endswith((".parquet", ".pq")):
        import pyarrow.parquet

        about = pyarrow.parquet.read_metadata(file)
        return CELL_BYTES * about.num_rows * about.num_columns
    text = find_mtx(file) or file
    if text == file and (file.is_dir() or name.endswith((".h5ad", ".h5", ".hdf5", ".npz"))):
        return None
    return (MOST_INFLATION if text.suffix.lower() == ".gz" else 1) * text.stat().st_size


def _nbytes(node: Any) -> int:
    """Return the bytes of an array in a file, or of all in a group."""
    if hasattr(node, "dtype"):
        return node.nbytes
    found: list[Any] = []
    if hasattr(node, "visititems"):
        node.visititems(lambda _, part: found.append(part))
    else:
        found = [part for _, part in node.members(None)]
    return sum(part.nbytes for part in found if hasattr(part, "dtype"))
