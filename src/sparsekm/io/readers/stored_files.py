"""Files of named arrays, opened safely, and where their matrix is: HDF5, Zarr, NumPy archives.

Nothing is read from other files, and nothing in a file is run: links, data sets with their values
elsewhere, strange codecs and arrays of Python objects are refused.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import h5py

# Registers the compressions that h5py itself lacks, such as zstd.
import hdf5plugin  # noqa: F401
import numpy as np

from sparsekm.io.readers.messages import explain_damage, need, quoted, refusal, refuse_format, say

# Codecs that only move and compress bytes. Others, such as pickle, can run code from the file.
_CODECS = frozenset(
    [
        *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zlib", "zstd"),
    ]
)
_CSR = ("data", "indices", "indptr")


class NpzArray:
    """An array of a NumPy archive, of which only the header is read at first."""

    attrs: ClassVar[dict[str, Any]] = {}

    def __init__(self, archive: Any, name: str) -> None:
        self._archive, self.name = archive, name
        self.shape, self.dtype = (), np.dtype(object)
        with archive.zip.open(f"{name}.npy") as member, contextlib.suppress(ValueError):
            version = np.lib.format.read_magic(member)
            # Version 3 differs from version 2 only in the characters allowed in field names.
            read = "read_array_header_1_0" if version == (1, 0) else "read_array_header_2_0"
            self.shape, _, self.dtype = getattr(np.lib.format, read)(member)

    def __getitem__(self, rows: Any) -> np.ndarray:
        return self._archive[self.name][rows]

    @property
    def nbytes(self) -> int:
        """Number of bytes that the header declares."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


@contextmanager
def open_stored(file: Path) -> Iterator[Any]:
    """Open a file for reading; any error inside the block becomes a `MatrixError`."""
    ending = "zarr" if file.is_dir() else file.suffix.lower()[1:]
    kind = f".{ending} {'store' if ending == 'zarr' else 'archive' if ending == 'npz' else 'file'}"
    library = {"h5ad": "anndata.", "zarr": "anndata.", "npz": "numpy.savez."}
    with explain_damage(file, kind, library.get(ending, "h5py.")):
        if file.is_dir():
            yield _open_zarr(file)
        elif ending == "npz":
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
                yield {one: NpzArray(archive, one) for one in sorted(archive)}
        else:
            with h5py.File(file, "r") as opened:
                way_out = opened.visititems_links(lambda *link: _find_external(opened, *link))
                if way_out:
                    raise refusal("way_out", file, what=way_out)
                yield opened


def _open_zarr(file: Path) -> Any:
    zarr = need(file, "zarr", "Zarr stores", "zarr")
    for part in file.rglob("*"):
        if part.is_symlink():
            raise refusal("link", file, name=part.relative_to(file))
        if part.name in (".zarray", "zarr.json"):
            strange = _codecs(part.read_text(encoding="utf-8")) - _CODECS
            if strange:
                name, allowed = part.relative_to(file), sorted(_CODECS)
                raise refusal("codecs", file, name=name, strange=sorted(strange), allowed=allowed)
    return zarr.open_group(file, mode="r", use_consolidated=False)


def _codecs(metadata: str) -> set[str]:
    """Return the names of codecs anywhere in the metadata of an array."""
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


def _find_external(opened: h5py.File, name: str, link: object) -> str | None:
    # The digest of the file would not cover what is elsewhere.
    if isinstance(link, h5py.ExternalLink):
        return f"{name} is a link to the file {link.filename!r}"
    if isinstance(link, h5py.HardLink):
        node = opened[name]
        if isinstance(node, h5py.Dataset) and (node.is_virtual or node.external):
            return f"the values of {name} are in other files"
    return None


@dataclass
class Layout:
    """Where the matrix of a file is, (rows, columns), and what the file declares of it."""

    kind: str  # "anndata", "10x" or "arrays"
    name: str
    node: Any
    shape: tuple[int, ...]
    arrays: list[str] = field(default_factory=list)  # names of all arrays of the file
    remarks: list[str] = field(default_factory=list)

    @cached_property
    def n_stored(self) -> int | None:
        """The number of values that a sparse matrix stores; None for an array."""
        return None if hasattr(self.node, "dtype") else int(self.node["data"].shape[0])

    @property
    def in_blocks(self) -> bool:
        """Whether the matrix is read row by row: an array or a sparse one by rows."""
        if hasattr(self.node, "dtype"):
            return not isinstance(self.node, NpzArray)
        return self.kind == "10x" or self.node.attrs.get("encoding-type") == "csr_matrix"


def find_layout(file: Path, opened: Any, layer: str | None) -> Layout:
    """Find the matrix of an open file, whatever the file's ending."""
    is_archive = isinstance(opened, dict)
    is_anndata = all(hasattr(opened.get(part), "keys") for part in ("obs", "var"))
    if is_anndata or not (is_archive or file.suffix.lower() in (".h5", ".hdf5")):
        name = "X" if layer is None else f"layers/{layer}"
        if name not in opened:
            layers = sorted(opened["layers"].keys()) if "layers" in opened else []
            what = "X" if layer is None else f"layer={layer!r}"
            raise refusal("no_layer", file, what=what, layers=layers)
        node = opened[name]
        shape = tuple(map(int, node.attrs.get("shape", getattr(node, "shape", ()))))
        return Layout("anndata", name, node, shape)
    if is_archive and layer:
        raise refusal("needless_layer", file, layer=layer)
    # Version 2 of Cell Ranger names the group by the genome.
    for name in [] if is_archive else [*opened] if layer is None else [layer]:
        node = opened.get(name)
        if isinstance(node, h5py.Group) and {*_CSR, "barcodes", "shape"} <= {*node}:
            shape = tuple(int(length) for length in node["shape"][()])[::-1]
            return Layout("10x", node.name, node, shape)
    return _find_array(file, opened, layer)


def vectors_in(opened: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a file with one axis, by name, which may describe the matrix."""
    unused = (*_CSR, "layers", "obsm", "varm", "obsp", "varp", "uns", "raw")
    for name, node in arrays_in(opened).items():
        if len(node.shape or ()) == 1 and not {*name.split("/")} & {*unused}:
            yield name, node


def arrays_in(opened: Any) -> dict[str, Any]:
    """Return all arrays of an open file by name."""
    if isinstance(opened, dict):
        return opened
    found: dict[str, Any] = {}
    if hasattr(opened, "members"):
        found.update(opened.members(None))
    else:
        # Links at the top are followed.
        names = {*opened}
        opened.visititems(lambda name, _: names.add(name))
        found.update((name, opened.get(name)) for name in names)
    return {name: found[name] for name in sorted(found) if hasattr(found[name], "dtype")}


def _find_array(file: Path, opened: Any, layer: str | None) -> Layout:
    arrays = arrays_in(opened)
    if {*_CSR, "shape"} <= {*arrays}:
        refuse_format(file, "npz of scipy.sparse", ".npz")
    if any(one.endswith("block0_values") for one in arrays):
        refuse_format(file, "h5 of pandas", file.suffix)
    name, remarks = layer or "X", []
    tables = [one for one, node in arrays.items() if len(node.shape or ()) == 2]
    if name not in arrays and layer is None and len(tables) == 1:
        name = tables[0]
        remarks = [say("only_table", name=name)]
    if name not in arrays:
        cure = f" Set layer: {quoted(tables[0])} if that is the matrix." if tables else ""
        raise refusal("no_array", file, names=[*arrays], name=name, cure=cure)
    node = arrays[name]
    return Layout("arrays", name, node, node.shape or (), [*arrays], remarks)
