"""Reading a volume from a zip archive sent by a server: an .mhd header and a .raw array.

The array has shape (nz, ny, nx): voxel (x, y, z) has the linear position x + nx * (y + ny * z) for
any ``AnatomicalOrientation``. A member is decompressed, in memory, only after its size has been
checked; zipfile checks its CRC.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath

import numpy as np

from sparsekm.atlas import NO_DATA
from sparsekm.io.input_error import InputError, reason_of

ENERGY_MEMBER = "energy"
ANNOTATION_MEMBER = "gridAnnotation"
ELEMENT_DTYPES = {"MET_FLOAT": np.dtype("<f4"), "MET_UINT": np.dtype("<u4")}

MAX_VOLUME_BYTES = 64 * 1024 * 1024
"""Largest member that is read; the largest grid of the atlas has 3.2 MB."""


class GridError(InputError):
    """An invalid volume; the message names the file, the value and the rule."""


class DamagedArchiveError(GridError):
    """A zip archive that was damaged or cut off on the way."""


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


# Patterns that the values of keys should match, in any case, and their wording in messages. A
# missing key has an empty value. The length of an array shows whether it is packed or text.
_EXTENT = "0*[1-9][0-9]{0,3}"
_STEP = r"(?=[0-9.]*[1-9])[0-9]{1,9}(\.[0-9]{0,9})?(e[-+]?[0-9]{1,2})?"
_RULES = {
    "NDims": ("3", "3"),
    "ElementType": ("|".join(ELEMENT_DTYPES), " or ".join(ELEMENT_DTYPES)),
    "DimSize": (rf"{_EXTENT}(\s+{_EXTENT}){{2}}", "three whole numbers >= 1 and <= 9999"),
    "ElementSpacing": (rf"{_STEP}(\s+{_STEP}){{2}}", "three numbers > 0"),
    "ElementDataFile": (".+", "a name"),
    "BinaryDataByteOrderMSB": ("|True|False", "True or False"),
}


def parse_header(text: bytes, source: str = "header") -> dict[str, str]:
    """Return the checked fields of a header, lines ``key = value`` in any order, as text."""
    fields: dict[str, str] = {}
    for line in text.decode("utf-8", "replace").splitlines():
        key, _, value = map(str.strip, line.partition("="))
        if key in fields:
            raise GridError(f"{source}: {key[:60]} should be given once.")
        if key:
            fields[key] = value
    for key, (pattern, wanted) in _RULES.items():
        value = fields.setdefault(key, "")
        if not re.fullmatch(pattern, value, re.IGNORECASE):
            raise GridError(f"{source}: {key}={value[:60]} should be {wanted}.")
    return fields


def read_energy(archive: bytes, source: str = "archive") -> Volume:
    """Read an expression energy grid (float32; -1 if no section covers the voxel) from its zip."""
    volume = _read_volume(archive, ENERGY_MEMBER, "MET_FLOAT", source)
    values = volume.values.ravel()
    wrong = ~np.isfinite(values) | ((values < 0) & (values != NO_DATA))
    if wrong.any():
        position = int(np.argmax(wrong))
        raise GridError(
            f"{source}: energy={values[position]} at linear position {position} should be finite "
            f"and >= 0, or {NO_DATA:g} for no data. {np.count_nonzero(wrong)} values are not."
        )
    return volume


def read_annotation(archive: bytes, source: str = "archive") -> Volume:
    """Read structure ids, uint32 with 0 for unannotated: floats cannot hold those above 2**24."""
    return _read_volume(archive, ANNOTATION_MEMBER, "MET_UINT", source)


def _read_volume(archive: bytes, stem: str, element_type: str, source: str) -> Volume:
    """Read `stem`.mhd and the array that it describes."""
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            header = _read_member(opened, f"{stem}.mhd", source)
            fields = parse_header(header, f"{source}: {stem}.mhd")
            if fields["ElementType"].upper() != element_type:
                told = fields["ElementType"]
                raise GridError(f"{source}: ElementType={told} should be {element_type}.")
            nx, ny, nz = map(int, fields["DimSize"].split())
            is_big = fields["BinaryDataByteOrderMSB"].lower() == "true"
            stored = ELEMENT_DTYPES[element_type].newbyteorder(">" if is_big else "<")
            n_bytes = nx * ny * nz * stored.itemsize
            raw = _read_member(opened, _base_name(fields["ElementDataFile"]), source, n_bytes)
    except GridError:
        raise
    # A damaged archive can cause almost any error anywhere inside zipfile.
    except Exception as error:
        raise DamagedArchiveError(
            f"{source}: should be a complete zip archive ({reason_of(error)})."
        ) from error
    x, y, z = map(float, fields["ElementSpacing"].split())
    values = np.frombuffer(raw, dtype=stored).reshape(nz, ny, nx)
    return Volume(values.astype(stored.newbyteorder("="), copy=False), (x, y, z))


def _base_name(path: str) -> str:
    return PurePosixPath(path.replace("\\", "/")).name


def _read_member(
    opened: zipfile.ZipFile, name: str, source: str, n_bytes: int | None = None
) -> bytes:
    """Read a member of any folder by its base name, if it declares an acceptable size."""
    found = [m for m in opened.infolist() if _base_name(m.filename).lower() == name.lower()]
    if not found:
        raise MissingGridError(f"{source}: the archive should contain a member named {name}.")
    if len(found) > 1:
        raise GridError(f"{source}: there should be one member {name}, found {len(found)}.")
    (member,) = found
    told = f"{source}: {member.filename} declares {member.file_size} bytes"
    if n_bytes not in (None, member.file_size):
        raise GridError(f"{told}; it should be {n_bytes}, according to DimSize.")
    if member.file_size > MAX_VOLUME_BYTES:
        raise GridError(f"{told}; it should be <= {MAX_VOLUME_BYTES}.")
    with opened.open(member) as stream:
        return stream.read(member.file_size + 1)
