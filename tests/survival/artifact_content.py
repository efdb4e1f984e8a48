"""The content of what a run made, as digests: without times, and without how it is stored."""

import hashlib
import io
import zipfile
from pathlib import Path

import h5py
import numpy as np

# Of Snakemake's, in folders that a rule gives as a whole.
_NOT_CONTENT = ".snakemake_timestamp"


def contents(root: Path) -> dict[str, str]:
    """Give {name: digest of its content} for every file of data/ and results/ of a project."""
    files = [
        file
        for folder in ("data", "results")
        for file in sorted((root / folder).rglob("*"))
        if file.is_file() and file.name != _NOT_CONTENT
    ]
    names = {file.relative_to(root).as_posix(): file for file in files}
    left_out = ("data/paper/", "results/benchmarks/")
    return {
        name: content_digest(file) for name, file in names.items() if not name.startswith(left_out)
    }


def content_digest(file: Path) -> str:
    """Digest what a file says: arrays and attributes of HDF5, members of archives, else bytes."""
    digest = hashlib.sha256()
    if file.suffix in (".h5", ".h5ad"):
        with h5py.File(file, "r") as opened:
            _add_hdf5(digest, opened)
    elif file.suffix in (".zip", ".npz"):
        _add_archive(digest, file.read_bytes())
    else:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _add_hdf5(digest, opened: h5py.File) -> None:
    def add(name: str, entry: h5py.Group | h5py.Dataset) -> None:
        digest.update(f"\0entry {name}\0".encode())
        for key in sorted(entry.attrs):
            digest.update(f"\0attribute {key}\0".encode() + _values(entry.attrs[key]))
        if isinstance(entry, h5py.Dataset):
            digest.update(_values(entry[()]))

    add("/", opened)
    # Visited in the order of their names, which no writer decides.
    opened.visititems(add)


def _values(values) -> bytes:
    array = np.asarray(values)
    about = f"{array.dtype} {array.shape} ".encode()
    if array.dtype.hasobject or array.dtype.names:
        return about + repr(array.tolist()).encode()
    return about + array.tobytes()


def _add_archive(digest, body: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        for name in sorted(archive.namelist()):
            digest.update(f"\0member {name}\0".encode() + archive.read(name))
