"""Files of named arrays, opened safely: HDF5, Zarr and NumPy archives.

Nothing is read from other files, and nothing in a file is run: links, data sets with their values
elsewhere, strange codecs and arrays of Python objects are refused.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import h5py

# Registers the compressions that h5py itself lacks, such as zstd.
import hdf5plugin  # noqa: F401
import numpy as np

from sparsekm.io.readers.raw_matrix import MatrixError, explain_damage

_METADATA = (".zarray", ".zgroup", ".zattrs", ".zmetadata", "zarr.json")
# Codecs that only move and compress bytes. Others, such as pickle, can run code from the file.
_CODECS = frozenset(
    [
        *("blosc", "bytes", "bz2", "crc32c", "delta", "fixedscaleoffset", "gzip", "lz4"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zlib", "zstd"),
    ]
)


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
