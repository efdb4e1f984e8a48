"""The phantom's section data sets: replicates, delegates and failures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsekm.atlas.phantom.genes import PlantedGene
from sparsekm.atlas.vocabulary import AGES

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
    """Tell whether there is a usable replicate besides the delegate."""
    sound = [not row["failed"] and row["plane"] == "sagittal" for row in rows]
    return all(sound) and [row["delegate"] for row in rows] == [True, False]


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
