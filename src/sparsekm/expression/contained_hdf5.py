"""Opening a user's HDF5 file, of which every part must lie in the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from sparsekm.expression.raw_matrix import MatrixError


@contextmanager
def open_contained(file: str | Path, written_by: str) -> Iterator[h5py.File]:
    """Open a file for reading; whatever goes wrong inside becomes a `MatrixError`.

    Links to other files, and data sets whose values stand in other files, are refused: the digest
    of the file would not cover them, and a file from elsewhere has no business to read others.

    Parameters
    ----------
    file : path
    written_by : str
        What writes such files as they should be, for messages.

    Yields
    ------
    opened : File
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    try:
        with h5py.File(file, "r") as opened:
            _refuse_other_files(file, opened)
            yield opened
    except MatrixError:
        raise
    # A damaged file can fail anywhere inside HDF5 or anndata, with almost any error.
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise MatrixError(
            f"{file}: not a whole {file.suffix} file ({reason}); it should be as {written_by} "
            "writes it."
        ) from error


def _refuse_other_files(file: Path, opened: h5py.File) -> None:
    outside: list[str] = []

    # h5py loses errors that are raised in here; what is returned ends the visit.
    def check_link(name: str, link: object) -> bool | None:
        if isinstance(link, h5py.ExternalLink):
            outside.append(f"{name} links to the file {link.filename!r}")
        return bool(outside) or None

    def check_values(name: str, node: object) -> bool | None:
        if isinstance(node, h5py.Dataset) and (node.is_virtual or node.external):
            outside.append(f"the values of {name} stand in other files")
        return bool(outside) or None

    opened.visititems_links(check_link)
    opened.visititems(check_values)
    if outside:
        raise MatrixError(f"{file}: {outside[0]}; everything should stand in the file itself.")
