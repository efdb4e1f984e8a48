"""What a reader does while it reads: forbidden acts are seen by a hook of the interpreter."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of the interpreter that no reader has any business to raise.
_FORBIDDEN = {"pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.fork"}
_FORBIDDEN |= {"subprocess.Popen", "socket.connect", "socket.getaddrinfo", "os.symlink", "os.link"}


class OffenceError(Exception):
    """Something that no reader may do."""


@contextmanager
def watched(folder: Path) -> Iterator[None]:
    """Raise after a forbidden act, or writing outside `folder`; for processes that end then."""
    places = [os.path.realpath(place) for place in (folder, tempfile.gettempdir(), os.devnull)]
    offences: list[str] = []

    def hook(event: str, arguments: tuple) -> None:
        if event in _FORBIDDEN:
            offences.append(f"{event} {arguments!r:.200}")
        elif event == "open" and not isinstance(arguments[0], int):
            path, mode, flags = arguments
            writes = any(letter in str(mode) for letter in "wax+") if mode else flags & _WRITING
            place = Path(os.path.realpath(os.fsdecode(path)))
            if writes and not any(map(place.is_relative_to, places)):
                offences.append(f"writes {path!r}")

    sys.addaudithook(hook)
    yield
    if offences:
        raise OffenceError(f"did what no reader may: {offences}")
