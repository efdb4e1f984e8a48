"""Reading text files from others, with errors that give the line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from sparsekm.io.input_error import InputError

MOST_MEMORY = 2**33
"""Bytes that reading gene sets may take, see `sparsekm.io.bounded_child`."""

_GZIP = b"\x1f\x8b"


class GeneSetError(InputError):
    """A file of gene sets breaks its format; the message names file, line and column."""


def at(file: str | Path, line: int, column: int | None = None) -> str:
    """Format a position in a file, counted from 1, for the beginning of a message."""
    return f"{file}, line {line}" + ("" if column is None else f", column {column}")


def read_lines(file: str | Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file, compressed by gzip or not, with their numbers from 1."""
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    with file.open("rb") as opened:
        compressed = opened.read(2) == _GZIP
    number = 0
    try:
        with gzip.open(file) if compressed else file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield number, _decode(file, number, line)
    except (EOFError, zlib.error, OSError) as error:
        raise GeneSetError(
            f"{at(file, number + 1)}: the compressed file is damaged ({error})."
        ) from error


def _decode(file: Path, number: int, line: bytes) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GeneSetError(
            f"{at(file, number, error.start + 1)}: byte {line[error.start]:#04x} is not UTF-8."
        ) from error
    if "\0" in text:
        raise GeneSetError(f"{at(file, number, text.index(chr(0)) + 1)}: NUL is not allowed.")
    return text.rstrip("\r\n")
