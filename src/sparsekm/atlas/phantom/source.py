"""The phantom as a source of the atlas's files, in the formats of the servers."""

from __future__ import annotations

import zipfile
from io import BytesIO

import numpy as np

from sparsekm.atlas.listing import write_envelope
from sparsekm.atlas.phantom.anatomy import build_geometry, label_voxels, ontology_document
from sparsekm.atlas.phantom.energies import (
    Canvas,
    PlantedSection,
    draw_energy,
    plant_sections,
    prepare_canvas,
)
from sparsekm.atlas.phantom.genes import PlantedGene, plant_genes, tabulate_truth
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.vocabulary import (
    AGES,
    ANNOTATION_MEMBER,
    ELEMENT_DTYPES,
    ENERGY_MEMBER,
    ORGANISM_ID,
    PLANES,
    TREATMENT,
    Age,
    get_age,
)
from sparsekm.network import NotFoundError

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
        members |= _make_volume(volume, spacing, "MET_FLOAT", ENERGY_MEMBER)
    return _pack({folder + name: body for name, body in members.items()})


def pack_annotation(labels: np.ndarray, spacing: float) -> bytes:
    """Pack an annotation grid of uint32 ids of shape (nz, ny, nx)."""
    return _pack(_make_volume(labels, spacing, "MET_UINT", ANNOTATION_MEMBER))


_HEADER = """ObjectType = Image
NDims = 3
BinaryData = True
BinaryDataByteOrderMSB = False
{compressed}TransformMatrix = 1 0 0 0 1 0 0 0 1
Offset = 0 0 0
CenterOfRotation = 0 0 0
AnatomicalOrientation = RAI
ElementSpacing = {spacing:g} {spacing:g} {spacing:g}
DimSize = {nx} {ny} {nz}
ElementType = {element_type}
ElementDataFile = {stem}.raw
"""


def _make_volume(
    volume: np.ndarray, spacing: float, element_type: str, stem: str
) -> dict[str, bytes]:
    """Write header and array of a volume as members of an archive."""
    (nz, ny, nx), dtype = volume.shape, ELEMENT_DTYPES[element_type]
    told = {"element_type": element_type, "stem": stem, "spacing": spacing}
    compressed = "CompressedData = False\n" if element_type == "MET_UINT" else ""
    header = _HEADER.format(compressed=compressed, nx=nx, ny=ny, nz=nz, **told)
    raw = volume.astype(dtype, copy=False).tobytes()
    return {f"{stem}.mhd": header.encode(), f"{stem}.raw": raw}


def _pack(members: dict[str, bytes]) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, body in members.items():
            member = zipfile.ZipInfo(name, date_time=_DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, body)
    return stream.getvalue()


def _gene_row(gene: PlantedGene) -> dict:
    return {
        "id": gene.id,
        "acronym": gene.symbol,
        "name": gene.name,
        "entrez_id": gene.entrez_id,
        "organism_id": ORGANISM_ID,
        "ensembl_id": None,
        "alias_tags": f"phantom{gene.number + 1} P{gene.number + 1}",
    }


def _listing_row(age: Age, section: PlantedSection) -> dict:
    gene = section.gene
    short = {"id": gene.id, "acronym": gene.symbol, "entrez_id": gene.entrez_id}
    probe = {"id": gene.id + 1_000_000, "gene_id": gene.id, "name": f"PH_{gene.number + 1:04d}"}
    age_row = {"id": age.reference_space_id, "name": age.name, "days": age.days}
    return {
        "id": section.id,
        "name": None,
        "failed": section.failed,
        "delegate": section.delegate,
        "expression": True,
        "plane_of_section_id": PLANES[section.plane],
        "reference_space_id": age.reference_space_id,
        "section_thickness": 20.0,
        "specimen_id": section.id + 1_000_000,
        "qc_date": section.qc_date,
        "storage_directory": f"/phantom/image_series_{section.id}/",
        "genes": [{**short, "name": gene.name, "organism_id": ORGANISM_ID, "ensembl_id": None}],
        "probes": [{**probe, "probe_type": "RNA", "gene": short}] if gene.has_probe else [],
        "plane_of_section": {"id": PLANES[section.plane], "name": section.plane},
        "reference_space": {"id": age.reference_space_id, "name": age.name},
        "treatments": [{"id": 1, "name": TREATMENT}],
        "specimen": {
            "id": section.id + 1_000_000,
            "name": "phantom",
            "donor": {"age": {**age_row, "embryonic": age.embryonic, "organism_id": ORGANISM_ID}},
        },
    }


class PhantomSource:
    """Simulates the files of the atlas's servers from a seed; see `sparsekm.atlas`.

    `size` is "tiny", "default" or "full". The same seed gives the same volumes.
    """

    simulated = True

    def __init__(self, size: str = "default", seed: int = 0):
        if seed < 0:
            raise ValueError(f"seed={seed} should be >= 0.")
        self.size = get_size(size)
        self.seed = seed
        self.planted = plant_genes(self.size.genes, seed)
        self._canvases: dict[str, Canvas] = {}
        self._sections: dict[str, dict[int, PlantedSection]] = {}

    def ontology(self) -> bytes:
        """Return the structure tree."""
        return ontology_document()

    def genes(self) -> bytes:
        """Return the table of genes."""
        return write_envelope([_gene_row(gene) for gene in self.planted])

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age, failed ones too, with one row as by a join."""
        rows = [_listing_row(AGES[age], section) for section in self.sections(age).values()]
        return write_envelope([*rows, rows[len(rows) // 2]])

    def annotation(self, age: str) -> bytes:
        """Return the zip with the annotation of an age."""
        geometry = self.canvas(age).geometry
        nx, ny, nz = geometry.dims
        labels = np.zeros(nx * ny * nz, dtype=np.uint32)
        labels[geometry.index] = label_voxels(age, geometry)
        return pack_annotation(labels.reshape(nz, ny, nx), self.size.ages[age].spacing)

    def energy(self, age: str, section_data_set_id: int) -> bytes:
        """Return the zip with the energy of one section data set."""
        section = self.sections(age).get(section_data_set_id)
        if section is None:
            raise NotFoundError(f"section_data_set_id={section_data_set_id} is not of age {age}.")
        volume = draw_energy(self.canvas(age), section, self.seed)
        spacing = self.size.ages[age].spacing
        return pack_energy(volume, spacing, section.id, has_grid=section.has_grid)

    def describe_url(self, role: str, *item: str | int) -> str:
        """Return the origin of a file: size, seed, age, role and id."""
        parts = (self.size.name, self.seed, *item[:1], role, *item[1:])
        return "phantom:" + "/".join(map(str, parts))

    def truth(self, age: str) -> bytes:
        """Return the planted truth at an age as CSV."""
        present = set(self.size.ages[age].region_voxels)
        return tabulate_truth(age, self.planted, present).to_csv(index=False).encode()

    def sections(self, age: str) -> dict[int, PlantedSection]:
        """Return the section data sets of an age by id, made on first use."""
        if age not in self._sections:
            planted = plant_sections(get_age(age).name, self.planted, self.seed)
            self._sections[age] = {section.id: section for section in planted}
        return self._sections[age]

    def canvas(self, age: str) -> Canvas:
        """Return the geometry and patterns of an age, made on first use."""
        if age not in self._canvases:
            geometry = build_geometry(get_age(age).name, self.size.ages[age])
            settings = self.size.genes.n_modules, self.size.edge_missing, self.seed
            self._canvases[age] = prepare_canvas(age, geometry, *settings)
        return self._canvases[age]
