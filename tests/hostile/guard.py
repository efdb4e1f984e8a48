"""Bounds on what a trial may take and do, set on the process that runs it."""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MOST_SECONDS = 60
"""Of one trial, on a busy machine; then the process ends with a traceback."""
MOST_BYTES = 256 * 2**20
"""Memory that one trial may take on top of what the process has."""
MOST_ADDRESS_SPACE = 2**30
"""What the process may map on top. Of HDF5 only this is asked: before it looks at a string, the
library zeroes a buffer of the length that the file says, at most 4 GiB."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of the interpreter that no reader has any business to raise.
_FORBIDDEN = (
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "socket.getaddrinfo",
)
_CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link", "os.chmod")


@dataclass
class Watch:
    """What happened since the last look.

    Attributes
    ----------
    folder : Path
        Where writing is allowed.
    offences : list of str
        Forbidden events, among them writing elsewhere.
    """

    folder: Path
    offences: list[str] = field(default_factory=list)
    is_on: bool = False

    def hook(self, event: str, arguments: tuple) -> None:
        """See every event of the interpreter."""
        if not self.is_on:
            return
        if event in _FORBIDDEN:
            self.offences.append(f"{event} {arguments!r:.200}")
        elif event == "open":
            path, mode, flags = arguments
            writes = any(letter in str(mode) for letter in "wax+") if mode else flags & _WRITING
            if writes and not self._is_inside(path):
                self.offences.append(f"writes {path!r}")
        elif event in _CHANGING and not self._is_inside(arguments[0]):
            self.offences.append(f"{event} {arguments!r:.200}")

    def _is_inside(self, path: object) -> bool:
        if isinstance(path, int):
            return True
        found = os.path.realpath(os.fsdecode(path))
        return found == "/dev/null" or found.startswith(f"{self.folder}{os.sep}")


def bound_process(folder: Path) -> Watch:
    """Bound this process's address space for good, and watch what it does."""
    used = _status("VmSize")
    most = used + MOST_ADDRESS_SPACE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    watch = Watch(Path(os.path.realpath(folder)))
    sys.addaudithook(watch.hook)
    return watch


@dataclass
class Cost:
    """What a trial took."""

    seconds: float = 0.0
    bytes: int = 0


@contextmanager
def trial(watch: Watch) -> Iterator[Cost]:
    """Watch and measure what is done inside; end the process where it takes too long."""
    cost = Cost()
    watch.offences.clear()
    # The peak of memory begins anew.
    Path("/proc/self/clear_refs").write_text("5")
    before, start = _status("VmRSS"), time.monotonic()
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
    watch.is_on = True
    try:
        yield cost
    finally:
        watch.is_on = False
        faulthandler.cancel_dump_traceback_later()
        cost.seconds = time.monotonic() - start
        cost.bytes = max(0, _status("VmHWM") - before)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)
