"""The heaps in which an HDF5 file keeps its strings, checked before HDF5 reads them.

HDF5 walks a heap from object to object by the sizes that stand in it. An object that says it has
no size keeps some versions of the library walking on the spot for ever, where no time-out of
Python's can reach it; one that says it is huge makes them take as much memory.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

# Signature, version 1, three bytes of zero; then the size of the whole, then the objects.
_MARK = b"GCOL\x01\0\0\0"
_SIZE = struct.Struct("<Q")
_HEADER_BYTES = 16
_WINDOW_BYTES = 2**22
# Number, references to it, nothing, size. Number 0 is what is free, and counts its header.
_OBJECT = struct.Struct("<HHIQ")


def find_broken_heap(file: str | Path) -> str | None:
    """Say which heap of a file HDF5 could not walk to its end, if there is one.

    Parameters
    ----------
    file : path
        Of HDF5, with sizes of eight bytes, as all libraries write them unless told otherwise.
    """
    with Path(file).open("rb") as opened:
        try:
            content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            return None
        with content:
            for place in _find_marks(opened):
                if not _is_walkable(content, place):
                    return f"the heap of strings at byte {place} is damaged"
    return None


def _find_marks(opened: BinaryIO) -> Iterator[int]:
    """Yield where heaps begin. Read, not mapped: a mapped matrix would count as memory in use."""
    before, window = 0, b""
    while part := opened.read(_WINDOW_BYTES):
        # What a mark that lies across the border has on this side of it.
        kept = window[-(len(_MARK) - 1) :]
        before, window = before + len(window) - len(kept), kept + part
        place = window.find(_MARK)
        while place >= 0:
            yield before + place
            place = window.find(_MARK, place + len(_MARK))


def _is_walkable(content: mmap.mmap, start: int) -> bool:
    if start + _HEADER_BYTES > len(content):
        return False
    (size,) = _SIZE.unpack_from(content, start + len(_MARK))
    if not _HEADER_BYTES <= size <= len(content) - start:
        return False
    place = _HEADER_BYTES
    while place + _OBJECT.size <= size:
        number, _, _, n_bytes = _OBJECT.unpack_from(content, start + place)
        step = n_bytes if number == 0 else _OBJECT.size + -(-n_bytes // 8) * 8
        if step < _OBJECT.size or place + step > size:
            return False
        place += step
    return True
