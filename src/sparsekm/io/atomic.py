"""Writing among other processes: a file is complete or absent, and locks take turns.

Some network file systems do not support locks. There, processes do not wait for each other and work
without a lock.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from sparsekm.io.input_error import InputError

if TYPE_CHECKING:
    import pandas as pd


_FULL = (errno.ENOSPC, errno.EDQUOT)
# For everything in a file except its largest array.
_MARGIN = 2**20


_KINDS = {
    stat.S_IFLNK: "symbolic link",
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
}


def refuse_to_replace(file: str | Path) -> None:
    """Refuse to write where there is something other than a regular file; folders may be links."""
    try:
        kind = stat.S_IFMT(os.lstat(file).st_mode)
    except OSError:
        # There is no file, or the error of writing will say why there cannot be one.
        return
    if kind != stat.S_IFREG:
        found = _KINDS.get(kind, "device")
        raise InputError(
            f"{file}: is a {found}; only a regular file is written to or replaced. Remove the "
            f"{found}, or choose another file."
        )


def open_to_append(file: str | Path) -> IO[str]:
    """Open a regular file to append lines or to lock it; file and folder are created."""
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    refuse_to_replace(file)
    return Path(file).open("a", encoding="utf-8")


@contextmanager
def atomic_path(file: str | Path, n_bytes: int = 0) -> Iterator[Path]:
    """Yield a temporary path in the same folder, which is renamed to `file` if the block succeeds.

    A half-written file is therefore never visible, and after an error an existing `file` is
    unchanged. The path has the suffix of `file`, because some writers depend on it; the folder is
    created. Anything that is not a regular file, such as a link, is not replaced.

    `n_bytes` is the expected size, for writers such as HDF5 that crash when the disk fills up:
    without this space, writing does not start. If the disk or a quota is full, any error of the
    library becomes an OSError with ``errno.ENOSPC`` and the name of the file.
    """
    file = Path(file)
    refuse_to_replace(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{os.getpid()}.partial.{file.name}")
    # A killed process with this number, or somebody else, may have left it.
    temporary.unlink(missing_ok=True)
    full = OSError(errno.ENOSPC, "No space left on device; make space and run again", str(file))
    if n_bytes and shutil.disk_usage(file.parent).free < n_bytes + _MARGIN:
        raise full
    try:
        yield temporary
        with temporary.open("rb") as written:
            # Without this, a crash of the machine could leave an empty file with the new name.
            os.fsync(written.fileno())
        temporary.replace(file)
    except Exception as error:
        if _is_full(error):
            raise full from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(folder: str | Path, name: str = "*") -> None:
    """Remove leftovers of killed writers of this file; no other process may write it."""
    for left in Path(folder).glob(f".*.partial.{name}"):
        left.unlink(missing_ok=True)


def _is_full(error: BaseException | None) -> bool:
    """Tell whether an error, or a cause, means a full disk; HDF5 says so only in its message."""
    while error is not None:
        known = getattr(error, "errno", None) in _FULL
        if known or any(os.strerror(number) in str(error) for number in _FULL):
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


try:
    import fcntl
except ImportError:
    fcntl = None

SUPPORTED = (
    "The workflow runs on Linux and macOS; on Windows, run it in the Windows Subsystem for Linux."
)
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)


def is_supported() -> bool:
    """Tell whether this operating system has the locks that the workflow needs."""
    return fcntl is not None


def lock_file(opened: IO | int, *, wait: bool = True) -> bool:
    """Lock a file that this process has opened for writing, until the file is closed.

    Returns False only if another process holds the lock and `wait` is false. On a file system
    without locks it returns True.
    """
    if fcntl is None:
        raise OSError(errno.ENOSYS, SUPPORTED)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
    return True
