"""The phantom's section data sets: replicates, delegates, failures, and the listing of an age."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from sparsekm.atlas.vocabulary import AGES, ORGANISM_ID, PLANES, TREATMENT, Age
from sparsekm.simulation.phantom.genes import PlantedGene

FIRST_SECTION_ID = 980_000_001
_IDS_PER_AGE = 100_000


@dataclass(frozen=True)
class PlantedSection:
    """One section data set.

    Attributes
    ----------
    id : int
    gene : PlantedGene
    delegate, failed : bool
    plane : str
    qc_date : str
        ISO 8601.
    has_grid : bool
        False: its archive is sound but holds no energy.
    """

    id: int
    gene: PlantedGene
    delegate: bool
    failed: bool
    plane: str
    qc_date: str
    has_grid: bool = True


def plant_sections(age: str, genes: list[PlantedGene], seed: int) -> list[PlantedSection]:
    """Draw the section data sets of an age, in ascending order of id.

    Most genes have one; others two of which one, none or both are delegates, or an additional
    failed or coronal one. One delegate has no grid, so that its replicate must step in.
    """
    position = list(AGES).index(age)
    rng = np.random.default_rng(np.random.SeedSequence([seed, 102, position]))
    drafts: list[tuple[PlantedGene, dict]] = []
    gridless_placed = False
    for gene in genes:
        if gene.absent_age == age:
            continue
        rows = _draft_rows(gene, rng)
        if not gridless_placed and _is_replicated(rows):
            rows[0]["has_grid"] = False
            gridless_placed = True
        drafts += [(gene, row) for row in rows]
    first = FIRST_SECTION_ID + position * _IDS_PER_AGE
    ids = first + rng.permutation(len(drafts))
    sections = [
        PlantedSection(id=int(i), gene=gene, **row)
        for i, (gene, row) in zip(ids, drafts, strict=True)
    ]
    return sorted(sections, key=lambda section: section.id)


def _is_replicated(rows: list[dict]) -> bool:
    """Whether a usable replicate stands beside the delegate."""
    sound = [not row["failed"] and row["plane"] == "sagittal" for row in rows]
    return all(sound) and [row["delegate"] for row in rows] == [True, False]


def listing_document(age: str, sections: list[PlantedSection]) -> bytes:
    """Write the listing of an age as the servers do, with one row sent twice as joins do."""
    rows = [_listing_row(AGES[age], section) for section in sections]
    rows.append(rows[len(rows) // 2])
    envelope = {
        "success": True,
        "id": 0,
        "start_row": 0,
        "num_rows": len(rows),
        "total_rows": len(rows),
    }
    return json.dumps({**envelope, "msg": rows}).encode()


def _draft_rows(gene: PlantedGene, rng: np.random.Generator) -> list[dict]:
    def row(delegate: bool, failed: bool = False, plane: str = "sagittal") -> dict:
        day, month = int(rng.integers(1, 28)), int(rng.integers(1, 13))
        date = f"2009-{month:02d}-{day:02d}T12:00:00Z"
        return {"delegate": delegate, "failed": failed, "plane": plane, "qc_date": date}

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
