"""Gene sets: the genes of each term, from any source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

IDENTIFIERS = ("symbol", "entrez_id")


@dataclass(frozen=True)
class GeneSets:
    """Terms, and the genes of each."""

    identifier: str  # how genes are named
    genes: tuple[str, ...]
    terms: tuple[str, ...]
    names: tuple[str, ...]
    members: tuple[np.ndarray, ...]  # positions in `genes`, ascending, of each term
    synonyms: Mapping[str, str] = field(default_factory=dict)  # unambiguous other names of genes
    # Counts of what was read, mapped and left out.
    notes: Mapping[str, int] = field(default_factory=dict)
    obsolete: tuple[str, ...] = ()  # obsolete terms in the annotations, which were left out


def build_gene_sets(
    identifier: str,
    members: Mapping[str, Iterable[str]],
    names: Mapping[str, str],
    *,
    synonyms: Mapping[str, str] | None = None,
    notes: Mapping[str, int] | None = None,
    obsolete: Iterable[str] = (),
) -> GeneSets:
    """Build gene sets with sorted terms and genes; the id replaces a missing name of a term."""
    if identifier not in IDENTIFIERS:
        raise ValueError(f"identifier={identifier!r} should be one of {list(IDENTIFIERS)}.")
    terms = tuple(sorted(members))
    genes = tuple(sorted({gene for found in members.values() for gene in found}))
    place = {gene: at for at, gene in enumerate(genes)}
    return GeneSets(
        identifier=identifier,
        genes=genes,
        terms=terms,
        names=tuple(names.get(term) or term for term in terms),
        members=tuple(
            np.array(sorted(place[gene] for gene in set(members[term])), dtype=np.int64)
            for term in terms
        ),
        synonyms=dict(sorted((synonyms or {}).items())),
        notes=dict(notes or {}),
        obsolete=tuple(sorted(set(obsolete))),
    )


def unique_synonyms(claims: Iterable[tuple[str, str]], symbols: set[str]) -> dict[str, str]:
    """Map each synonym that means exactly one gene, and is not itself a symbol, to its symbol.

    `claims` are pairs of a synonym and a symbol that it may mean.
    """
    meant: dict[str, set[str]] = {}
    for synonym, symbol in claims:
        if synonym and synonym not in symbols:
            meant.setdefault(synonym, set()).add(symbol)
    return {synonym: min(found) for synonym, found in meant.items() if len(found) == 1}
