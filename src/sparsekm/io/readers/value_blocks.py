"""Files of named arrays (HDF5, Zarr, NumPy), opened safely, and their matrix in blocks of rows.

Nothing is read from other files, and no code in a file is run: links, external data sets, unknown
codecs and arrays of Python objects are refused.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py

# Registers the compressions that h5py itself lacks, such as zstd.
import hdf5plugin  # noqa: F401
import numpy as np
from scipy.sparse import csr_array

from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.readers.messages import explain_damage, need, refusal, say
from sparsekm.io.readers.raw_matrix import RawMatrix, check_size, held_bytes

# The codecs that cannot run code.
_CODECS = {
    *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4", "shuffle"),
    *("sharding_indexed", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8", "zlib", "zstd"),
}
_CELLS_AT_ONCE = 2**21
_STORED_AT_ONCE = 2**22
_LARGEST_CHUNKS_CELLS = 2**25

Opened = Callable[[], AbstractContextManager[Any]]


# The largest depth of nested groups in an HDF5 file.
MOST_NESTED = 32


class NpzArray:
    """An array of a NumPy archive, of which only the header is read at first."""

    def __init__(self, archive: Any, name: str) -> None:
        self._archive, self.name = archive, name
        self.shape, self.dtype = (), np.dtype(object)
        with archive.zip.open(f"{name}.npy") as member, suppress(ValueError):
            version = np.lib.format.read_magic(member)
            # Version 3 differs from version 2 only in the characters allowed in field names.
            read = "read_array_header_1_0" if version == (1, 0) else "read_array_header_2_0"
            self.shape, _, self.dtype = getattr(np.lib.format, read)(member)
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._archive[self.name][rows]


@contextmanager
def open_stored(file: Path) -> Iterator[Any]:
    """Open a file for reading; any error inside the block becomes a `MatrixError`."""
    ending = "zarr" if file.is_dir() else file.suffix.lower()[1:]
    known = {"h5ad": "file anndata", "zarr": "store anndata", "npz": "archive numpy.savez"}
    noun, library = known.get(ending, "file h5py").split()
    with explain_damage(f".{ending} {noun}", f"{library}."):
        if file.is_dir():
            yield _open_zarr(file)
        elif ending == "npz":
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
                yield {one: NpzArray(archive, one) for one in sorted(archive)}
        else:
            with h5py.File(file, "r") as opened:
                _check_links(opened, set())
                yield opened


def _open_zarr(file: Path) -> Any:
    zarr, allowed = need("zarr", "Zarr stores", "zarr"), _CODECS
    for part in file.rglob("*"):
        if part.is_symlink():
            raise refusal("link", name=part.relative_to(file))
        if part.name in (".zarray", "zarr.json"):
            strange = sorted(_codecs(part.read_text(encoding="utf-8")) - allowed)
            if strange:
                name = part.relative_to(file)
                raise refusal("codecs", name=name, strange=strange, allowed=sorted(allowed))
    return zarr.open_group(file, mode="r", use_consolidated=False)


def _codecs(metadata: str) -> set[str]:
    """Return the names of codecs in the metadata of an array, because some codecs can run code."""
    found = set()

    def collect(part: dict[str, Any]) -> dict[str, Any]:
        for key in ("codecs", "index_codecs", "filters", "compressor"):
            codecs = part.get(key) or []
            for one in codecs if isinstance(codecs, list) else [codecs]:
                names = one if isinstance(one, dict) else {"name": one}
                found.update(str(names[key]) for key in ("id", "name") if key in names)
        return part

    json.loads(metadata, object_hook=collect)
    return found


def _check_links(group: h5py.Group, seen: set[Any], depth: int = 0) -> None:
    """Refuse data outside the digest of the file, and too deeply nested groups.

    HDF5's own walk takes minutes if groups are nested some thousand times.
    """
    if depth == MOST_NESTED:
        raise refusal("nested", most=MOST_NESTED)
    for name in group:
        link = group.get(name, getlink=True)
        if isinstance(link, h5py.ExternalLink):
            what = f"{group.name}/{name} is a link to the file {link.filename!r}"
            raise refusal("way_out", what=what)
        node = group[name] if isinstance(link, h5py.HardLink) else None
        if isinstance(node, h5py.Dataset) and (node.is_virtual or node.external):
            raise refusal("way_out", what=f"the values of {node.name} are in other files")
        if isinstance(node, h5py.Group) and node.id not in seen:
            seen.add(node.id)
            _check_links(node, seen, depth + 1)


def check_rows(opened: Opened, remarks: list[str], missing: list[float]) -> RawMatrix:
    """Read a matrix (n, p) once, and check it; rows stay sparse if this takes less memory."""
    with opened() as source:
        shape, n_stored = source.shape, getattr(source, "nnz", None)
    if not missing and held_bytes(*shape, n_stored) < held_bytes(*shape):
        counts, n_finite = np.zeros(shape[1], dtype=np.int64), 0
        for rows in _canonical(opened):
            counts += np.bincount(rows.indices, minlength=shape[1])
            n_finite += np.isfinite(rows.data).sum()
        if n_finite == counts.sum():
            zero = np.zeros(shape[1])
            return RawMatrix(shape, lambda: _canonical(opened), zero, n_stored=counts)
        check_size(*shape, in_blocks=True)
        remarks.append(say("sparse_lacks"))
    offset, n_infinite = np.zeros(shape[1]), 0

    def to_single(block: np.ndarray) -> np.ndarray:
        if block.dtype == np.float32:
            return block
        with np.errstate(over="ignore", invalid="ignore"):
            return (block.astype(np.float64) - offset).astype(np.float32)

    for at, block in enumerate(map(as_dense, _parts(opened))):
        if at == 0 and block.dtype != np.float32:
            offset = np.nan_to_num(block[0].astype(np.float64), posinf=0, neginf=0)
        n_infinite += int(np.isinf(block).sum())
        large = np.isinf(to_single(block)) & np.isfinite(block)
        if large.any():
            raise refusal("beyond_single", value=block[large][0])
    if n_infinite:
        remarks.append(say("infinite", n=n_infinite))

    def read() -> Iterator[np.ndarray]:
        for values in map(as_dense, _parts(opened)):
            block = to_single(values)
            if n_infinite or missing:
                lacking = np.isinf(block) | np.isin(values, missing)
                block = np.where(lacking, np.float32(np.nan), block)
            yield block

    return RawMatrix(shape, read, offset)


def _canonical(opened: Opened) -> Iterator[csr_array]:
    for part in _parts(opened):
        with np.errstate(over="ignore"):
            rows = part.astype(np.float32, copy=False)
        rows.sum_duplicates()
        yield rows


def _parts(opened: Opened) -> Iterator[Any]:
    """Read consecutive rows in parts of a size that suits the matrix."""
    with opened() as source:
        n = source.shape[0]
        if hasattr(source, "indptr"):
            stops = np.arange(_STORED_AT_ONCE, source.indptr[-1], _STORED_AT_ONCE)
            edges = np.unique([0, *np.searchsorted(source.indptr, stops), n])
        else:
            height = max(1, _CELLS_AT_ONCE // source.shape[1])
            # Parts have whole chunks, because a divided chunk would be read and decompressed twice.
            in_chunk = min((getattr(source, "chunks", None) or (1,))[0], n)
            whole = -(-height // in_chunk) * in_chunk
            is_small = whole * source.shape[1] <= _LARGEST_CHUNKS_CELLS
            edges = [*range(0, n, whole if is_small else height), n]
        for start, stop in pairwise(edges):
            yield source[start:stop]
