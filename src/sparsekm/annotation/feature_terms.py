"""The terms of single features, for a table of genes."""

from __future__ import annotations

from sparsekm.annotation.gene_matching import MatchedFeatures
from sparsekm.annotation.gene_sets import GeneSets


def list_terms(sets: GeneSets, matched: MatchedFeatures, most: int = 5, largest: int = 500) -> list:
    """Name the most specific terms of each feature, joined by "; ", smallest first.

    At most `most` are named, of terms with at most `largest` genes.
    """
    by_gene: dict[int, list[str]] = {}
    sizes = [members.size for members in sets.members]
    for t in sorted(range(len(sets.terms)), key=lambda t: (sizes[t], sets.terms[t])):
        if sizes[t] <= largest:
            for gene in sets.members[t]:
                by_gene.setdefault(int(gene), []).append(sets.names[t])
    found = ["; ".join(by_gene.get(int(at), [])[:most]) for at in matched.positions]
    return [found[gene] if gene >= 0 else "" for gene in matched.gene_of]
