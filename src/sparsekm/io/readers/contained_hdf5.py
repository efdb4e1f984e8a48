"""Opening a user's HDF5 file that contains all of its data, without links to other files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

# Registers the compressions that h5py itself lacks, such as zstd.
import hdf5plugin  # noqa: F401

from sparsekm.io.readers.raw_matrix import MatrixError, explain_damage


@contextmanager
def open_contained(file: str | Path, written_by: str) -> Iterator[h5py.File]:
    """Open a file for reading; any error inside the block becomes a `MatrixError`.

    Links to other files, and data sets whose values are in other files, are refused: the digest of
    the file would not cover them, and a file from someone else should not make the job read others.
    `written_by` names the library that writes such files, for messages.
    """
    file = Path(file)
    kind = f"{file.suffix} file"
    with explain_damage(file, kind, f"{written_by}."), h5py.File(file, "r") as opened:
        way_out = opened.visititems_links(lambda name, link: _find_external(opened, name, link))
        if way_out:
            raise MatrixError(f"{file}: {way_out}; everything should be in the file itself.")
        yield opened


def _find_external(opened: h5py.File, name: str, link: object) -> str | None:
    if isinstance(link, h5py.ExternalLink):
        return f"{name} is a link to the file {link.filename!r}"
    if isinstance(link, h5py.HardLink):
        node = opened[name]
        if isinstance(node, h5py.Dataset) and (node.is_virtual or node.external):
            return f"the values of {name} are in other files"
    return None
