"""The phantom's genes: the signal planted in each, and where and at which ages it is planted.

Symbols, names and ids are visibly invented. Kinds of genes:

* ``marker``: raised in one region or a run of neighbours along the neuraxis, at some ages. The
  first markers are raised at every age, the last ones only at the ages with the most markers;
* ``gradient``: rises along one direction of the brain;
* ``module``: follows a pattern shared with others of its module, unrelated to regions;
* ``housekeeping``: high everywhere; ``noise``: nothing but noise;
* ``constant``, ``mostly_missing``, ``absent_at_one_age``, ``failed_only``, ``coronal_only``: cases
  for the readers and quality control.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from sparsekm.atlas.phantom.sizes import PLANTED_SHARE, REGIONS, GeneNumbers
from sparsekm.atlas.vocabulary import AGES

FIRST_GENE_ID = 990_000_001
FIRST_ENTREZ_ID = 2_000_000_001
N_BATCHES = 4

_RUN_LENGTHS = (1, 1, 1, 2, 2, 3, 4, 6)
_STRIDE = 7
"""Regions from one marker's to the next one's: markers in a row are spread over the brain."""
_FOLDS = (3.0, 12.0)
_NOISE = (0.4, 0.8)
_COMMON_STRENGTH = 0.1
_HOUSEKEEPING_BASELINE = 2.0
_HOUSEKEEPING_NOISE = 0.4


@dataclass(frozen=True)
class PlantedGene:
    """An invented gene and its planted signal; levels are logarithms of energies."""

    number: int  # position in the catalogue, from 0
    id: int
    symbol: str
    name: str
    entrez_id: int | None
    kind: str
    batch: int  # genes of one batch share the staining of their sections
    baseline: float
    factor: float  # of the gradient or the module's pattern
    common: float  # coefficient of the tissue-wide pattern, which has standard deviation 1
    noise: float  # standard deviation over mean of the energy in one place
    # Of a marker: where and when it is raised, and by how much.
    regions: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    log_fold: float = 0.0
    module: int | None = None
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)  # unit vector of a gradient (x, y, z)
    absent_age: str | None = None
    has_probe: bool = True

    def regions_at(self, age: str) -> tuple[str, ...]:
        """Regions in which the gene is raised."""
        return self.regions if age in self.ages else ()

    def is_relevant(self, age: str, present: set[str]) -> bool:
        """Whether region differences are planted at an age that has the regions `present`."""
        return not present.isdisjoint(self.regions_at(age))


def plant_genes(numbers: GeneNumbers, seed: int) -> list[PlantedGene]:
    """Simulate the catalogue of genes, in an order independent of their kinds."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 101]))
    counts = {f.name: getattr(numbers, f.name) for f in fields(numbers) if f.name != "n_modules"}
    kinds = [(kind, rank) for kind, count in counts.items() for rank in range(count)]
    return [
        _plant_gene(number, *kinds[place], numbers, rng)
        for number, place in enumerate(rng.permutation(len(kinds)))
    ]


def _plant_gene(
    number: int, kind: str, rank: int, numbers: GeneNumbers, rng: np.random.Generator
) -> PlantedGene:
    is_housekeeping = kind == "housekeeping"
    planted: dict = {}
    if kind == "marker":
        ages = (a for a, share in PLANTED_SHARE.items() if rank < round(share * numbers.usable))
        planted = {
            "regions": _draw_run(_STRIDE * rank % len(REGIONS), rng),
            "ages": tuple(ages),
            "log_fold": float(rng.uniform(*np.log(_FOLDS))),
        }
    elif kind == "gradient":
        direction = rng.normal(size=3)
        direction /= np.sqrt((direction**2).sum())
        planted = {"direction": tuple(float(part) for part in direction)}
    elif kind == "module":
        planted = {"module": rank % numbers.n_modules}
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
        batch=int(rng.integers(N_BATCHES)),
        baseline=_HOUSEKEEPING_BASELINE if is_housekeeping else rng.normal(-0.8, 0.6),
        factor=rng.uniform(0.6, 1.4),
        common=_COMMON_STRENGTH * rng.normal(),
        noise=rng.uniform(*_NOISE) * (_HOUSEKEEPING_NOISE if is_housekeeping else 1),
        has_probe=number % 50 != 13,
        **planted,
    )


def _draw_run(anchor: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw a run of neighbours along the neuraxis that the region at `anchor` is part of."""
    length = int(rng.choice(_RUN_LENGTHS))
    start = anchor - int(rng.integers(length))
    start = min(max(start, 0), len(REGIONS) - length)
    return REGIONS[start : start + length]


def tabulate_truth(age: str, genes: list[PlantedGene], present: set[str]) -> pd.DataFrame:
    """Tabulate the planted truth at an age whose regions are `present`.

    The columns are gene_id, symbol, kind, relevant (region differences are planted), regions
    (joined by ``;``), log_fold (of a marker), module (empty or a number) and batch.
    """
    rows = [
        {
            "gene_id": gene.id,
            "symbol": gene.symbol,
            "kind": gene.kind,
            "relevant": gene.is_relevant(age, present),
            "regions": ";".join(r for r in gene.regions_at(age) if r in present),
            "log_fold": gene.log_fold,
            "module": gene.module,
            "batch": gene.batch,
        }
        for gene in genes
    ]
    return pd.DataFrame(rows).astype({"module": "Int64"})
