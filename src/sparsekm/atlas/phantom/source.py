"""The phantom as a source of the atlas's files: its section data sets, their energies, the files.

With u = baseline + planted signal + tissue-wide pattern + staining of the sagittal section (mostly
the staining of a gene's batch), the energy is max(0, exp(u) g - 0.12), at most 50, where g has a
gamma distribution with mean 1: skewed, with a few per cent exact zeros, as in measured grids.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO

import numpy as np
from scipy.ndimage import gaussian_filter

from sparsekm.atlas import AGES, NO_DATA, ORGANISM_ID, PLANES, TREATMENT
from sparsekm.atlas.grid import ANNOTATION_MEMBER, ELEMENT_DTYPES, ENERGY_MEMBER
from sparsekm.atlas.listing import write_envelope
from sparsekm.atlas.phantom import PhantomSize, anatomy, get_size
from sparsekm.atlas.phantom.anatomy import LUMEN, TISSUE, Geometry
from sparsekm.atlas.phantom.genes import N_BATCHES, PlantedGene, plant_genes, tabulate_truth
from sparsekm.network import NotFoundError

FIRST_SECTION_ID = 980_000_001
_IDS_PER_AGE = 100_000

_ONE, _OTHER = (True, False, "sagittal"), (False, False, "sagittal")
_FAILED, _CORONAL = (False, True, "sagittal"), (False, False, "coronal")
_REPLICATED = (_ONE, _OTHER)
# Delegate, failed and plane of the data sets of a gene, for some kinds and if a draw is below a
# number.
_OF_KIND = {"failed_only": (_FAILED,), "coronal_only": ((True, False, "coronal"),)}
_DRAWN = (
    (0.06, _REPLICATED),
    (0.09, (_OTHER, _OTHER)),
    (0.12, (_ONE, _ONE)),
    (0.15, (_ONE, _FAILED)),
    (0.18, (_ONE, _CORONAL)),
    (1.00, (_ONE,)),
)


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


def plant_sections(age: str, genes: list[PlantedGene], seed: int) -> dict[int, PlantedSection]:
    """Simulate the section data sets of an age by id, ascending; one delegate has no grid."""
    position = list(AGES).index(age)
    rng = np.random.default_rng([seed, 102, position])
    drafts: list[tuple] = []
    all_have_grids = True
    for gene in genes:
        if gene.absent_age == age:
            continue
        pattern = _OF_KIND.get(gene.kind)
        if pattern is None:
            draw = rng.random()
            pattern = next(pattern for below, pattern in _DRAWN if draw < below)
        for delegate, failed, plane in pattern:
            day, month = int(rng.integers(1, 28)), int(rng.integers(1, 13))
            has_grid = not (all_have_grids and pattern is _REPLICATED)
            all_have_grids &= has_grid
            date = f"2009-{month:02d}-{day:02d}T12:00:00Z"
            drafts.append((gene, delegate, failed, plane, date, has_grid))
    ids = FIRST_SECTION_ID + position * _IDS_PER_AGE + rng.permutation(len(drafts))
    sections = {int(i): PlantedSection(int(i), *d) for i, d in zip(ids, drafts, strict=True)}
    return dict(sorted(sections.items()))


GRADIENT_STRENGTH = 0.3
MODULE_STRENGTH = 0.25
BATCH_STRENGTH = 0.15
PLANE_NOISE = 0.08
ZERO_BELOW = 0.12
LARGEST = 50.0
CONSTANT_ENERGY = 1.25
MOST_MISSING = 0.22
"""The largest share of a usable grid's tissue voxels in missing sections."""


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


def prepare_canvas(age: str, size: PhantomSize, seed: int) -> Canvas:
    """Compute the brain of an age and its spatial patterns."""
    geometry = anatomy.build_geometry(age, size.ages[age])
    coordinates = geometry.coordinates.astype(float)
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    position = 2 * (coordinates - low) / np.maximum(high - low, 1) - 1
    patterns = [_draw_pattern(position, [seed, 103, module]) for module in range(size.n_modules)]

    def blur(voxels: np.ndarray) -> np.ndarray:
        volume = np.zeros(geometry.dims[::-1])
        volume.flat[geometry.index[voxels]] = 1
        return gaussian_filter(volume, 0.7).ravel()[geometry.index]

    whole, regions = blur(geometry.region != ""), np.unique(geometry.region)
    rng = np.random.default_rng([seed, 105, list(AGES).index(age)])
    return Canvas(
        age=age,
        geometry=geometry,
        membership={str(r): blur(geometry.region == r) / whole for r in regions},
        position=position,
        patterns=np.array(patterns),
        common=_draw_pattern(position, [seed, 104]),
        staining=BATCH_STRENGTH * rng.normal(size=(N_BATCHES, geometry.dims[2])),
        edge_missing=size.edge_missing,
    )


def _draw_pattern(position: np.ndarray, seed: list[int]) -> np.ndarray:
    """Simulate a patchy pattern: waves in random directions, with about two cycles per brain."""
    rng = np.random.default_rng(seed)
    pattern = np.zeros(len(position))
    for _ in range(4):
        direction = rng.normal(size=3)
        direction /= np.sqrt((direction**2).sum())
        cycles = rng.uniform(1.0, 2.5)
        along = (position * direction).sum(axis=1)
        pattern += np.cos(np.pi * cycles * along + rng.uniform(0, 2 * np.pi))
    return (pattern - pattern.mean()) / pattern.std()


def draw_energy(canvas: Canvas, section: PlantedSection, seed: int) -> np.ndarray:
    """Simulate the energy grid of a section data set, float32 (nz, ny, nx); -1 is no data.

    The planted signal depends on gene and age; noise and missing planes also depend on the data
    set.
    """
    position = list(AGES).index(canvas.age)
    rng = np.random.default_rng([seed, 106, position, section.id])
    geometry, gene = canvas.geometry, section.gene
    z = geometry.coordinates[:, 2]
    if gene.kind == "constant":
        energy = np.full(len(z), CONSTANT_ENERGY)
    else:
        shape = gene.noise**-2
        noise = rng.gamma(shape, 1 / shape, len(z))
        # The logarithm of the expected energy.
        level = gene.baseline + gene.common * canvas.common + _planted_signal(canvas, gene)
        level[geometry.kind == LUMEN] -= 1.5
        own = PLANE_NOISE * rng.normal(size=geometry.dims[2])
        level += (canvas.staining[gene.batch] + own)[z]
        # Values are rounded to four decimals, so that the file does not depend on the last bit of
        # exp().
        energy = np.round(np.clip(np.exp(level) * noise - ZERO_BELOW, 0, LARGEST), 4)
    energy[np.isin(z, _missing_planes(canvas, gene, rng))] = NO_DATA
    volume = np.full(geometry.dims[::-1], NO_DATA, dtype=np.float32)
    volume.flat[geometry.index] = energy
    return volume


def _planted_signal(canvas: Canvas, gene: PlantedGene) -> np.ndarray:
    if gene.kind == "gradient":
        return GRADIENT_STRENGTH * gene.factor * canvas.position @ np.array(gene.direction)
    if gene.kind == "module":
        return MODULE_STRENGTH * gene.factor * canvas.patterns[gene.module]
    shares = (canvas.membership[r] for r in gene.regions_at(canvas.age) if r in canvas.membership)
    return gene.log_fold * sum(shares, np.zeros(len(canvas.position)))


def _missing_planes(canvas: Canvas, gene: PlantedGene, rng: np.random.Generator) -> np.ndarray:
    """Choose the sagittal planes that no section covers."""
    z = canvas.geometry.coordinates[canvas.geometry.kind == TISSUE, 2]
    per_plane = np.bincount(z)
    planes = np.flatnonzero(per_plane)
    if gene.kind == "mostly_missing":
        order = rng.permutation(planes)
        taken = np.cumsum(per_plane[order]) / per_plane.sum()
        return order[: np.searchsorted(taken, 0.45) + 1]
    edge = planes[:1] if rng.random() < canvas.edge_missing else planes[:0]
    inner = rng.permutation(planes[1:])[: rng.choice(3, p=(0.6, 0.3, 0.1))]
    chosen = np.concatenate([edge, inner])
    return chosen[np.cumsum(per_plane[chosen]) <= MOST_MISSING * per_plane.sum()]


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
_ABOUT = """<?xml version="1.0" encoding="UTF-8"?>
<section-data-set>
  <id type="integer">{section_id}</id>
</section-data-set>
"""


def pack_energy(
    volume: np.ndarray, spacing: float, section_id: int, *, has_grid: bool = True
) -> bytes:
    """Pack an energy grid (nz, ny, nx), with spacing in micrometres, into a zip like the servers'.

    Depending on the id, members are in a folder or not, with or without data_set.xml.
    """
    folder = f"{section_id}/" if section_id % 3 == 0 else ""
    members: dict[str, bytes] = {}
    if section_id % 2 == 0 or not has_grid:
        members["data_set.xml"] = _ABOUT.format(section_id=section_id).encode()
    if has_grid:
        members |= _make_volume(volume, spacing, ENERGY_MEMBER)
    return _pack({folder + name: body for name, body in members.items()})


def pack_annotation(labels: np.ndarray, spacing: float) -> bytes:
    """Pack an annotation grid of uint32 ids of shape (nz, ny, nx)."""
    return _pack(_make_volume(labels, spacing, ANNOTATION_MEMBER))


def _make_volume(volume: np.ndarray, spacing: float, stem: str) -> dict[str, bytes]:
    """Write header and array of a volume as members of an archive."""
    nz, ny, nx = volume.shape
    is_energy = stem == ENERGY_MEMBER
    element_type = "MET_FLOAT" if is_energy else "MET_UINT"
    # Only annotations state that they are not compressed.
    told = {"compressed": "" if is_energy else "CompressedData = False\n", "spacing": spacing}
    header = _HEADER.format(nx=nx, ny=ny, nz=nz, stem=stem, element_type=element_type, **told)
    raw = volume.astype(ELEMENT_DTYPES[element_type], copy=False).tobytes()
    return {f"{stem}.mhd": header.encode(), f"{stem}.raw": raw}


def _pack(members: dict[str, bytes]) -> bytes:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, body in members.items():
            # The date is fixed, so that the same volume gives the same bytes.
            member = zipfile.ZipInfo(name, date_time=(2012, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            archive.writestr(member, body)
    return stream.getvalue()


def _gene_row(gene: PlantedGene) -> dict:
    ids = {"id": gene.id, "entrez_id": gene.entrez_id, "organism_id": ORGANISM_ID}
    return {**ids, "acronym": gene.symbol, "name": gene.name}


class PhantomSource:
    """Simulates the files of the atlas's servers from a seed; see `sparsekm.atlas`.

    `size` is "tiny", "default" or "full". The same seed gives the same volumes.
    """

    simulated = True

    def __init__(self, size: str = "default", seed: int = 0):
        self.size = get_size(size)
        self.seed = seed
        self.planted = plant_genes(self.size, seed)
        # Made on first use.
        self.sections = cache(partial(plant_sections, genes=self.planted, seed=seed))
        self.canvas = cache(partial(prepare_canvas, size=self.size, seed=seed))

    def ontology(self) -> bytes:
        """Return the structure tree."""
        return anatomy.ontology_document()

    def genes(self) -> bytes:
        """Return the table of genes."""
        aliases = "phantom{0} P{0}"
        rows = [
            {**_gene_row(gene), "alias_tags": aliases.format(gene.number + 1)}
            for gene in self.planted
        ]
        return write_envelope(rows)

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age, failed ones too, with one row as by a join."""
        rows = [
            {
                "id": section.id,
                "failed": section.failed,
                "delegate": section.delegate,
                "plane_of_section_id": PLANES[section.plane],
                "reference_space_id": AGES[age],
                "qc_date": section.qc_date,
                "genes": [_gene_row(section.gene)],
                "plane_of_section": {"id": PLANES[section.plane], "name": section.plane},
                "treatments": [{"id": 1, "name": TREATMENT}],
                "specimen": {"id": section.id + 1_000_000, "donor": {"age": {"name": age}}},
            }
            for section in self.sections(age).values()
        ]
        return write_envelope([*rows, rows[len(rows) // 2]])

    def annotation(self, age: str) -> bytes:
        """Return the zip with the annotation of an age."""
        geometry = self.canvas(age).geometry
        labels = np.zeros(geometry.dims[::-1], dtype=np.uint32)
        labels.flat[geometry.index] = anatomy.label_voxels(age, geometry)
        return pack_annotation(labels, self.size.ages[age].spacing)

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
