"""The sizes of the inputs of jobs. Snakemake uses this module also without NumPy."""

from __future__ import annotations

import math
import os
import zipfile
from pathlib import Path


def bytes_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder such as a Zarr store.

    A compressed table counts with its uncompressed bytes, if the file states them.
    """
    try:
        if path.suffix.lower() == ".xlsx":
            with zipfile.ZipFile(path) as archive:
                return sum(member.file_size for member in archive.infolist())
        if path.suffix.lower() == ".gz":
            return max(path.stat().st_size, unpacked_bytes(path))
    # The job reports damage.
    except (OSError, zipfile.BadZipFile):
        pass
    return sum(part.stat().st_size for part in (path, *path.rglob("*")))


def unpacked_bytes(path: Path) -> int:
    """Return the uncompressed length of a gzip file: all blocks of bgzip, else the last member."""
    length = 0
    with path.open("rb") as opened:
        # The header of a block of bgzip holds the size of the block minus one.
        while (header := opened.read(18))[12:16] == b"BC\2\0":
            opened.seek(int.from_bytes(header[16:], "little") - 21, os.SEEK_CUR)
            # Every member ends with its uncompressed length, modulo 2**32.
            length += int.from_bytes(opened.read(4), "little")
        if not length:
            opened.seek(-4, os.SEEK_END)
            length = int.from_bytes(opened.read(), "little")
    return length


def held_megabytes(path: Path, most_samples: float = math.inf, limit: float = math.inf) -> float:
    """Return the size of a job's input; sparse data count as an array.

    Jobs hold an array several times. They hold sparse data less often, but some of the samples as
    an array: `most_samples` of them (0 for all). If a dense array is above the limit, they hold
    only this number of its samples.
    """
    size = bytes_of(path) / 2**20
    if path.name != "normalised.h5ad":
        return size
    try:
        import h5py

        with h5py.File(path) as opened:
            X = opened["X"]
            is_sparse = isinstance(X, h5py.Group)
            n_samples, n_features = map(int, X.attrs["shape"] if is_sparse else X.shape)
            # The matrix of all features is read in blocks.
            if "raw" in opened:
                whole = opened["raw/X"]
                parts = whole.values() if is_sparse else [whole]
                size -= sum(part.nbytes for part in parts) / 2**20
    # Only Snakemake may be installed, and the job reports damage.
    except (ImportError, OSError, KeyError, ValueError, RuntimeError):
        return size
    if not is_sparse:
        return array_megabytes(size, n_samples, most_samples, limit)
    share = min(1, most_samples / n_samples) or 1
    return size * share / 2 + 4 * min(n_samples * share, 4096) * n_features / 2**20


def array_megabytes(size: float, n_samples: int | None, most_samples: float, limit: float) -> float:
    """Return the size of a number of samples of an array; below the limit, of all samples."""
    share = min(1, most_samples / n_samples) if n_samples else 1
    return min(size, max(limit, size * share))
