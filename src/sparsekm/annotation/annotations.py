"""From annotations of genes with terms to gene sets that include all ancestors.

Annotations with the qualifier NOT or the evidence ND (no data), and those with obsolete or unknown
terms, are left out and counted. Alternative ids of a term are mapped to the term. Every ancestor of
a term gets the genes of the term, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sparsekm.annotation.gene_sets import GeneSets, build_gene_sets, unique_synonyms
from sparsekm.annotation.obo_reader import TermTree
from sparsekm.annotation.text_lines import GeneSetError

_NO_DATA = "ND"


@dataclass(frozen=True)
class Annotation:
    """One line of a source: a gene has, or does not have, the function of a term."""

    gene: str
    term: str
    evidence: str
    is_negative: bool = False
    synonyms: tuple[str, ...] = ()


def collect_annotations(
    annotations: Iterable[Annotation], tree: TermTree, identifier: str, source: str = "annotations"
) -> GeneSets:
    """Collect annotations into sets of genes named by `identifier`; at least one must remain."""
    direct: dict[str, set[str]] = {}
    claims: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()
    obsolete = set()
    for annotation in annotations:
        counts["annotations read"] += 1
        term = tree.resolve(annotation.term)
        reason = _reason_against(annotation, term)
        if reason:
            counts[reason] += 1
            if reason == _OBSOLETE:
                obsolete.add(annotation.term)
            continue
        counts["ids that were another id of a term"] += term.id != annotation.term
        direct.setdefault(annotation.gene, set()).add(term.id)
        claims.extend((synonym, annotation.gene) for synonym in annotation.synonyms)
    if not direct:
        raise GeneSetError(
            f"{source}: annotations left=0 of {counts['annotations read']} should be >= 1."
        )
    counts["pairs of gene and term"] = sum(len(terms) for terms in direct.values())
    members = _propagate(direct, tree)
    counts["pairs with ancestors"] = sum(len(genes) for genes in members.values())
    return build_gene_sets(
        identifier,
        members,
        {term: tree.terms[term].name for term in members},
        synonyms=unique_synonyms(claims, set(direct)),
        notes=counts,
        obsolete=obsolete,
    )


_NEGATIVE, _UNKNOWN, _OBSOLETE, _ABSENT = (
    "left out: NOT",
    "left out: ND, no data",
    "left out: obsolete term",
    "left out: no term of the ontology",
)


def _reason_against(annotation: Annotation, term) -> str | None:
    if annotation.is_negative:
        return _NEGATIVE
    if annotation.evidence == _NO_DATA:
        return _UNKNOWN
    if term is None:
        return _ABSENT
    return _OBSOLETE if term.is_obsolete else None


def _propagate(direct: dict[str, set[str]], tree: TermTree) -> dict[str, set[str]]:
    members: dict[str, set[str]] = {}
    for gene, terms in direct.items():
        for term in frozenset().union(*(tree.ancestors[term] for term in terms)):
            members.setdefault(term, set()).add(gene)
    return members
