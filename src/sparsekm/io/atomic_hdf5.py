"""Atomic writing of HDF5 files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py

from sparsekm.cluster.matrices.dense_parts import stored_bytes
from sparsekm.io.atomic import atomic_path, write_bytes

if TYPE_CHECKING:
    import anndata


@contextmanager
def atomic_hdf5(file: str | Path) -> Iterator[h5py.File]:
    """Yield an HDF5 file to fill, which becomes `file` if the block succeeds; see `atomic_path`.

    The file is assembled in memory. If it were written piece by piece and the disk filled up, HDF5
    would be left with objects that it can neither write nor discard, print pages of errors and
    crash at the end.
    """
    image = io.BytesIO()
    with h5py.File(image, "w") as opened:
        yield opened
    write_bytes(image.getbuffer(), file)


def write_anndata(file: str | Path, data: anndata.AnnData, **options: Any) -> None:
    """Write AnnData atomically as .h5ad, with the options of ``write_h5ad``.

    It is written piece by piece, since a second copy of the matrix would take too much memory.
    """
    with atomic_path(file, stored_bytes(data.X)) as temporary:
        data.write_h5ad(temporary, **options)
