"""What a reader does while it reads: forbidden acts are seen by a hook of the interpreter."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

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


class OffenceError(Exception):
    """Something that no reader may do."""


@dataclass
class Watch:
    """What happened since it began."""

    folders: tuple[Path, ...]  # where writing is allowed
    # Forbidden events, among them writing elsewhere.
    offences: list[str] = field(default_factory=list)
    is_on: bool = True

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
        elif event in _CHANGING and not self._is_inside(arguments[0], arguments[-1]):
            self.offences.append(f"{event} {arguments!r:.200}")

    def _is_inside(self, path: object, folder: object = -1) -> bool:
        if isinstance(path, int):
            return True
        place = Path(os.fsdecode(path))
        if isinstance(folder, int) and folder >= 0:
            # Relative to an open folder, as `shutil.rmtree` removes.
            place = Path(f"/proc/self/fd/{folder}").readlink() / place
        found = os.path.realpath(place)
        return found == "/dev/null" or any(map(Path(found).is_relative_to, self.folders))


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Raise `OffenceError` after what does what no reader may; a hook stays for good.

    So it is for processes that end afterwards, as the children of
    `sparsekm.pipeline.bounded_process` do; their temporary folder is theirs to write in.
    """
    places = folder, tempfile.gettempdir()
    watch = Watch(tuple(Path(os.path.realpath(place)) for place in places))
    sys.addaudithook(watch.hook)
    try:
        yield
    finally:
        watch.is_on = False
        if watch.offences:
            raise OffenceError(f"did what no reader may: {watch.offences}")
