"""Writing files whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

_FULL = (errno.ENOSPC, errno.EDQUOT)
# For what a file holds beside its largest array.
_MARGIN = 2**20


@contextmanager
def atomic_path(file: str | Path, n_bytes: int = 0) -> Iterator[Path]:
    """Give a temporary name in the same folder, which becomes `file` when the block succeeds.

    Renaming within a folder is atomic, so nobody ever sees a half-written file. When the block
    raises, the temporary file is removed and a file that was there before stays as it was. The name
    ends in the same suffix as `file`, since some writers look at it; the folder is made if it does
    not exist.

    `n_bytes` is the size of what will be written, for writers such as HDF5 that fail badly when the
    disk fills up: without that much space nothing is begun. Where a device or a quota is full, the
    error is an OSError with ``errno.ENOSPC`` and the file's name, whatever the library raised.
    """
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{os.getpid()}.partial.{file.name}")
    if n_bytes and shutil.disk_usage(file.parent).free < n_bytes + _MARGIN:
        raise _no_space(file)
    try:
        yield temporary
        with temporary.open("rb") as written:
            # Without this a crash of the machine could leave the new name with no content.
            os.fsync(written.fileno())
        temporary.replace(file)
    except Exception as error:
        if _is_full(error):
            raise _no_space(file) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(folder: str | Path, name: str = "*") -> None:
    """Remove what killed writers left half-written in a folder, which need not exist.

    Only the one process that may be writing files of this name should call it.
    """
    for left in Path(folder).glob(f".*.partial.{name}"):
        left.unlink(missing_ok=True)


def _no_space(file: Path) -> OSError:
    return OSError(errno.ENOSPC, "No space left on device; make space and run again", str(file))


def _is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it came from, is about a device without space.

    HDF5 hides the number of the error in its text.
    """
    while error is not None:
        if getattr(error, "errno", None) in _FULL:
            return True
        if any(os.strerror(number) in str(error) for number in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


def write_table(table: pd.DataFrame, file: str | Path) -> None:
    """Write a table as UTF-8 CSV without its index, whole or not at all."""
    with atomic_path(file) as temporary:
        table.to_csv(temporary, index=False)


def write_bytes(body: bytes | memoryview, file: str | Path) -> None:
    """Write bytes, whole or not at all."""
    with atomic_path(file) as temporary:
        temporary.write_bytes(body)


def write_text(text: str, file: str | Path) -> None:
    """Write a text as UTF-8, whole or not at all."""
    write_bytes(text.encode(), file)
