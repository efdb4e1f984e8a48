"""The phantom as a source of the atlas's files: its section data sets, their energies, the files.

With u = baseline + planted signal + tissue-wide pattern + staining of the section, the energy is
max(0, exp(u) g - 0.12), at most 50, where g has a gamma distribution with mean 1: non-negative,
skewed, with a few per cent exact zeros, as in measured grids. Signals spill over region borders, as
in sections of finite thickness. The staining differs between the sections (sagittal planes) of an
experiment; mostly it is the same for all genes of a batch.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from scipy.ndimage import gaussian_filter

from sparsekm.atlas.listing import write_envelope
from sparsekm.atlas.phantom import anatomy
from sparsekm.atlas.phantom.anatomy import LUMEN, TISSUE, Geometry
from sparsekm.atlas.phantom.genes import N_BATCHES, PlantedGene, plant_genes, tabulate_truth
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.vocabulary import (
    AGES,
    ANNOTATION_MEMBER,
    ELEMENT_DTYPES,
    ENERGY_MEMBER,
    NO_DATA,
    ORGANISM_ID,
    PLANES,
    TREATMENT,
    Age,
    get_age,
)
from sparsekm.network import NotFoundError

FIRST_SECTION_ID = 980_000_001
_IDS_PER_AGE = 100_000


@dataclass(frozen=True)
class PlantedSection:
    """One section data set."""

    id: int
    gene: PlantedGene
    delegate: bool
    failed: bool
    plane: str
    qc_date: str  # ISO 8601
    has_grid: bool = True  # if false, its archive is intact but contains no energy


def plant_sections(age: str, genes: list[PlantedGene], seed: int) -> list[PlantedSection]:
    """Simulate the section data sets of an age, in ascending order of id.

    Most genes have one; some have two, of which one, none or both are delegates, or an additional
    failed or coronal one. One delegate has no grid, so that its replicate must be used.
    """
    position = list(AGES).index(age)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 102, position]))
    drafts = [_draft_rows(gene, rng) for gene in genes if gene.absent_age != age]
    usable = {"failed": False, "plane": "sagittal"}
    replicated = [usable | {"delegate": True}, usable | {"delegate": False}]
    for rows in drafts:
        if [{key: row[key] for key in replicated[0]} for row in rows] == replicated:
            rows[0]["has_grid"] = False
            break
    rows = [row for drafted in drafts for row in drafted]
    ids = FIRST_SECTION_ID + position * _IDS_PER_AGE + rng.permutation(len(rows))
    sections = [PlantedSection(id=int(i), **row) for i, row in zip(ids, rows, strict=True)]
    return sorted(sections, key=lambda section: section.id)


def _draft_rows(gene: PlantedGene, rng: np.random.Generator) -> list[dict]:
    def row(delegate: bool, failed: bool = False, plane: str = "sagittal") -> dict:
        day, month = int(rng.integers(1, 28)), int(rng.integers(1, 13))
        date = f"2009-{month:02d}-{day:02d}T12:00:00Z"
        about = {"gene": gene, "delegate": delegate, "failed": failed}
        return {**about, "plane": plane, "qc_date": date}

    if gene.kind == "failed_only":
        return [row(False, failed=True)]
    if gene.kind == "coronal_only":
        return [row(True, plane="coronal")]
    draw = rng.random()
    for below, delegates in ((0.06, (True, False)), (0.09, (False, False)), (0.12, (True, True))):
        if draw < below:
            return [row(delegate) for delegate in delegates]
    rows = [row(True)]
    if draw < 0.15:
        rows.append(row(False, failed=True))
    elif draw < 0.18:
        rows.append(row(False, plane="coronal"))
    return rows


GRADIENT_STRENGTH = 0.3
MODULE_STRENGTH = 0.25
BATCH_STRENGTH = 0.15
PLANE_NOISE = 0.08
ZERO_BELOW = 0.12
LARGEST = 50.0
CONSTANT_ENERGY = 1.25
MOST_MISSING = 0.22
"""Share of a usable grid's tissue voxels that missing sections may take."""
EDGE_PLANES = 1


@dataclass(frozen=True)
class Canvas:
    """Quantities shared by all genes of an age."""

    age: str
    geometry: Geometry
    # (n_voxels,): blurred share of each region at each labelled voxel.
    membership: dict[str, np.ndarray]
    position: np.ndarray  # (n_voxels, 3): coordinates scaled to -1..1 over the brain
    patterns: np.ndarray  # (n_modules, n_voxels): standardised patterns of the modules
    common: np.ndarray  # (n_voxels,): pattern that contributes slightly to all genes
    staining: np.ndarray  # (N_BATCHES, nz): level of every sagittal plane in each batch
    edge_missing: float  # probability that the outermost plane is missing


def prepare_canvas(
    age: str, geometry: Geometry, n_modules: int, edge_missing: float, seed: int
) -> Canvas:
    """Compute the spatial patterns of an age."""
    coordinates = geometry.coordinates.astype(float)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    position = 2 * (coordinates - low) / np.maximum(high - low, 1) - 1
    patterns = [_draw_pattern(position, [seed, 103, module]) for module in range(n_modules)]
    rng = np.random.default_rng(np.random.SeedSequence([seed, 105, list(AGES).index(age)]))
    return Canvas(
        age=age,
        geometry=geometry,
        membership=_blur_regions(geometry),
        position=position,
        patterns=np.array(patterns),
        common=_draw_pattern(position, [seed, 104]),
        staining=BATCH_STRENGTH * rng.normal(size=(N_BATCHES, geometry.dims[2])),
        edge_missing=edge_missing,
    )


def draw_energy(canvas: Canvas, section: PlantedSection, seed: int) -> np.ndarray:
    """Simulate the energy grid of a section data set, float32 (nz, ny, nx), -1 where there is none.

    The planted signal depends on gene and age, noise and missing planes also on the data set.
    """
    position = list(AGES).index(canvas.age)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 106, position, section.id]))
    geometry = canvas.geometry
    if section.gene.kind == "constant":
        energy = np.full(len(geometry.index), CONSTANT_ENERGY)
    else:
        shape = section.gene.noise**-2
        noise = rng.gamma(shape, 1 / shape, len(geometry.index))
        expected = np.exp(_draw_level(canvas, section.gene, rng))
        # Rounded to four decimals, so that the file does not depend on the last bit of exp().
        energy = np.round(np.clip(expected * noise - ZERO_BELOW, 0, LARGEST), 4)
    z = geometry.coordinates[:, 2]
    energy[np.isin(z, _missing_planes(canvas, section.gene, rng))] = NO_DATA
    nx, ny, nz = geometry.dims
    volume = np.full(nx * ny * nz, NO_DATA, dtype=np.float32)
    volume[geometry.index] = energy
    return volume.reshape(nz, ny, nx)


def _draw_level(canvas: Canvas, gene: PlantedGene, rng: np.random.Generator) -> np.ndarray:
    """Draw u, the logarithm of the expected energy."""
    geometry = canvas.geometry
    level = gene.baseline + gene.common * canvas.common + _planted_signal(canvas, gene)
    level[geometry.kind == LUMEN] -= 1.5
    own = PLANE_NOISE * rng.normal(size=geometry.dims[2])
    return level + (canvas.staining[gene.batch] + own)[geometry.coordinates[:, 2]]


def _planted_signal(canvas: Canvas, gene: PlantedGene) -> np.ndarray:
    if gene.kind == "gradient":
        return GRADIENT_STRENGTH * gene.factor * canvas.position @ np.array(gene.direction)
    if gene.kind == "module":
        return MODULE_STRENGTH * gene.factor * canvas.patterns[gene.module]
    shares = (canvas.membership[r] for r in gene.regions_at(canvas.age) if r in canvas.membership)
    return gene.log_fold * sum(shares, np.zeros(len(canvas.position)))


def _missing_planes(canvas: Canvas, gene: PlantedGene, rng: np.random.Generator) -> np.ndarray:
    """Choose the sagittal planes no section covers."""
    z = canvas.geometry.coordinates[canvas.geometry.kind == TISSUE, 2]
    per_plane = np.bincount(z, minlength=canvas.geometry.dims[2])
    planes = np.flatnonzero(per_plane)
    if gene.kind == "mostly_missing":
        order = rng.permutation(planes)
        taken = np.cumsum(per_plane[order]) / per_plane.sum()
        return order[: np.searchsorted(taken, 0.45) + 1]
    edge = planes[:EDGE_PLANES] if rng.random() < canvas.edge_missing else planes[:0]
    inner = rng.permutation(planes[EDGE_PLANES:])[: rng.choice(3, p=(0.6, 0.3, 0.1))]
    chosen = np.concatenate([edge, inner])
    fits = np.cumsum(per_plane[chosen]) <= MOST_MISSING * per_plane.sum()
    return chosen[fits]


def _blur_regions(geometry: Geometry) -> dict[str, np.ndarray]:
    nx, ny, nz = geometry.dims

    def blur(voxels: np.ndarray) -> np.ndarray:
        volume = np.zeros(nx * ny * nz)
        volume[geometry.index[voxels]] = 1
        return gaussian_filter(volume.reshape(nz, ny, nx), 0.7).ravel()[geometry.index]

    whole = blur(geometry.region != "")
    names = np.unique(geometry.region)
    return {str(name): blur(geometry.region == name) / whole for name in names}


def _draw_pattern(position: np.ndarray, seed: list[int]) -> np.ndarray:
    """Simulate a patchy pattern: waves in random directions, with about two cycles per brain."""
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    pattern = np.zeros(len(position))
    for _ in range(4):
        direction = rng.normal(size=3)
        direction /= np.sqrt((direction**2).sum())
        cycles = rng.uniform(1.0, 2.5)
        along = (position * direction).sum(axis=1)
        pattern += np.cos(np.pi * cycles * along + rng.uniform(0, 2 * np.pi))
    return (pattern - pattern.mean()) / pattern.std()


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
        return anatomy.ontology_document()

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
        labels[geometry.index] = anatomy.label_voxels(age, geometry)
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
            geometry = anatomy.build_geometry(get_age(age).name, self.size.ages[age])
            settings = self.size.genes.n_modules, self.size.edge_missing, self.seed
            self._canvases[age] = prepare_canvas(age, geometry, *settings)
        return self._canvases[age]
