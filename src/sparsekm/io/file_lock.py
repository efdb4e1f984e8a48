"""Locks that processes on one machine hold on open files, and release when they end.

Some network file systems do not support locks. There processes do not wait for each other: the work
is done without the lock, and a line in the log says so.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from functools import cache
from typing import IO

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


def lock_file(
    opened: IO | int, *, wait: bool = True, tell: Callable[[str], object] | None = None
) -> bool:
    """Lock a file that this process has opened for writing, until the file is closed.

    Returns False only if another process holds the lock and `wait` is false. On a file system
    without locks it returns True and calls `tell` with a line, which by default is logged once.
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
        (tell or _log_once)(
            f"This file system does not support locks ({error.strerror}): jobs do not wait for "
            "each other."
        )
    return True


@cache
def _log_once(line: str) -> None:
    # Through its own logger: the functions of `logging` would configure the root logger.
    logging.getLogger(__name__).warning("%s", line)
