"""Reading the arrays of a NumPy archive (``.npz``), member by member, without trusting them.

`numpy.load` makes room for whatever shape a header claims; here the claim must fit the member's
size first. Arrays of Python objects are refused, since loading them would run code.
"""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.lib import format as npy

from sparsekm.storage.checked_zip import check_member
from sparsekm.storage.input_error import InputError, reason_of

_LAST_LETTER = 0x10FFFF


class DamagedArrayError(InputError):
    """An array that is not as NumPy writes it; the message does not name the file."""


@dataclass(frozen=True)
class ArrayHeader:
    """What a stored array says about itself.

    Attributes
    ----------
    shape : tuple of int
    is_fortran : bool
        Whether columns come one after the other.
    dtype : dtype
        Of numbers, strings or dates; no objects.
    """

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return math.prod(self.shape) * self.dtype.itemsize


def list_arrays(archive: zipfile.ZipFile) -> list[str]:
    """Name the arrays of an archive."""
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def read_header(archive: zipfile.ZipFile, name: str, stream: IO[bytes]) -> ArrayHeader:
    """Read the header of an array from its opened member, up to the first value.

    Raises
    ------
    DamagedArrayError
        If it is no header, the array holds Python objects, or it claims other than the member's
        bytes.
    """
    member = archive.getinfo(f"{name}.npy")
    check_member(member)
    try:
        version = npy.read_magic(stream)
        # Version 3 differs from 2 only in allowing Unicode in field names, which no matrix has.
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        header = ArrayHeader(*read(stream))
    # NumPy evaluates the header as a Python literal, which can fail in every way that parsing can.
    except Exception as error:
        raise DamagedArrayError(f"array {name!r} is damaged ({reason_of(error)})") from error
    if header.dtype.hasobject:
        raise DamagedArrayError(
            f"array {name!r} holds Python objects (dtype={header.dtype}), which could run code "
            "when loaded; it should hold plain numbers or strings"
        )
    if min(header.shape, default=0) < 0:
        raise DamagedArrayError(f"array {name!r} has shape={header.shape}")
    left = member.file_size - stream.tell()
    if left < header.nbytes:
        raise DamagedArrayError(
            f"array {name!r} is cut short: {left} bytes of the {header.nbytes} that "
            f"shape={header.shape} of {header.dtype} takes"
        )
    return header


def read_array(
    archive: zipfile.ZipFile, name: str, *, kinds: str = "fiubUS", ndim: int | None = None
) -> np.ndarray:
    """Read a whole array.

    Parameters
    ----------
    archive : ZipFile
    name : str
    kinds : str, optional
        Kinds of dtype to accept, by NumPy's letters.
    ndim : int, optional
        How many axes it should have.

    Raises
    ------
    DamagedArrayError
        Also if there is no such array.
    """
    if f"{name}.npy" not in archive.namelist():
        raise DamagedArrayError(f"array {name!r} is missing")
    with archive.open(f"{name}.npy") as stream:
        header = read_header(archive, name, stream)
        if header.dtype.kind not in kinds or not header.dtype.itemsize:
            raise DamagedArrayError(
                f"array {name!r} has dtype={header.dtype}; its kind should be one of {kinds!r}"
            )
        if ndim not in (None, len(header.shape)):
            raise DamagedArrayError(
                f"array {name!r} has shape={header.shape}; it should have {ndim} axes"
            )
        content = stream.read(header.nbytes)
        # To the end, where zipfile checks the CRC.
        stream.read(1)
    if len(content) != header.nbytes:
        raise DamagedArrayError(f"array {name!r} is cut short")
    values = np.frombuffer(content, dtype=header.dtype).copy()
    if header.dtype.kind == "U":
        # NumPy makes strings of these without a look at them.
        letters = values.view(np.dtype(np.uint32).newbyteorder(header.dtype.byteorder))
        if letters.max(initial=0) > _LAST_LETTER:
            raise DamagedArrayError(f"array {name!r} should hold text, holds {letters.max():#x}")
    return values.reshape(header.shape, order="F" if header.is_fortran else "C")
