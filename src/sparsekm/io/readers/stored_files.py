"""Files of named arrays, opened safely: HDF5, Zarr and NumPy archives, and the matrix in them.

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

from sparsekm.io.readers.raw_matrix import MatrixError, explain_damage, quoted, shown

_METADATA = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
# Codecs that only move and compress bytes. Others, such as pickle, can run code from the file.
_CODECS = frozenset(
    [
        *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zlib", "zstd"),
    ]
)
_CSR = ("data", "indices", "indptr")


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
    name = file.name.lower()
    written_by = {"h5ad": "anndata.", "zarr": "anndata.", "npz": "numpy.savez."}
    suffix = ".zarr store" if file.is_dir() else f"{file.suffix} file"
    suffix = suffix.replace("npz file", "npz archive")
    library = "anndata." if file.is_dir() else written_by.get(name.rpartition(".")[2], "h5py.")
    with explain_damage(file, suffix, library):
        if file.is_dir():
            yield _open_zarr(file)
        elif name.endswith(".npz"):
            with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
                yield {one: NpzArray(archive, one) for one in sorted(archive)}
        else:
            with h5py.File(file, "r") as opened:
                way_out = opened.visititems_links(lambda *link: _find_external(opened, *link))
                if way_out:
                    raise MatrixError(
                        f"{file}: {way_out}; everything should be in the file itself."
                    )
                yield opened


def _open_zarr(file: Path) -> Any:
    try:
        import zarr
    except ModuleNotFoundError as error:
        raise MatrixError(
            f'{file}: reading Zarr stores requires zarr. Install it: pip install "sparsekm[zarr]".'
        ) from error
    for part in file.rglob("*"):
        if part.is_symlink():
            raise MatrixError(f"{file}: {part.relative_to(file)} is a link; links are not allowed.")
        if part.name in _METADATA:
            strange = set(_codecs(json.loads(part.read_text(encoding="utf-8")))) - _CODECS
            if strange:
                raise MatrixError(
                    f"{file}: {part.relative_to(file)} uses the codecs {sorted(strange)}; only "
                    f"{sorted(_CODECS)} are allowed."
                )
    return zarr.open_group(file, mode="r", use_consolidated=False)


def _codecs(metadata: Any, inside: bool = False) -> Iterator[str]:
    """Yield the names of codecs anywhere in the metadata of an array."""
    if isinstance(metadata, list):
        for part in metadata:
            yield from _codecs(part, inside)
    elif isinstance(metadata, dict):
        if inside:
            yield from (str(metadata[key]) for key in ("id", "name") if key in metadata)
        for key, part in metadata.items():
            is_codec = key in ("codecs", "index_codecs", "filters", "compressor")
            yield from _codecs(part, is_codec or (inside and key == "configuration"))


def _find_external(opened: h5py.File, name: str, link: object) -> str | None:
    # The digest of the file would not cover what is elsewhere.
    if isinstance(link, h5py.ExternalLink):
        return f"{name} is a link to the file {link.filename!r}"
    if isinstance(link, h5py.HardLink):
        node = opened[name]
        if isinstance(node, h5py.Dataset) and (node.is_virtual or node.external):
            return f"the values of {name} are in other files"
    return None


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
    if isinstance(opened, dict):
        names = [*opened]
        _refuse_scipy(file, names)
    else:
        found = {*opened}
        opened.visititems(
            lambda name, node: found.add(name) if isinstance(node, h5py.Dataset) else None
        )
        names = sorted(name for name in found if isinstance(opened.get(name), h5py.Dataset))
        _refuse_pandas(file, names)
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


def _refuse_scipy(file: Path, names: list[str]) -> None:
    if {*_CSR, "shape"} <= {*names}:
        raise MatrixError(
            f"{file}: a sparse matrix of SciPy is not read. Convert it: python -c 'import numpy, "
            f'scipy.sparse; numpy.savez("{file.with_suffix("")}_dense.npz", '
            f'X=scipy.sparse.load_npz("{file}").toarray())\', and give what that writes.'
        )


def _refuse_pandas(file: Path, names: list[str]) -> None:
    if any(one.endswith("block0_values") for one in names):
        raise MatrixError(
            f"{file}: a table that pandas wrote as HDF5 is not read. Convert it: python -c 'import "
            f'pandas; pandas.read_hdf("{file}").to_csv("{file.with_suffix(".csv")}")\', and give '
            "what that writes."
        )
