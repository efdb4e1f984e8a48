"""Hostile inputs by the names that they have in the table of docs/hostile_input.md."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

INPUTS: dict[str, Callable[[Path, Path], Callable[[], object]]] = {}
"""By name: of (folder of sound files, new folder), makes the input, and gives what reads it."""


def hostile_input(name: str):
    """Register a function as the maker of the input of this name."""

    def register(function):
        INPUTS[name] = function
        return function

    return register


def write_zip(file: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write an archive and give its name."""
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return file
