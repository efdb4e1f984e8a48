"""Locks that processes of one machine hold on open files, and let go of when they end.

Some network file systems have none. There nobody waits for anybody: the work is done without the
lock, and a line in the log says so.
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
    """Lock a file that is open for writing for this process, until the file is closed.

    The result is False only where another process holds the lock and `wait` is false. On a file
    system without locks it is True, and `tell` is called with a line; by default it is logged,
    once.
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
            f"This file system has no locks ({error.strerror}): jobs do not wait for each other, "
            "and limits on requests hold for each job by itself."
        )
    return True


@cache
def _log_once(line: str) -> None:
    # By a logger of its own: the functions of `logging` would set up the root one.
    logging.getLogger(__name__).warning("%s", line)
