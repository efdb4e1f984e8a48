"""Small archives, trees and listings made by hand, and what can go wrong on their way."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

AGE = "E11.5"
HEADER = {
    "ObjectType": "Image",
    "NDims": "3",
    "BinaryData": "True",
    "BinaryDataByteOrderMSB": "False",
    "AnatomicalOrientation": "RAI",
    "ElementSpacing": "200 200 200",
    "DimSize": "4 3 2",
    "ElementType": "MET_FLOAT",
    "ElementDataFile": "energy.raw",
}
Z, Y, X = np.indices((2, 3, 4))
# Each voxel of a 4 x 3 x 2 grid tells its place.
INDEXED = (X + 100 * Y + 10000 * Z).astype("<f4")


def write_header(**changes: str | None) -> str:
    fields = {**HEADER, **changes}
    return "".join(f"{key} = {value}\n" for key, value in fields.items() if value is not None)


def write_zip(members: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return stream.getvalue()


def energy_zip(raw: bytes = INDEXED.tobytes(), folder: str = "", **changes: str | None) -> bytes:
    """Give the indexed volume as a server's zip, with changed header fields or another array."""
    return write_zip({f"{folder}energy.mhd": write_header(**changes), f"{folder}energy.raw": raw})


def _node(node_id, acronym, level, *children):
    return {
        "id": node_id,
        "acronym": acronym,
        "name": f"made-up {acronym}",
        "st_level": level,
        "color_hex_triplet": "00FF00",
        "children": list(children),
    }


_FORE = _node(15568, "one", 3, _node(900_000_001, "deep", 9), _node(31, "same", 3))
_OTHER = _node(15738, "two", 3, _node(126652053, "deeper", 10))
_CORD = _node(17651, "SpC", 1, _node(17653, "SpA", 5))
_VENTRICLES = _node(
    *(126651558, "ventricles", 0),
    _node(126651562, "v_F", 1, _node(126651570, "v_one", 3)),
    _node(126652042, "v_SpC", 1),
)
_PLATE = _node(15565, "NP", 0, _node(15566, "F", 1, _FORE, _node(41, "skip", 2, _OTHER)), _CORD)
_TRACTS = _node(17735, "tracts", 0, _node(17736, "fibre", 12))
# A tree with skipped levels, a repeated level, and ids that float32 cannot hold.
TREE = [_node(15564, "mouse", None, _PLATE, _TRACTS, _VENTRICLES)]


def section_row(row_id: int, **changes) -> dict:
    row = {
        "id": row_id,
        "failed": False,
        "delegate": True,
        "plane_of_section": {"id": 2, "name": "sagittal"},
        "reference_space_id": 1,
        "qc_date": "2009-05-02T22:45:57Z",
        "treatments": [{"id": 1, "name": "ISH"}],
        "genes": [{"id": 11, "acronym": "Aaa", "name": "made-up gene", "entrez_id": 5}],
        "specimen": {"donor": {"age": {"name": "E11.5"}}},
    }
    return {**row, **changes}


@dataclass(frozen=True)
class Reply:
    """What a server is about to send."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


Fault = Callable[[Reply], Reply]


def status(code: int) -> Fault:
    return lambda reply: Reply(code, b"the server is not well")


def compressed(reply: Reply) -> Reply:
    return replace(reply, body=gzip.compress(reply.body), headers={"Content-Encoding": "gzip"})


def html(reply: Reply) -> Reply:
    return Reply(200, b"<!DOCTYPE html><html>Service maintenance</html>")


def with_body(change: Callable[[bytes], bytes]) -> Fault:
    return lambda reply: replace(reply, body=change(reply.body))


def with_answer(change: Callable[[dict], dict]) -> Fault:
    return with_body(lambda body: json.dumps(change(json.loads(body))).encode())


def with_members(change: Callable[[dict[str, bytes]], dict[str, bytes]]) -> Fault:
    """Change the members of a zip archive, which stays sound."""

    def rewrite(body: bytes) -> bytes:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return write_zip(change({name: archive.read(name) for name in archive.namelist()}))

    return with_body(rewrite)


def with_member(ending: str, change: Callable[[bytes], bytes]) -> Fault:
    """Change the member of a name with this ending, in a sound archive."""
    return with_members(lambda m: {n: change(b) if n.endswith(ending) else b for n, b in m.items()})


without_raw = with_members(lambda m: {n: b for n, b in m.items() if not n.endswith(".raw")})


def wrong_crc(reply: Reply) -> Reply:
    """Flip a bit of the array where it is packed; the directory at the end stays as it was."""
    body = bytearray(reply.body)
    with zipfile.ZipFile(io.BytesIO(reply.body)) as archive:
        member = max(archive.infolist(), key=lambda info: info.compress_size)
    body[member.header_offset + 60 + member.compress_size // 2] ^= 1
    return replace(reply, body=bytes(body))
