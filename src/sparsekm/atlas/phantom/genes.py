"""The phantom's genes: the signal planted in each, where and when, and their terms.

``docs/atlas.md`` describes what is planted. The terms, in ``terms.csv``, follow from the kind of
each gene, so that the correct over-representation is known: most markers have the *pattern of
regions*, nearly all even genes are *needed everywhere*, and the *controls* are assigned at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.atlas import AGES
from sparsekm.atlas.phantom import AGE_ROWS, REGIONS, PhantomSize, read_rows

FIRST_GENE_ID = 990_000_001
FIRST_ENTREZ_ID = 2_000_000_001
N_BATCHES = 4

_RUN_LENGTHS = (1, 1, 1, 2, 2, 3, 4, 6)
_STRIDE = 7
"""The number of regions from one marker to the next: markers are spread over the brain."""
_FOLDS = (3.0, 12.0)
_NOISE = (0.4, 0.8)
_COMMON_STRENGTH = 0.1
# Housekeeping genes: their level, and their noise divided by that of other genes.
_HOUSEKEEPING = 2.0, 0.4


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
    # For a marker: where, when and by how much it is raised.
    regions: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    log_fold: float = 0.0
    module: int | None = None
    direction: tuple[float, float, float] = (0.0, 0.0, 0.0)  # unit vector of a gradient (x, y, z)
    absent_age: str | None = None

    def regions_at(self, age: str) -> tuple[str, ...]:
        """Regions in which the gene is raised."""
        return self.regions if age in self.ages else ()


def plant_genes(size: PhantomSize, seed: int) -> list[PlantedGene]:
    """Simulate the catalogue of genes, in an order independent of their kinds."""
    rng = np.random.default_rng([seed, 101])
    shares = {age: float(row["planted_share"]) for age, row in AGE_ROWS.items()}
    kinds = [(kind, rank) for kind, count in size.kinds.items() for rank in range(count)]
    genes = []
    for number, place in enumerate(rng.permutation(len(kinds))):
        kind, rank = kinds[place]
        planted: dict = {}
        if kind == "marker":
            # A run of neighbours along the neuraxis that includes the region at the anchor.
            length, anchor = int(rng.choice(_RUN_LENGTHS)), _STRIDE * rank % len(REGIONS)
            start = anchor - int(rng.integers(length))
            start = min(max(start, 0), len(REGIONS) - length)
            planted["regions"] = REGIONS[start : start + length]
            ages = (age for age in shares if rank < round(shares[age] * size.usable))
            planted |= {"ages": tuple(ages), "log_fold": float(rng.uniform(*np.log(_FOLDS)))}
        elif kind == "gradient":
            direction = rng.normal(size=3)
            direction /= np.sqrt((direction**2).sum())
            planted["direction"] = tuple(direction.tolist())
        elif kind == "module":
            planted["module"] = rank % size.n_modules
        elif kind == "absent_at_one_age":
            planted["absent_age"] = list(AGES)[rank % len(AGES)]
        star = "*" if number % 60 == 11 else ""
        level, quietness = _HOUSEKEEPING if kind == "housekeeping" else (None, 1)
        gene = PlantedGene(
            number=number,
            id=FIRST_GENE_ID + number,
            symbol=f"Phm{number + 1:04d}{star}",
            name=f"phantom gene {number + 1}",
            entrez_id=None if number % 45 == 7 else FIRST_ENTREZ_ID + number,
            kind=kind,
            batch=int(rng.integers(N_BATCHES)),
            baseline=rng.normal(-0.8, 0.6) if level is None else level,
            factor=rng.uniform(0.6, 1.4),
            common=_COMMON_STRENGTH * rng.normal(),
            noise=rng.uniform(*_NOISE) * quietness,
            **planted,
        )
        genes.append(gene)
    return genes


def tabulate_truth(age: str, genes: list[PlantedGene], present: set[str]) -> pd.DataFrame:
    """Tabulate the planted truth at an age whose regions are `present`, a row per gene.

    Relevant genes are those with planted differences between these regions.
    """
    names = ["symbol", "kind", "relevant", "regions", "log_fold", "module", "batch"]
    table = pd.DataFrame(map(vars, genes)).rename(columns={"id": "gene_id"})
    table = table.astype({"module": "Int64"})
    table["regions"] = [";".join(r for r in g.regions_at(age) if r in present) for g in genes]
    return table.assign(relevant=table["regions"] != "")[["gene_id", *names]]


ROOT, PATTERN, EVERYWHERE, CONTROL = 1, 2, 3, 4
_FIRST_PART, FIRST_CONTROL, N_CONTROLS = 10, 30, 6
# Name and parent of every term.
_TERMS = {
    int(row["number"]): (row["name"], int(row["parent"] or 0)) for row in read_rows("terms.csv")
}
_PARTS = (REGIONS[:5], REGIONS[5:8], REGIONS[8:])  # forebrain, midbrain, hindbrain

_LARGEST_UNEVENNESS = 0.1
# Share of the genes of a kind that have the term.
_MARKERS_IN_PATTERN, _OTHERS_IN_PATTERN = 0.8, 0.04
_EVEN_NEEDED, _OTHERS_NEEDED = 0.95, 0.01
_IN_CONTROL = 0.15


def term_id(number: int) -> str:
    """Write the number of a term as its id."""
    return f"PHM:{number:07d}"


def gene_set_text(genes: list[PlantedGene], seed: int) -> str:
    """Write the terms of genes in GMT format; they depend only on the seed and the gene."""
    members: dict[int, list[str]] = {number: [] for number in _TERMS}
    for gene in genes:
        rng = np.random.default_rng([seed, 107, gene.number])
        found = set()
        for term in _annotate(gene, rng):
            while term:
                found.add(term)
                term = _TERMS[term][1]
        for term in found:
            members[term].append(gene.symbol.rstrip("*"))
    return "".join(
        "\t".join([term_id(term), _TERMS[term][0], *symbols]) + "\n"
        for term, symbols in members.items()
        if symbols
    )


def is_even(gene: PlantedGene) -> bool:
    """Tell whether the planted level of a gene is the same in all regions, except for noise."""
    unevenness = abs(gene.common) / gene.noise
    return gene.kind in ("housekeeping", "noise") and unevenness <= _LARGEST_UNEVENNESS


def _annotate(gene: PlantedGene, rng: np.random.Generator) -> list[int]:
    """Draw terms; draws do not depend on the outcome of earlier ones."""
    # The last of the four draws is not used; it keeps the controls of a seed unchanged.
    pattern, needed, detail, _ = rng.random(4)
    controls = FIRST_CONTROL + np.flatnonzero(rng.random(N_CONTROLS) < _IN_CONTROL)
    # Nearly every real gene has some term. Otherwise the only genes without a kind would be those
    # with controls.
    terms = [ROOT, *controls.tolist()]
    if pattern < (_MARKERS_IN_PATTERN if gene.kind == "marker" else _OTHERS_IN_PATTERN):
        # The part of the brain in which a marker is raised, or the pattern as a whole.
        places = [rank for rank, part in enumerate(_PARTS) if {*gene.regions[:1]} & {*part}]
        terms.append(_FIRST_PART + places[0] if places and detail > 0.2 else PATTERN)
    if needed < (_EVEN_NEEDED if is_even(gene) else _OTHERS_NEEDED):
        terms.append(EVERYWHERE)
    return terms
