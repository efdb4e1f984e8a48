"""The phantom's genes: the signal planted in each, and its regions and ages.

Symbols, names and ids are visibly invented. Kinds of genes:

* ``marker``: raised in one region or a run of neighbours along the neuraxis, at some or all ages;
* ``gradient``: rises along one direction of the brain;
* ``module``: follows a pattern shared with others of its module, unrelated to regions;
* ``housekeeping``: high everywhere; ``noise``: nothing but noise;
* ``constant``, ``mostly_missing``, ``absent_at_one_age``, ``failed_only``, ``coronal_only``: cases
  for the readers and quality control.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.atlas.phantom.sizes import REGIONS, GeneNumbers
from sparsekm.atlas.vocabulary import AGES

FIRST_GENE_ID = 990_000_001
FIRST_ENTREZ_ID = 2_000_000_001

# Strength of a marker from E11.5 to P28.
PROFILES = {
    "steady": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    "early": (1.0, 1.0, 0.8, 0.6, 0.3, 0.0, 0.0),
    "late": (0.0, 0.0, 0.3, 0.6, 0.8, 1.0, 1.0),
    "transient": (0.0, 0.6, 1.0, 1.0, 0.6, 0.0, 0.0),
    "switching": (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
}
_PROFILE_SHARES = (0.5, 0.15, 0.15, 0.1, 0.1)
_RUN_LENGTHS = (1, 1, 1, 2, 2, 3, 4, 6)
RELEVANT_FROM = 0.2
"""Profile value from which a marker counts as planted at an age."""


@dataclass(frozen=True)
class PlantedGene:
    """An invented gene and its planted signal."""

    number: int  # position in the catalogue, from 0
    id: int
    symbol: str
    name: str
    entrez_id: int | None
    kind: str
    profile: str = "steady"  # key of `PROFILES`; ``"steady"`` for all but markers
    # Where a marker is raised before and after birth.
    regions: tuple[str, ...] = ()
    late_regions: tuple[str, ...] = ()
    module: int | None = None
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)  # unit vector of a gradient (x, y, z)
    absent_age: str | None = None
    has_probe: bool = True

    def strength(self, age: str) -> float:
        """Strength of the planted signal, 0 to 1."""
        return PROFILES[self.profile][list(AGES).index(age)]

    def regions_at(self, age: str) -> tuple[str, ...]:
        """Regions a marker is raised in."""
        return self.regions if AGES[age].embryonic else self.late_regions

    def is_relevant(self, age: str, present: set[str]) -> bool:
        """Whether region differences are planted at an age that has the regions `present`."""
        return (
            self.kind == "marker"
            and self.strength(age) >= RELEVANT_FROM
            and not present.isdisjoint(self.regions_at(age))
        )


def plant_genes(numbers: GeneNumbers, seed: int) -> list[PlantedGene]:
    """Simulate the catalogue of genes, in an order independent of their kinds."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 101]))
    counts = {
        kind: getattr(numbers, kind)
        for kind in (
            "marker", "gradient", "module", "housekeeping", "noise", "constant",
            "mostly_missing", "absent_at_one_age", "failed_only", "coronal_only",
        )
    }  # fmt: skip
    kinds = [(kind, rank) for kind, count in counts.items() for rank in range(count)]
    order = rng.permutation(len(kinds))
    return [
        _plant_gene(number, *kinds[place], numbers.n_modules, rng)
        for number, place in enumerate(order)
    ]


def _plant_gene(
    number: int, kind: str, rank: int, n_modules: int, rng: np.random.Generator
) -> PlantedGene:
    planted: dict = {}
    if kind == "marker":
        profile = str(rng.choice(list(PROFILES), p=_PROFILE_SHARES))
        regions = _draw_run(rank, rng)
        late = _draw_run(rank + 7, rng) if profile == "switching" else regions
        planted = {"profile": profile, "regions": regions, "late_regions": late}
    elif kind == "gradient":
        direction = rng.normal(size=3)
        direction /= np.sqrt((direction**2).sum())
        planted = {"direction": tuple(float(part) for part in direction)}
    elif kind == "module":
        planted = {"module": rank % n_modules}
    elif kind == "absent_at_one_age":
        planted = {"absent_age": list(AGES)[rank % len(AGES)]}
    star = "*" if number % 60 == 11 else ""
    return PlantedGene(
        number=number,
        id=FIRST_GENE_ID + number,
        symbol=f"Phm{number + 1:04d}{star}",
        name=f"phantom gene {number + 1}",
        entrez_id=None if number % 45 == 7 else FIRST_ENTREZ_ID + number,
        kind=kind,
        has_probe=number % 50 != 13,
        **planted,
    )


def _draw_run(rank: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw a run of neighbours along the neuraxis; each region in turn is part of it."""
    length = int(rng.choice(_RUN_LENGTHS))
    start = rank % len(REGIONS) - int(rng.integers(length))
    start = min(max(start, 0), len(REGIONS) - length)
    return REGIONS[start : start + length]


def tabulate_truth(age: str, genes: list[PlantedGene], present: set[str]) -> pd.DataFrame:
    """Tabulate the planted truth at an age whose regions are `present`.

    The columns are gene_id, symbol, kind, relevant (region differences are planted), regions
    (joined by ``;``), strength (0 to 1), profile, module (empty or a number), and the direction of
    a gradient as axis_x, axis_y, axis_z.
    """
    rows = []
    for gene in genes:
        regions = [r for r in gene.regions_at(age) if r in present]
        rows.append(
            {
                "gene_id": gene.id,
                "symbol": gene.symbol,
                "kind": gene.kind,
                "relevant": gene.is_relevant(age, present),
                "regions": ";".join(regions),
                "strength": gene.strength(age) if gene.kind == "marker" else float("nan"),
                "profile": gene.profile if gene.kind == "marker" else "",
                "module": gene.module,
                "axis_x": gene.direction[0],
                "axis_y": gene.direction[1],
                "axis_z": gene.direction[2],
            }
        )
    table = pd.DataFrame(rows)
    return table.astype({"module": "Int64"})
