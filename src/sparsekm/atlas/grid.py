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
from pathlib import Path, PurePosixPath

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
    return VolumeHeader(
        dims=(nx, ny, nz),
        spacing=_parse_spacing(fields["ElementSpacing"], source),
        element_type=fields["ElementType"].upper(),
        big_endian=orders == {"true"},
        data_file=fields["ElementDataFile"],
    )


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


def _parse_spacing(value: str, source: str) -> tuple[float, float, float]:
    try:
        x, y, z = map(float, value.split())
    except ValueError:
        raise GridError(f"{source}: ElementSpacing={value[:60]} should be three numbers.") from None
    if not all(math.isfinite(step) and step > 0 for step in (x, y, z)):
        raise GridError(f"{source}: ElementSpacing={value[:60]} should be > 0 along each axis.")
    return x, y, z


MAX_HEADER_BYTES = 64 * 1024
MAX_VOLUME_BYTES = 64 * 1024 * 1024
"""Largest array accepted; the largest grid of the atlas has 3.2 MB."""


class DamagedArchiveError(GridError):
    """An incomplete zip archive: what arrived is not what was sent."""


class MissingGridError(GridError):
    """An intact archive without a volume of the expected name."""


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


def read_energy(archive: str | Path | bytes, source: str | None = None) -> Volume:
    """Read an expression energy grid: float32, -1 if no section covers the voxel.

    The archive is the zip as sent by the server; `source` names it in messages. An incomplete one
    is a `DamagedArchiveError`, an intact one without a grid a `MissingGridError`, and one with an
    invalid header or values another `GridError`.
    """
    source = source or _describe(archive)
    volume = read_volume(archive, ENERGY_MEMBER, ENERGY_DTYPE, source)
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


def read_annotation(archive: str | Path | bytes, source: str | None = None) -> Volume:
    """Read a structure annotation grid, uint32 ids with 0 for unannotated; see `read_energy`.

    Ids are never converted to floats, which cannot represent ids above 2**24.
    """
    return read_volume(archive, ANNOTATION_MEMBER, ANNOTATION_DTYPE, source)


def read_volume(
    archive: str | Path | bytes, stem: str, dtype: np.dtype, source: str | None = None
) -> Volume:
    """Read `stem`.mhd and its array, whose header must declare `dtype`, from a zip archive."""
    source = source or _describe(archive)
    body = archive if isinstance(archive, bytes) else _read_bytes(Path(archive), source)
    try:
        with zipfile.ZipFile(BytesIO(body)) as opened:
            return _read_members(opened, stem, np.dtype(dtype), source)
    except GridError:
        raise
    # A damaged archive can cause almost any error anywhere inside zipfile.
    except Exception as error:
        raise DamagedArchiveError(
            f"{source}: should be a complete zip archive ({reason_of(error)})."
        ) from error


def _read_bytes(path: Path, source: str) -> bytes:
    size = path.stat().st_size
    if size > MAX_VOLUME_BYTES:
        raise GridError(f"{source}: bytes={size} should be <= {MAX_VOLUME_BYTES}.")
    return path.read_bytes()


def _describe(archive: str | Path | bytes) -> str:
    return "archive" if isinstance(archive, bytes) else str(archive)


def _read_members(opened: zipfile.ZipFile, stem: str, dtype: np.dtype, source: str) -> Volume:
    header_member = _find_member(opened, f"{stem}.mhd", source)
    raw = _read_capped(opened, header_member, MAX_HEADER_BYTES, source)
    header = parse_header(raw, f"{source}: {header_member.filename}")
    if header.dtype != dtype:
        raise GridError(
            f"{source}: ElementType={header.element_type} ({header.dtype}) should be {dtype}."
        )
    data_name = PurePosixPath(header.data_file.replace("\\", "/")).name
    data_member = _find_member(opened, data_name, source)
    _check_raw_size(header, data_member, source)
    raw = _read_capped(opened, data_member, MAX_VOLUME_BYTES, source)
    nx, ny, nz = header.dims
    stored = dtype.newbyteorder(">") if header.big_endian else dtype
    values = np.frombuffer(raw, dtype=stored).reshape(nz, ny, nx)
    return Volume(values.astype(dtype.newbyteorder("="), copy=False), header.spacing)


def _find_member(opened: zipfile.ZipFile, name: str, source: str) -> zipfile.ZipInfo:
    """Find a member by base name, in any folder."""
    found = [
        member
        for member in opened.infolist()
        if not member.is_dir()
        and PurePosixPath(member.filename.replace("\\", "/")).name.lower() == name.lower()
    ]
    if not found:
        raise MissingGridError(f"{source}: the archive should contain a member named {name}.")
    if len(found) > 1:
        names = ", ".join(member.filename for member in found)
        raise GridError(f"{source}: {name} should be one member, found {len(found)}: {names}.")
    return found[0]


def _check_raw_size(header: VolumeHeader, member: zipfile.ZipInfo, source: str) -> None:
    nx, ny, nz = header.dims
    wanted = nx * ny * nz * header.dtype.itemsize
    if member.file_size != wanted:
        raise GridError(
            f"{source}: {member.filename} has {member.file_size} bytes; DimSize={nx} {ny} {nz} of "
            f"{header.element_type} should take {wanted}."
        )


def _read_capped(opened: zipfile.ZipFile, member: zipfile.ZipInfo, most: int, source: str) -> bytes:
    """Read a member if its declared size is within bounds; reading it all checks its CRC."""
    if member.file_size > most:
        raise GridError(
            f"{source}: {member.filename} declares {member.file_size} bytes, should be <= {most}."
        )
    with opened.open(member) as stream:
        return stream.read(member.file_size + 1)
