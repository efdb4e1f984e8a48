"""Writing HDF5 files whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py

from sparsekm.io.atomic import atomic_path, write_bytes

if TYPE_CHECKING:
    import anndata


@contextmanager
def atomic_hdf5(file: str | Path) -> Iterator[h5py.File]:
    """Give an HDF5 file to fill, which becomes `file` when the block succeeds; see `atomic_path`.

    It is put together in memory. Were it written piece by piece, a full disk would leave HDF5 with
    objects that it can neither write nor drop: pages of errors, and a crash at the end.
    """
    image = io.BytesIO()
    with h5py.File(image, "w") as opened:
        yield opened
    write_bytes(image.getbuffer(), file)


def write_anndata(file: str | Path, data: anndata.AnnData, **options: Any) -> None:
    """Write annotated data with a dense X as .h5ad, whole or not at all; options of ``write_h5ad``.

    It is written piece by piece, since a second copy of the matrix in memory would cost too much.
    """
    with atomic_path(file, data.X.nbytes) as temporary:
        data.write_h5ad(temporary, **options)
