"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_FULL = (errno.ENOSPC, errno.EDQUOT)
# For everything in a file except its largest array.
_MARGIN = 2**20


@contextmanager
def atomic_path(file: str | Path, n_bytes: int = 0) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which is renamed to `file` if the block succeeds.

    Renaming within a folder is atomic, so nobody ever sees a half-written file. If the block raises
    an error, the temporary file is removed and an existing `file` is left unchanged. The temporary
    path has the same suffix as `file`, since some writers depend on it; the folder is created if
    it does not exist.

    `n_bytes` is the expected size of the file, for writers such as HDF5 that fail badly when the
    disk fills up: without that much free space, writing does not start. If the disk or a quota is
    full, the error is an OSError with ``errno.ENOSPC`` and the name of the file, whatever error the
    library raised.
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
    """Remove the half-written files that killed processes left in a folder, which need not exist.

    Call it only in the one process that may be writing files of this name.
    """
    for left in Path(folder).glob(f".*.partial.{name}"):
        left.unlink(missing_ok=True)


def _no_space(file: Path) -> OSError:
    return OSError(errno.ENOSPC, "No space left on device; make space and run again", str(file))


def _is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or one of its causes, means that the disk or quota is full.

    HDF5 gives the error number only as part of its message.
    """
    while error is not None:
        if getattr(error, "errno", None) in _FULL:
            return True
        if any(os.strerror(number) in str(error) for number in _FULL):
            return True
        error = error.__cause__ or error.__context__
    return False


def write_table(table: pd.DataFrame, file: str | Path) -> None:
    """Write a table atomically as UTF-8 CSV without its index."""
    with atomic_path(file) as temporary:
        table.to_csv(temporary, index=False)


def write_bytes(body: bytes | memoryview, file: str | Path) -> None:
    """Write bytes atomically."""
    with atomic_path(file) as temporary:
        temporary.write_bytes(body)


def write_text(text: str, file: str | Path) -> None:
    """Write a text atomically as UTF-8."""
    write_bytes(text.encode(), file)
