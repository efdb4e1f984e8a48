"""Small archives, trees and listings made by hand, and the tiny phantom's files."""

import io
import json
import zipfile
from collections import Counter

import numpy as np
import pytest
from stand_in_server import StandInServer

from sparsekm.atlas import open_source
from sparsekm.atlas.assembly import assemble_age
from sparsekm.atlas.ontology import parse_ontology
from sparsekm.atlas.retrieval import retrieve_age, retrieve_tables
from sparsekm.atlas.vocabulary import AGES

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
    retrieve_tables(tiny_phantom, root)
    for age in ("E11.5", "P14"):
        retrieve_age(tiny_phantom, age, root / age)
    return root


class FewSections:
    """A source that lists some of another's section data sets at each age, and draws each once."""

    def __init__(self, source, ages, n_genes):
        self._source = source
        self._sections = {age: self._choose(age, n_genes) for age in ages}
        self._bodies = {}

    def __getattr__(self, name):
        return getattr(self._source, name)

    def _choose(self, age, n_genes):
        """Take all data sets of the genes with most of them, so that there are replicates."""
        sections = [s for s in self._source.sections(age).values() if s.has_grid]
        genes = Counter(s.gene.id for s in sections if not s.failed and s.plane == "sagittal")
        taken = {gene for gene, _ in genes.most_common(n_genes)}
        return {section.id: section for section in sections if section.gene.id in taken}

    def sections(self, age):
        return self._sections[age]

    def listing(self, age):
        document = json.loads(self._source.listing(age))
        document["msg"] = [row for row in document["msg"] if row["id"] in self._sections[age]]
        return json.dumps(document).encode()

    def annotation(self, age):
        return self._once("annotation", age)

    def energy(self, age, section_data_set_id):
        return self._once("energy", age, section_data_set_id)

    def _once(self, role, *arguments):
        key = (role, *arguments)
        if key not in self._bodies:
            self._bodies[key] = getattr(self._source, role)(*arguments)
        return self._bodies[key]


@pytest.fixture(scope="session")
def few_sections(tiny_phantom):
    """Eight genes of the tiny phantom at two ages."""
    return FewSections(tiny_phantom, ("E11.5", "P14"), n_genes=8)


def _without_faults(server):
    server.work_well()
    yield server
    server.work_well()


@pytest.fixture(scope="session")
def _server(few_sections):
    with StandInServer(few_sections, ("E11.5", "P14")) as server:
        yield server


@pytest.fixture
def server(_server):
    """A stand-in for the servers, without faults at first."""
    yield from _without_faults(_server)


@pytest.fixture(scope="session")
def _server_of_all_ages(tiny_phantom):
    ages = tuple(AGES)
    with StandInServer(FewSections(tiny_phantom, ages, n_genes=8), ages) as server:
        yield server


@pytest.fixture
def all_ages(_server_of_all_ages):
    """A stand-in that knows all ages, without faults at first."""
    yield from _without_faults(_server_of_all_ages)


@pytest.fixture
def slept():
    """The seconds that a client has waited, in a world where waiting takes no time."""
    return []


@pytest.fixture
def open_client(server, slept):
    """Give a source on the stand-in that waits in `slept` alone."""

    def build(**settings):
        settings = {
            "url": server.url,
            "download_url": server.url,
            "sleep": slept.append,
            **settings,
        }
        return open_source("allen", **settings)

    return build


@pytest.fixture(scope="session")
def few_ontology(few_sections):
    return parse_ontology(json.loads(few_sections.ontology()))


@pytest.fixture(scope="session")
def planted(few_sections, few_ontology, tmp_path_factory):
    """The matrix of E11.5 from the phantom's files, with no server in between."""
    folder = tmp_path_factory.mktemp("direct")
    retrieve_age(few_sections, "E11.5", folder)
    return assemble_age(folder, few_ontology, "E11.5")


@pytest.fixture
def fetch(open_client, tmp_path, few_ontology):
    """Fetch E11.5 from the server and assemble it; further settings go to the client."""

    def run(max_not_fetched=0, **settings):
        folder = tmp_path / "E11.5"
        source = open_client(**settings)
        retrieve_age(source, "E11.5", folder, max_not_fetched=max_not_fetched)
        return assemble_age(folder, few_ontology, "E11.5")

    return run


@pytest.fixture(scope="session")
def wrap():
    """Put rows into the servers' envelope."""

    def build(rows: list[dict], **changes) -> bytes:
        envelope = {"success": True, "id": 0, "start_row": 0, "num_rows": len(rows), "msg": rows}
        return json.dumps({**envelope, **changes}).encode()

    return build
