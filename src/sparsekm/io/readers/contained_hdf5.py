"""Opening a user's HDF5 file, of which every part must lie in the file itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from sparsekm.expression.raw_matrix import MatrixError
from sparsekm.storage.hdf5_claims import find_false_claim
from sparsekm.storage.input_error import reason_of


@contextmanager
def open_contained(
    file: str | Path, written_by: str, trees: Iterable[str] = ()
) -> Iterator[h5py.File]:
    """Open a file for reading; whatever goes wrong inside becomes a `MatrixError`.

    Links to other files, and data sets whose values stand in other files, are refused: the digest
    of the file would not cover them, and a file from elsewhere has no business to read others. So
    are arrays that claim more than the file can hold.

    Parameters
    ----------
    file : path
    written_by : str
        What writes such files as they should be, for messages.
    trees : iterable of str
        What is read with everything below it, see `find_false_claim`.

    Yields
    ------
    opened : File
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    try:
        with h5py.File(file, "r") as opened:
            problem = find_false_claim(opened, trees)
            if problem:
                raise MatrixError(f"{file}: {problem}.")
            yield opened
    except (MatrixError, MemoryError):
        raise
    # A damaged file can fail anywhere inside HDF5 or anndata, with almost any error.
    except Exception as error:
        raise MatrixError(
            f"{file}: not a whole {file.suffix} file ({reason_of(error)}); it should be as "
            f"{written_by} writes it."
        ) from error
