"""Invented terms of the phantom's genes, as gene sets in the format GMT.

The terms follow from the kind of each gene, so that the correct over-representation is known:

* *pattern of regions* and its parts: most markers have them, whether or not they are raised at an
  age, and few other genes do. A method that keeps the markers raised at an age, and not many other
  genes, finds them over-represented among the kept genes.
* *needed everywhere*: nearly all even genes, whose planted level differs between regions by less
  than a tenth of their noise. They mark no region, however high they are: a method that keeps
  markers finds them over-represented among the dropped genes. Housekeeping genes that follow the
  pattern of the whole tissue are not even, and a method may rightly keep them.
* *control*: assigned at random. Nothing should be found.

A gene with a term has the term's ancestors too, as in the sets made from real ontologies.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsekm.atlas.phantom.genes import PlantedGene
from sparsekm.atlas.phantom.sizes import REGIONS

PREFIX = "PHM"
ROOT, PATTERN, EVERYWHERE, CONTROL = 1, 2, 3, 4
NEEDED_EVERYWHERE = "invented process needed everywhere"
_FIRST_PART, FIRST_CONTROL = 10, 30
PARTS = {"forebrain": REGIONS[:5], "midbrain": REGIONS[5:8], "hindbrain": REGIONS[8:]}
N_CONTROLS = 6

_KINDS_WITHOUT_PLACE = ("housekeeping", "noise")
_LARGEST_UNEVENNESS = 0.1

# Share of the genes of a kind that have the term.
_MARKERS_IN_PATTERN = 0.8
_OTHERS_IN_PATTERN = 0.04
_EVEN_NEEDED = 0.95
_OTHERS_NEEDED = 0.01
_IN_CONTROL = 0.15


def term_id(number: int) -> str:
    """Write the number of a term as its id.

    Examples
    --------
    >>> term_id(2)
    'PHM:0000002'
    """
    return f"{PREFIX}:{number:07d}"


def _terms() -> dict[int, tuple[str, int | None]]:
    """Name and parent of every term."""
    terms: dict[int, tuple[str, int | None]] = {
        ROOT: ("invented process", None),
        PATTERN: ("invented pattern of regions", ROOT),
        EVERYWHERE: (NEEDED_EVERYWHERE, ROOT),
        CONTROL: ("invented control", ROOT),
    }
    for rank, part in enumerate(PARTS):
        terms[_FIRST_PART + rank] = (f"invented pattern of the {part}", PATTERN)
    for rank in range(N_CONTROLS):
        terms[FIRST_CONTROL + rank] = (f"invented control {rank + 1}", CONTROL)
    return terms


def gene_set_text(genes: list[PlantedGene], seed: int) -> str:
    """Write the terms of genes in GMT format; those of a gene depend on the seed and it alone."""
    terms = _terms()
    members: dict[int, list[str]] = {number: [] for number in terms}
    for gene in genes:
        rng = np.random.default_rng(np.random.SeedSequence([seed, 107, gene.number]))
        found = set()
        for term in _annotate(gene, rng, even=is_even(gene)):
            above: int | None = term
            while above is not None:
                found.add(above)
                above = terms[above][1]
        for term in found:
            members[term].append(gene.symbol.rstrip("*"))
    return "".join(
        "\t".join([term_id(term), terms[term][0], *symbols]) + "\n"
        for term, symbols in members.items()
        if symbols
    )


def is_even(gene: PlantedGene) -> bool:
    """Tell whether the planted level of a gene is the same in all regions, except for noise."""
    unevenness = abs(gene.common) / gene.noise
    return gene.kind in _KINDS_WITHOUT_PLACE and unevenness <= _LARGEST_UNEVENNESS


def _annotate(gene: PlantedGene, rng: np.random.Generator, *, even: bool) -> Iterator[int]:
    """Yield terms; draws do not depend on the outcome of earlier ones."""
    # Of the four the last is not used; it keeps the controls of a seed what they were.
    pattern, needed, part, _ = rng.random(4)
    controls = rng.random(N_CONTROLS)
    # Nearly every real gene has some term. Otherwise genes of no kind would be those with controls.
    yield ROOT
    if pattern < (_MARKERS_IN_PATTERN if gene.kind == "marker" else _OTHERS_IN_PATTERN):
        yield _pattern_term(gene, part)
    if needed < (_EVEN_NEEDED if even else _OTHERS_NEEDED):
        yield EVERYWHERE
    for rank in np.flatnonzero(controls < _IN_CONTROL):
        yield FIRST_CONTROL + int(rank)


def _pattern_term(gene: PlantedGene, draw: float) -> int:
    """Choose the part of the brain that a marker is raised in, or the pattern as a whole."""
    for rank, regions in enumerate(PARTS.values()):
        if draw > 0.2 and gene.regions and gene.regions[0] in regions:
            return _FIRST_PART + rank
    return PATTERN
