"""Parse the .mhd header of a volume: lines of ``key = value``.

``AnatomicalOrientation`` is ignored on purpose: in the servers' files it contradicts their
documentation, and the order of the array is what matters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparsekm.atlas.vocabulary import ELEMENT_DTYPES
from sparsekm.io.input_error import InputError

MAX_EXTENT = 10_000
"""Maximum voxels along an axis; the longest axis of the atlas has 141."""


class GridError(InputError):
    """An invalid volume; the message names the file, the value and the rule."""


@dataclass(frozen=True)
class VolumeHeader:
    """The description of an array in a header."""

    dims: tuple[int, int, int]  # extent along x, y, z
    spacing: tuple[float, float, float]  # micrometres between voxels along x, y, z
    element_type: str
    big_endian: bool
    data_file: str  # name of the array's file

    @property
    def dtype(self) -> np.dtype:
        """Element type in the byte order used by the package (little-endian)."""
        return ELEMENT_DTYPES[self.element_type]


def parse_header(text: str | bytes, source: str = "header") -> VolumeHeader:
    """Parse and check a header of lines ``key = value``, in any order; other keys are ignored."""
    fields = _split_lines(text, source)
    _require_value(fields, "NDims", ("3",), source)
    element_type = _require_value(fields, "ElementType", tuple(ELEMENT_DTYPES), source)
    for key, allowed in _OPTIONAL_VALUES.items():
        if key in fields:
            _require_value(fields, key, allowed, source)
    byte_order = {
        fields[key].lower()
        for key in ("BinaryDataByteOrderMSB", "ElementByteOrderMSB")
        if key in fields
    }
    if len(byte_order) > 1:
        raise GridError(f"{source}: the byte order should be stated once, found both.")
    return VolumeHeader(
        dims=_parse_dims(_get(fields, "DimSize", source), source),
        spacing=_parse_spacing(_get(fields, "ElementSpacing", source), source),
        element_type=element_type,
        big_endian=byte_order == {"true"},
        data_file=_get(fields, "ElementDataFile", source),
    )


_OPTIONAL_VALUES = {
    "BinaryData": ("True",),
    "CompressedData": ("False",),
    "BinaryDataByteOrderMSB": ("True", "False"),
    "ElementByteOrderMSB": ("True", "False"),
    "ElementNumberOfChannels": ("1",),
    "HeaderSize": ("0",),
}


def _split_lines(text: str | bytes, source: str) -> dict[str, str]:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise GridError(f"{source}: the header should be text ({error}).") from error
    fields: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        key, equals, value = line.partition("=")
        key, value = key.strip(), value.strip()
        if not equals or not key:
            raise GridError(f"{source}: line {number}={line[:60]!r} should read 'key = value'.")
        if key in fields:
            raise GridError(f"{source}: {key} should be given once, line {number} repeats it.")
        fields[key] = value
    return fields


def _get(fields: dict[str, str], key: str, source: str) -> str:
    if not fields.get(key):
        raise GridError(f"{source}: the header should give {key}.")
    return fields[key]


def _require_value(fields: dict[str, str], key: str, allowed: tuple[str, ...], source: str) -> str:
    value = _get(fields, key, source)
    for choice in allowed:
        if value.lower() == choice.lower():
            return choice
    raise GridError(f"{source}: {key}={value[:60]} should be {' or '.join(allowed)}.")


def _parse_dims(value: str, source: str) -> tuple[int, int, int]:
    parts = value.split()
    if len(parts) != 3 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise GridError(f"{source}: DimSize={value[:60]} should be three whole numbers.")
    # The digits are counted first, since Python is slow at parsing thousands of them.
    if max(map(len, parts)) > 9 or not all(1 <= int(part) <= MAX_EXTENT for part in parts):
        raise GridError(
            f"{source}: DimSize={value[:60]} should be >= 1 and <= {MAX_EXTENT} along each axis."
        )
    nx, ny, nz = map(int, parts)
    return nx, ny, nz


def _parse_spacing(value: str, source: str) -> tuple[float, float, float]:
    try:
        x, y, z = map(float, value.split())
    except ValueError:
        raise GridError(f"{source}: ElementSpacing={value[:60]} should be three numbers.") from None
    if not all(math.isfinite(step) and step > 0 for step in (x, y, z)):
        raise GridError(f"{source}: ElementSpacing={value[:60]} should be > 0 along each axis.")
    return x, y, z
