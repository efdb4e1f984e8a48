"""The memory that reading a matrix may take, estimated from what its file declares."""

from __future__ import annotations

import zipfile
from pathlib import Path

import h5py
import numpy as np

from sparsekm.io.readers.anndata_reader import count_stored
from sparsekm.io.readers.contained_hdf5 import open_contained
from sparsekm.io.readers.raw_matrix import check_size, held_bytes

COPIES = 3
"""Float32 matrices in memory at the same time while reading, normalising and writing."""
OBJECT_BYTES = 32
"""Memory per byte of names, labels and text columns, which become Python objects."""
TEXT_BYTES = 16
"""Memory per byte of a text table, for the shortest cells and the sample names."""
MOST_INFLATION = 1032
"""Largest compression ratio of gzip."""
MOST_BYTES = 2**36


def measure_matrix(file: str | Path, layer: str | None = None) -> int:
    """Return the number of bytes that a matrix may take while it is read and normalised.

    It is 0 if the file does not declare a size; reading it will then report the problem. A matrix
    above the size limit is refused.
    """
    file = Path(file)
    name = file.name.lower()
    try:
        if name.endswith((".h5ad", ".h5")):
            shape, stored, others, n_stored = _declared_by_hdf5(file, layer)
        elif name.endswith(".npz"):
            shape, stored, others, n_stored = _declared_by_npz(file)
        elif name.endswith(".zarr"):
            shape, stored, others, n_stored = _declared_by_zarr(file, layer)
        elif name.endswith(".xlsx"):
            with zipfile.ZipFile(file) as archive:
                n_bytes = sum(member.file_size for member in archive.infolist())
            return min(TEXT_BYTES * n_bytes, MOST_BYTES)
        else:
            inflation = MOST_INFLATION if name.endswith(".gz") else 1
            return min(TEXT_BYTES * inflation * file.stat().st_size, MOST_BYTES)
    except Exception:
        return 0
    check_size(file, *shape, n_stored=n_stored)
    n_bytes = COPIES * held_bytes(*shape, n_stored) + 2 * stored + OBJECT_BYTES * others
    return min(n_bytes, MOST_BYTES)


_Declared = tuple[tuple[int, int], int, int, int | None]


def _declared_by_hdf5(file: Path, layer: str | None) -> _Declared:
    """Return the matrix's shape, its bytes in the file's type, all other bytes, values stored."""
    is_anndata = file.name.lower().endswith(".h5ad")
    name = (f"layers/{layer}" if is_anndata else layer) if layer else "X"
    with open_contained(file, "h5py") as opened:
        node = opened[name]
        n, p = (int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
        if is_anndata:
            others = _nbytes(opened["obs"]) + _nbytes(opened["var"])
        else:
            others = sum(
                other.nbytes for other in opened.values() if getattr(other, "ndim", 0) == 1
            )
        return (n, p), _nbytes(node), others, count_stored(node)


def _nbytes(node: h5py.HLObject) -> int:
    if isinstance(node, h5py.Dataset):
        return node.nbytes
    sizes: list[int] = []
    node.visititems(lambda _, found: sizes.append(getattr(found, "nbytes", 0)))
    return sum(sizes)


def _declared_by_npz(file: Path) -> _Declared:
    with zipfile.ZipFile(file) as archive, archive.open("X.npy") as member:
        version = np.lib.format.read_magic(member)
        # Version 3 differs from version 2 only in the characters allowed in field names.
        read = "read_array_header_1_0" if version == (1, 0) else "read_array_header_2_0"
        (n, p), _, dtype = getattr(np.lib.format, read)(member)
        others = sum(item.file_size for item in archive.infolist() if item.filename != "X.npy")
        return (n, p), n * p * dtype.itemsize, others, None


def _declared_by_zarr(file: Path, layer: str | None) -> _Declared:
    import zarr

    name = f"layers/{layer}" if layer else "X"
    opened = zarr.open_group(file, mode="r", use_consolidated=False)
    node = opened[name]
    n, p = (int(length) for length in node.attrs.get("shape", getattr(node, "shape", ())))
    parts = [opened[part] for part in ("obs", "var", name)]
    arrays = [
        array
        for part in parts
        for array in ([part] if isinstance(part, zarr.Array) else dict(part.members(None)).values())
        if isinstance(array, zarr.Array)
    ]
    return (n, p), sum(array.nbytes for array in arrays), 0, count_stored(node)
