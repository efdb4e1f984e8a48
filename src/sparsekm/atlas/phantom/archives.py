"""Writing volumes in the servers' format: a zip with an .mhd header and a .raw array."""

from __future__ import annotations

import zipfile
from io import BytesIO

import numpy as np

from sparsekm.atlas.vocabulary import ANNOTATION_MEMBER, ENERGY_MEMBER

# Fixed, so that the same volume gives the same bytes.
_DATE = (2012, 1, 1, 0, 0, 0)


def pack_energy(
    volume: np.ndarray, spacing: float, section_id: int, *, has_grid: bool = True
) -> bytes:
    """Pack an energy grid (nz, ny, nx), with spacing in micrometres, into a zip.

    Depending on the id, members are in a folder or not, with or without data_set.xml. If `has_grid`
    is false, header and array are left out.
    """
    folder = f"{section_id}/" if section_id % 3 == 0 else ""
    members: dict[str, bytes] = {}
    if section_id % 2 == 0 or not has_grid:
        members["data_set.xml"] = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<section-data-set>\n'
            f'  <id type="integer">{section_id}</id>\n</section-data-set>\n'
        ).encode()
    if has_grid:
        header = _header(volume, spacing, "MET_FLOAT", ENERGY_MEMBER)
        members[f"{ENERGY_MEMBER}.mhd"] = header
        members[f"{ENERGY_MEMBER}.raw"] = volume.astype("<f4", copy=False).tobytes()
    return _pack({folder + name: body for name, body in members.items()})


def pack_annotation(labels: np.ndarray, spacing: float) -> bytes:
    """Pack an annotation grid of uint32 ids of shape (nz, ny, nx)."""
    header = _header(labels, spacing, "MET_UINT", ANNOTATION_MEMBER)
    return _pack(
        {
            f"{ANNOTATION_MEMBER}.mhd": header,
            f"{ANNOTATION_MEMBER}.raw": labels.astype("<u4", copy=False).tobytes(),
        }
    )


def _header(volume: np.ndarray, spacing: float, element_type: str, stem: str) -> bytes:
    nz, ny, nx = volume.shape
    lines = [
        "ObjectType = Image",
        "NDims = 3",
        "BinaryData = True",
        "BinaryDataByteOrderMSB = False",
        *(["CompressedData = False"] if element_type == "MET_UINT" else []),
        "TransformMatrix = 1 0 0 0 1 0 0 0 1",
        "Offset = 0 0 0",
        "CenterOfRotation = 0 0 0",
        "AnatomicalOrientation = RAI",
        f"ElementSpacing = {spacing:g} {spacing:g} {spacing:g}",
        f"DimSize = {nx} {ny} {nz}",
        f"ElementType = {element_type}",
        f"ElementDataFile = {stem}.raw",
    ]
    return ("\n".join(lines) + "\n").encode()


def _pack(members: dict[str, bytes]) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, body in members.items():
            member = zipfile.ZipInfo(name, date_time=_DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, body)
    return stream.getvalue()
