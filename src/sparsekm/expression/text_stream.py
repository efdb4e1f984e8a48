"""The bytes of a text file that others made, compressed or not, without endless lines."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import IO

from sparsekm.expression.raw_matrix import MatrixError

MOST_LINE_BYTES = 2**25
"""Bytes of a line; numbers of a million features take some 20 MB."""

_BLOCK_BYTES = 2**18
_QUOTE = b'"'


def open_text(file: str | Path) -> IO[bytes]:
    """Open a file whose lines, once decompressed, have at most `MOST_LINE_BYTES`.

    What stands between quotation marks counts as one line, however many line ends are in it: CSV
    reads it as one cell.

    Parameters
    ----------
    file : path
        Compressed where it ends in ``.gz``.
    """
    file = Path(file)
    opener = gzip.open if file.suffix.lower() == ".gz" else open
    return io.BufferedReader(_BoundedLines(file, opener(file, "rb")), _BLOCK_BYTES)


class _BoundedLines(io.RawIOBase):
    def __init__(self, file: Path, opened: IO[bytes]) -> None:
        self._file = file
        self._opened = opened
        self._pending = 0
        self._is_quoted = False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._opened.close()
        super().close()

    def readinto(self, target: memoryview) -> int:
        block = self._opened.read(len(target))
        self._count(block)
        target[: len(block)] = block
        return len(block)

    def _count(self, block: bytes) -> None:
        """Keep the number of bytes since the last line end outside of quotation marks."""
        is_quoted, start = self._is_quoted, len(block)
        if block.count(_QUOTE) % 2:
            self._is_quoted = not is_quoted
        # From the end backwards: piece after piece is outside or inside of quotation marks.
        inside = self._is_quoted
        while start > 0:
            mark = block.rfind(_QUOTE, 0, start)
            end = -1 if inside else block.rfind(b"\n", mark + 1, start)
            if end >= 0:
                self._pending = len(block) - end - 1
                return
            start, inside = mark, not inside
        self._pending += len(block)
        if self._pending > MOST_LINE_BYTES:
            raise MatrixError(
                f"{self._file}: a line, or what stands in quotation marks, has more than "
                f"{MOST_LINE_BYTES} bytes; it should have fewer."
            )
