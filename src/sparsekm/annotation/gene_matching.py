"""Matching of the features of a data set to the genes of gene sets.

Symbols change over the years, and those of the Allen atlas date from about 2009. A feature is
looked up by its symbol; by its symbol without the asterisk at the end of some symbols of the atlas;
and by its aliases, if these lead to only one gene.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sparsekm.annotation.gene_sets import GeneSets


@dataclass(frozen=True)
class MatchedFeatures:
    """The features of a data set as genes, each once."""

    # (p,), int64: index of each feature's gene in `keys`; -1 if the feature has no identifier.
    gene_of: np.ndarray
    keys: list[str]  # the genes analysed, in the order of their first feature
    symbols: list[str]  # the symbol of the first feature of each gene
    # (n_genes,), int64: positions among the genes of the gene sets; -1 if these do not contain
    # the gene.
    positions: np.ndarray

    @property
    def n_annotated(self) -> int:
        """Number of analysed genes that the gene sets contain."""
        return int((self.positions >= 0).sum())

    def any_of(self, features: np.ndarray) -> np.ndarray:
        """Tell for each gene whether any of its features is among these, a mask of shape (p,)."""
        chosen = np.zeros(len(self.keys), dtype=bool)
        numbers = self.gene_of[np.asarray(features, dtype=bool)]
        chosen[numbers[numbers >= 0]] = True
        return chosen


def match_features(var: pd.DataFrame, sets: GeneSets) -> MatchedFeatures:
    """Match the features of a data set to the genes of gene sets.

    The index of `var` contains symbols; its columns ``entrez_id`` and ``aliases`` (joined by ``;``)
    are used if present.
    """
    place = {gene: at for at, gene in enumerate(sets.genes)}
    symbols = [str(symbol) for symbol in var.index]
    if sets.identifier == "entrez_id":
        keys = _entrez_ids(var)
    else:
        aliases = var["aliases"].astype(str) if "aliases" in var else [""] * len(var)
        keys = [
            _find_symbol(symbol, other.split(";"), place)
            for symbol, other in zip(symbols, aliases, strict=True)
        ]
    number: dict[str, int] = {}
    first_symbol: list[str] = []
    gene_of = np.full(len(var), -1, dtype=np.int64)
    for feature, key in enumerate(keys):
        if key is None:
            continue
        if key not in number:
            number[key] = len(number)
            first_symbol.append(symbols[feature])
        gene_of[feature] = number[key]
    positions = np.array([place.get(key, -1) for key in number], dtype=np.int64)
    return MatchedFeatures(gene_of, list(number), first_symbol, positions)


def _entrez_ids(var: pd.DataFrame) -> list[str | None]:
    if "entrez_id" not in var:
        return [None] * len(var)
    numbers = pd.to_numeric(var["entrez_id"], errors="coerce")
    return [None if pd.isna(value) else str(int(value)) for value in numbers]


def _find_symbol(symbol: str, aliases: list[str], known: Container[str]) -> str:
    """Return the name of the gene in the gene sets, or else the symbol itself."""
    for name in (symbol, symbol.rstrip("*")):
        if name in known:
            return name
    found = {name for name in aliases if name in known}
    return min(found) if len(found) == 1 else symbol


def list_terms(sets: GeneSets, matched: MatchedFeatures, most: int = 5, largest: int = 500) -> list:
    """List the most specific terms of each feature, joined by "; ", smallest first.

    At most `most` terms are listed, each with at most `largest` genes.
    """
    by_gene: dict[int, list[str]] = {}
    sizes = [members.size for members in sets.members]
    for t in sorted(range(len(sets.terms)), key=lambda t: (sizes[t], sets.terms[t])):
        if sizes[t] <= largest:
            for gene in sets.members[t]:
                by_gene.setdefault(int(gene), []).append(sets.names[t])
    found = ["; ".join(by_gene.get(int(at), [])[:most]) for at in matched.positions]
    return [found[gene] if gene >= 0 else "" for gene in matched.gene_of]
