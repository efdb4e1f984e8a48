"""Small archives, trees and listings made by hand, and the tiny phantom's files."""

import io
import json
import zipfile

import numpy as np
import pytest

from sparsekm.atlas.retrieval import retrieve_age, retrieve_ontology
from sparsekm.atlas.sources import open_source

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


def write_header(**changes: str | None) -> str:
    fields = {**HEADER, **changes}
    return "".join(f"{key} = {value}\n" for key, value in fields.items() if value is not None)


def write_zip(members: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return stream.getvalue()


@pytest.fixture(scope="session")
def make_header():
    return write_header


@pytest.fixture(scope="session")
def make_zip():
    return write_zip


@pytest.fixture(scope="session")
def indexed_volume() -> np.ndarray:
    """Each voxel of a 4 x 3 x 2 grid tells its place: x + 100 y + 10000 z, as (nz, ny, nx)."""
    z, y, x = np.meshgrid(np.arange(2), np.arange(3), np.arange(4), indexing="ij")
    return (x + 100 * y + 10000 * z).astype("<f4")


@pytest.fixture(scope="session")
def energy_zip(indexed_volume):
    """Give the indexed volume as a server's zip, with changed header fields or another array."""

    def build(raw: bytes | None = None, folder: str = "", **changes: str | None) -> bytes:
        raw = indexed_volume.tobytes() if raw is None else raw
        return write_zip(
            {f"{folder}energy.mhd": write_header(**changes), f"{folder}energy.raw": raw}
        )

    return build


@pytest.fixture(scope="session")
def tree() -> list[dict]:
    """A tree with skipped levels, a repeated level, and ids that float32 cannot hold."""

    def node(node_id, acronym, level, *children):
        return {
            "id": node_id,
            "acronym": acronym,
            "name": f"made-up {acronym}",
            "st_level": level,
            "color_hex_triplet": "00FF00",
            "children": list(children),
        }

    fore = node(15568, "one", 3, node(900_000_001, "deep", 9), node(31, "same", 3))
    other = node(15738, "two", 3, node(126652053, "deeper", 10))
    plate = node(
        15565,
        "NP",
        0,
        node(15566, "F", 1, fore, node(41, "skip", 2, other)),
        node(17651, "SpC", 1, node(17653, "SpA", 5)),
    )
    ventricles = node(
        126651558,
        "ventricles",
        0,
        node(126651562, "v_F", 1, node(126651570, "v_one", 3)),
        node(126652042, "v_SpC", 1),
    )
    tracts = node(17735, "tracts", 0, node(17736, "fibre", 12))
    return [node(15564, "mouse", None, plate, tracts, ventricles)]


@pytest.fixture(scope="session")
def section_row():
    """Give a row of a listing with changed fields."""

    def build(row_id: int, **changes) -> dict:
        row = {
            "id": row_id,
            "failed": False,
            "delegate": True,
            "plane_of_section": {"id": 2, "name": "sagittal"},
            "reference_space_id": 1,
            "qc_date": "2009-05-02T22:45:57Z",
            "treatments": [{"id": 1, "name": "ISH"}],
            "genes": [{"id": 11, "acronym": "Aaa", "name": "made-up gene", "entrez_id": 5}],
            "probes": [],
            "specimen": {"donor": {"age": {"name": "E11.5"}}},
        }
        return {**row, **changes}

    return build


@pytest.fixture(scope="session")
def tiny_phantom():
    return open_source("phantom", size="tiny", seed=3)


@pytest.fixture(scope="session")
def phantom_files(tiny_phantom, tmp_path_factory):
    """The tiny phantom's files at two ages; tests must not change them."""
    root = tmp_path_factory.mktemp("phantom")
    retrieve_ontology(tiny_phantom, root / "ontology.json")
    for age in ("E11.5", "P14"):
        retrieve_age(tiny_phantom, age, root / age)
    return root


@pytest.fixture(scope="session")
def wrap():
    """Put rows into the servers' envelope."""

    def build(rows: list[dict], **changes) -> bytes:
        envelope = {"success": True, "id": 0, "start_row": 0, "num_rows": len(rows), "msg": rows}
        return json.dumps({**envelope, **changes}).encode()

    return build
