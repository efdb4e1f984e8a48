"""Lines of text files that others made: bounded in size, and errors that name the place."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from sparsekm.storage.input_error import InputError

MOST_BYTES = 8 * 1024**3
"""Bytes read from a file, after decompression; all organisms' gene2go has some 1.5 GB."""
MOST_LINE_BYTES = 4 * 1024**2
"""Bytes of a line; a gene set of all mouse genes by symbol has some 0.2 MB."""
MOST_LINES = 50_000_000
"""Lines of a file; all organisms' gene2go has some 20 million."""

_GZIP = b"\x1f\x8b"


class GeneSetError(InputError):
    """A file of gene sets breaks its format; the message names file, line and column."""


def at(file: str | Path, line: int, column: int | None = None) -> str:
    """Name a place in a file, counted from 1, as messages begin."""
    return f"{file}, line {line}" + ("" if column is None else f", column {column}")


def read_lines(
    file: str | Path, *, most_bytes: int = MOST_BYTES, most_line_bytes: int = MOST_LINE_BYTES
) -> Iterator[tuple[int, str]]:
    """Read a UTF-8 file line by line, compressed by gzip or not.

    Parameters
    ----------
    file : path
    most_bytes, most_line_bytes : int
        Bytes that the file, decompressed, and a line of it may have.

    Yields
    ------
    number : int
        From 1.
    line : str
        Without its end.

    Raises
    ------
    GeneSetError
        If the file is too large, a line is too long, is no UTF-8 or holds a NUL, or the
        compressed file is cut short or damaged.
    FileNotFoundError
    """
    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    with file.open("rb") as opened:
        compressed = opened.read(2) == _GZIP
    number, total = 0, 0
    try:
        with gzip.open(file) if compressed else file.open("rb") as stream:
            while line := stream.readline(most_line_bytes + 1):
                number, total = number + 1, total + len(line)
                if len(line) > most_line_bytes:
                    raise GeneSetError(
                        f"{at(file, number)}: the line should have <= {most_line_bytes} bytes."
                    )
                if number > MOST_LINES:
                    raise GeneSetError(f"{file}: the file should have <= {MOST_LINES} lines.")
                if total > most_bytes:
                    raise GeneSetError(f"{at(file, number)}: more than {most_bytes} bytes so far.")
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
            f"{at(file, number, error.start + 1)}: byte {line[error.start]:#04x} is no UTF-8."
        ) from error
    if "\0" in text:
        raise GeneSetError(f"{at(file, number, text.index(chr(0)) + 1)}: a NUL is no text.")
    return text.rstrip("\r\n")
