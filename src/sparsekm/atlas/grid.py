"""Reading a volume from a zip archive sent by a server: an .mhd header and a .raw array.

``AnatomicalOrientation`` is ignored on purpose: in the servers' files it contradicts their
documentation, and the order of the array is what matters.

The array has shape (nz, ny, nx): x varies fastest in the file, so voxel (x, y, z) has the linear
position x + nx * (y + ny * z), counted from 0. Nothing is written to disk, and a member is only
decompressed after its size has been checked; zipfile checks its CRC.
"""

from __future__ import annotations

import math
import re
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath

import numpy as np

from sparsekm.atlas.vocabulary import (
    ANNOTATION_DTYPE,
    ANNOTATION_MEMBER,
    ELEMENT_DTYPES,
    ENERGY_DTYPE,
    ENERGY_MEMBER,
    NO_DATA,
)
from sparsekm.io.input_error import InputError, reason_of

MAX_EXTENT = 10_000
"""Maximum voxels along an axis; the longest axis of the atlas has 141."""
MAX_HEADER_BYTES = 64 * 1024
MAX_VOLUME_BYTES = 64 * 1024 * 1024
"""Largest array accepted; the largest grid of the atlas has 3.2 MB."""


class GridError(InputError):
    """An invalid volume; the message names the file, the value and the rule."""


class DamagedArchiveError(GridError):
    """An incomplete zip archive: what arrived is not what was sent."""


class MissingGridError(GridError):
    """An intact archive without a volume of the expected name."""


@dataclass(frozen=True)
class VolumeHeader:
    """The description of an array in a header."""

    dims: tuple[int, int, int]  # extent along x, y, z
    spacing: tuple[float, float, float]  # micrometres between voxels along x, y, z
    element_type: str
    stored: np.dtype  # of the array, in the byte order of its file
    data_file: str  # name of the array's file


# What the values of keys should match, whatever their case, and how messages say so.
_REQUIRED = {
    "NDims": ("3", "3"),
    "ElementType": ("|".join(ELEMENT_DTYPES), " or ".join(ELEMENT_DTYPES)),
    "DimSize": (r"[0-9]+(\s+[0-9]+){2}", "three whole numbers"),
    "ElementSpacing": (r"\S+(\s+\S+){2}", "three numbers"),
    "ElementDataFile": (".+", "a name"),
}
_OPTIONAL = {
    "BinaryData": ("True", "True"),
    "CompressedData": ("False", "False"),
    "BinaryDataByteOrderMSB": ("True|False", "True or False"),
    "ElementByteOrderMSB": ("True|False", "True or False"),
    "ElementNumberOfChannels": ("1", "1"),
    "HeaderSize": ("0", "0"),
}


def parse_header(text: str | bytes, source: str = "header") -> VolumeHeader:
    """Parse and check a header of lines ``key = value``, in any order; other keys are ignored."""
    fields = _split_lines(text, source)
    for key, (pattern, wanted) in {**_REQUIRED, **_OPTIONAL}.items():
        value = fields.get(key, "")
        if key in _REQUIRED and not value:
            raise GridError(f"{source}: the header should give {key}.")
        if key in fields and not re.fullmatch(pattern, value, re.IGNORECASE):
            raise GridError(f"{source}: {key}={value[:60]} should be {wanted}.")
    orders = {fields[key].lower() for key in fields if key.endswith("ByteOrderMSB")}
    if len(orders) > 1:
        raise GridError(f"{source}: the byte order should be stated once, found both.")
    nx, ny, nz = (int(part[:9]) for part in fields["DimSize"].split())
    if not 1 <= min(nx, ny, nz) <= max(nx, ny, nz) <= MAX_EXTENT:
        raise GridError(
            f"{source}: DimSize={fields['DimSize'][:60]} should be >= 1 and <= {MAX_EXTENT} along "
            "each axis."
        )
    told = f"{source}: ElementSpacing={fields['ElementSpacing'][:60]} should be"
    try:
        x, y, z = map(float, fields["ElementSpacing"].split())
    except ValueError:
        raise GridError(f"{told} three numbers.") from None
    if not all(math.isfinite(step) and step > 0 for step in (x, y, z)):
        raise GridError(f"{told} > 0 along each axis.")
    name = fields["ElementType"].upper()
    stored = ELEMENT_DTYPES[name].newbyteorder(">" if orders == {"true"} else "<")
    return VolumeHeader((nx, ny, nz), (x, y, z), name, stored, fields["ElementDataFile"])


def _split_lines(text: str | bytes, source: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    lines = (text if isinstance(text, str) else text.decode("utf-8", "replace")).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        key, equals, value = map(str.strip, line.partition("="))
        if not equals or not key:
            raise GridError(f"{source}: line {number}={line[:60]!r} should read 'key = value'.")
        if key in fields:
            raise GridError(f"{source}: {key} should be given once, line {number} repeats it.")
        fields[key] = value
    return fields


@dataclass(frozen=True)
class Volume:
    """A grid with its physical scale."""

    values: np.ndarray  # (nz, ny, nx): float32 energies, or uint32 structure ids
    # Distance between neighbouring voxels along x, y, z, in micrometres.
    spacing: tuple[float, float, float]

    @property
    def dims(self) -> tuple[int, int, int]:
        """Extent along x, y, z, as in the header."""
        nz, ny, nx = self.values.shape
        return nx, ny, nz


def read_energy(archive: bytes, source: str = "archive") -> Volume:
    """Read an expression energy grid: float32, -1 if no section covers the voxel.

    The archive is the zip as sent by the server; `source` names it in messages. An incomplete one
    is a `DamagedArchiveError`, an intact one without a grid a `MissingGridError`, and one with an
    invalid header or values another `GridError`.
    """
    volume = _read_volume(archive, ENERGY_MEMBER, ENERGY_DTYPE, source)
    values = volume.values.ravel()
    for rule, wrong in (
        ("finite", ~np.isfinite(values)),
        (f">= 0, or {NO_DATA:g} for no data", (values < 0) & (values != NO_DATA)),
    ):
        if wrong.any():
            position = int(np.argmax(wrong))
            raise GridError(
                f"{source}: energy={values[position]} at linear position {position} should be "
                f"{rule} ({np.count_nonzero(wrong)} such values)."
            )
    return volume


def read_annotation(archive: bytes, source: str = "archive") -> Volume:
    """Read structure ids, uint32 with 0 for unannotated: floats cannot hold those above 2**24."""
    return _read_volume(archive, ANNOTATION_MEMBER, ANNOTATION_DTYPE, source)


def _read_volume(archive: bytes, stem: str, dtype: np.dtype, source: str) -> Volume:
    """Read `stem`.mhd and its array, whose header must declare `dtype`."""
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            return _read_members(opened, stem, dtype, source)
    except GridError:
        raise
    # A damaged archive can cause almost any error anywhere inside zipfile.
    except Exception as error:
        raise DamagedArchiveError(
            f"{source}: should be a complete zip archive ({reason_of(error)})."
        ) from error


def _read_members(opened: zipfile.ZipFile, stem: str, dtype: np.dtype, source: str) -> Volume:
    member = _find_member(opened, f"{stem}.mhd", source)
    text = _read_capped(opened, member, MAX_HEADER_BYTES, source)
    header = parse_header(text, f"{source}: {member.filename}")
    if ELEMENT_DTYPES[header.element_type] != dtype:
        raise GridError(
            f"{source}: ElementType={header.element_type} ({header.stored.name}) should be {dtype}."
        )
    member = _find_member(opened, _base_name(header.data_file), source)
    nx, ny, nz = header.dims
    wanted = nx * ny * nz * dtype.itemsize
    if member.file_size != wanted:
        raise GridError(
            f"{source}: {member.filename} has {member.file_size} bytes; DimSize={nx} {ny} {nz} of "
            f"{header.element_type} should take {wanted}."
        )
    raw = _read_capped(opened, member, MAX_VOLUME_BYTES, source)
    values = np.frombuffer(raw, dtype=header.stored).reshape(nz, ny, nx)
    return Volume(values.astype(dtype.newbyteorder("="), copy=False), header.spacing)


def _base_name(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).name


def _find_member(opened: zipfile.ZipFile, name: str, source: str) -> zipfile.ZipInfo:
    """Find a member by base name, in any folder."""
    members = [member for member in opened.infolist() if not member.is_dir()]
    found = [m for m in members if _base_name(m.filename).lower() == name.lower()]
    if not found:
        raise MissingGridError(f"{source}: the archive should contain a member named {name}.")
    if len(found) > 1:
        names = ", ".join(member.filename for member in found)
        raise GridError(f"{source}: {name} should be one member, found {len(found)}: {names}.")
    return found[0]


def _read_capped(opened: zipfile.ZipFile, member: zipfile.ZipInfo, most: int, source: str) -> bytes:
    """Read a member if its declared size is within bounds; reading it all checks its CRC."""
    if member.file_size > most:
        raise GridError(
            f"{source}: {member.filename} declares {member.file_size} bytes, should be <= {most}."
        )
    with opened.open(member) as stream:
        return stream.read(member.file_size + 1)
