"""A pickle that leaves a trace where it is loaded."""

from __future__ import annotations

from pathlib import Path


class Payload:
    """Unpickled, this makes a file: whoever finds it knows that a pickle was loaded."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)
