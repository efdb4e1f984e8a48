"""An invented ontology of the phantom's genes, in the formats of the real ones (OBO and GAF).

The terms follow from the kind of each gene, so that the correct over-representation is known:

* *pattern of regions* and its parts: most markers have them, whether or not they are raised at an
  age, and few other genes do. A method that keeps the markers raised at an age, and not many other
  genes, finds them over-represented among the kept genes.
* *needed everywhere*: nearly all even genes, whose planted level differs between regions by less
  than a tenth of their noise. They mark no region, however high they are: a method that keeps
  markers finds them over-represented among the dropped genes. Housekeeping genes that follow the
  pattern of the whole tissue are not even, and a method may rightly keep them.
* *control*: assigned at random. Nothing should be found.

As in real annotations, there are alternative ids of a term, an obsolete term, NOT, and ND.
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
_OTHER_ID, _OBSOLETE_ID = 90, 91

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


def ontology_text() -> str:
    """Write the terms in OBO format."""
    lines = ["format-version: 1.2", "ontology: phantom", "remark: invented, of simulated data", ""]
    for number, (name, parent, relation) in _terms().items():
        lines += ["[Term]", f"id: {term_id(number)}", f"name: {name}", "namespace: invented"]
        if number == PATTERN:
            lines.append(f"alt_id: {term_id(_OTHER_ID)}")
        if parent is not None:
            lines.append(f"{relation} {term_id(parent)} ! {_terms()[parent][0]}")
        lines.append("")
    lines += ["[Term]", f"id: {term_id(_OBSOLETE_ID)}", "name: obsolete invented process"]
    lines += ["namespace: invented", "is_obsolete: true", ""]
    return "\n".join(lines)


def _terms() -> dict[int, tuple[str, int | None, str]]:
    """Name, parent and relation of every term in use."""
    is_a, part_of = "is_a:", "relationship: part_of"
    terms = {
        ROOT: ("invented process", None, is_a),
        PATTERN: ("invented pattern of regions", ROOT, is_a),
        EVERYWHERE: (NEEDED_EVERYWHERE, ROOT, is_a),
        CONTROL: ("invented control", ROOT, is_a),
    }
    for rank, part in enumerate(PARTS):
        terms[_FIRST_PART + rank] = (f"invented pattern of the {part}", PATTERN, part_of)
    for rank in range(N_CONTROLS):
        terms[FIRST_CONTROL + rank] = (f"invented control {rank + 1}", CONTROL, is_a)
    return terms


def annotation_text(genes: list[PlantedGene], seed: int) -> str:
    """Write the annotations of genes in GAF format; each depends on the seed and its gene alone."""
    lines = ["!gaf-version: 2.2", "!generated-by: phantom, invented genes and terms"]
    for gene in genes:
        rng = np.random.default_rng(np.random.SeedSequence([seed, 107, gene.number]))
        for number, relation, evidence in _annotate(gene, rng, even=is_even(gene)):
            lines.append(_gaf_line(gene, term_id(number), relation, evidence))
    return "\n".join(lines) + "\n"


def is_even(gene: PlantedGene) -> bool:
    """Tell whether the planted level of a gene is the same in all regions, except for noise."""
    unevenness = abs(gene.common) / gene.noise
    return gene.kind in _KINDS_WITHOUT_PLACE and unevenness <= _LARGEST_UNEVENNESS


def _annotate(
    gene: PlantedGene, rng: np.random.Generator, *, even: bool
) -> Iterator[tuple[int, str, str]]:
    """Yield term, relation and evidence; draws do not depend on the outcome of earlier ones."""
    pattern, needed, part, oddity = rng.random(4)
    controls = rng.random(N_CONTROLS)
    # Nearly every real gene has some term. Otherwise genes of no kind would be those with controls.
    yield ROOT, "involved_in", "IEA"
    if pattern < (_MARKERS_IN_PATTERN if gene.kind == "marker" else _OTHERS_IN_PATTERN):
        yield _pattern_term(gene, part), "involved_in", "IDA"
    elif oddity < 0.1:
        yield PATTERN, "NOT|involved_in", "IDA"
    if needed < (_EVEN_NEEDED if even else _OTHERS_NEEDED):
        yield EVERYWHERE, "involved_in", "IMP"
    for rank in np.flatnonzero(controls < _IN_CONTROL):
        yield FIRST_CONTROL + int(rank), "involved_in", "IEA"
    if oddity > 0.95:
        yield _OBSOLETE_ID, "involved_in", "IEA"
    if 0.9 < oddity <= 0.95:
        yield ROOT, "involved_in", "ND"


def _pattern_term(gene: PlantedGene, draw: float) -> int:
    """Choose the part of the brain that a marker is raised in, or the pattern as a whole."""
    for rank, regions in enumerate(PARTS.values()):
        if draw > 0.2 and gene.regions and gene.regions[0] in regions:
            return _FIRST_PART + rank
    return PATTERN if draw > 0.1 else _OTHER_ID


def _gaf_line(gene: PlantedGene, term: str, relation: str, evidence: str) -> str:
    cells = ["Phantom", f"PHM:{gene.id}", gene.symbol.rstrip("*"), relation, term, "PHM_REF:1"]
    cells += [evidence, "", "P", gene.name, f"phantom{gene.number + 1}", "protein"]
    return "\t".join([*cells, "taxon:32630", "20180101", "Phantom", "", ""])
