"""The phantom's section data sets and their simulated expression energies.

With u = baseline + planted signal + tissue-wide pattern + staining of the section, the energy is
max(0, exp(u) g - 0.12), at most 50, where g has a gamma distribution with mean 1: non-negative,
skewed, with a few per cent exact zeros, as in measured grids. Signals spill over region borders, as
in sections of finite thickness. The staining differs between the sections (sagittal planes) of an
experiment; mostly it is the same for all genes of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from sparsekm.atlas.phantom.anatomy import LUMEN, TISSUE, Geometry
from sparsekm.atlas.phantom.genes import N_BATCHES, PlantedGene
from sparsekm.atlas.vocabulary import AGES, NO_DATA

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
