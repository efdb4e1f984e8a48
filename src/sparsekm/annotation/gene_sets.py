"""Gene sets (the genes of each term) from GMT files, matched to the features of a data set.

Each line of a GMT file has a term, a description and genes, separated by tabs. Terms do not know
their ancestors, so a set in the file has to list all of its genes.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sparsekm.io.atomic import atomic_path
from sparsekm.io.input_error import InputError, check_file

if TYPE_CHECKING:
    from sparsekm.network import Downloader


IDENTIFIERS = ("symbol", "entrez_id")
_NO_NAMES = ("", "na", "n/a", "none")


class GeneSetError(InputError):
    """A file of gene sets is not valid; the message names file and line."""


@dataclass(frozen=True)
class GeneSets:
    """Terms and their genes."""

    identifier: str  # how genes are named
    genes: tuple[str, ...]
    terms: tuple[str, ...]
    names: tuple[str, ...]
    members: tuple[np.ndarray, ...]  # positions in `genes`, ascending, of each term


def build_gene_sets(
    identifier: str, members: Mapping[str, Iterable[str]], names: Mapping[str, str]
) -> GeneSets:
    """Build gene sets with sorted terms and genes; the id replaces a missing term name."""
    if identifier not in IDENTIFIERS:
        raise ValueError(f"identifier={identifier!r} should be one of {list(IDENTIFIERS)}.")
    terms = tuple(sorted(members))
    genes = tuple(sorted({gene for found in members.values() for gene in found}))
    place = {gene: at for at, gene in enumerate(genes)}
    found = (sorted({place[gene] for gene in members[term]}) for term in terms)
    return GeneSets(
        identifier=identifier,
        genes=genes,
        terms=terms,
        names=tuple(names.get(term) or term for term in terms),
        members=tuple(np.array(places, dtype=np.int64) for places in found),
    )


def read_gene_sets(file: str | Path, identifier: str = "symbol") -> GeneSets:
    """Read a GMT file, possibly gzipped; an empty description or an address is not a name."""
    file = Path(file)
    check_file(file)
    with file.open("rb") as opened:
        is_packed = opened.read(2) == b"\x1f\x8b"
    members: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    # Each gene is one string object, however many terms contain it.
    genes: dict[str, str] = {}
    number = 0
    try:
        with gzip.open(file) if is_packed else file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                text = line.decode("utf-8", "replace").rstrip("\r\n\t ")
                if not text:
                    continue
                cells = [cell.strip() for cell in text.split("\t")]
                problem = _find_problem(text, cells, identifier, members)
                if problem:
                    raise GeneSetError(f"{file}, line {number}: {problem}.")
                term, name, *found = cells
                members[term] = {genes.setdefault(gene, gene) for gene in found}
                names[term] = term if name.lower() in _NO_NAMES or "://" in name else name
    except (EOFError, zlib.error, OSError) as error:
        problem = f"the compressed file is damaged ({error})"
        raise GeneSetError(f"{file}, line {number + 1}: {problem}.") from error
    if not members:
        raise GeneSetError(f"{file}: terms=0 should be >= 1.")
    return build_gene_sets(identifier, members, names)


def _find_problem(text: str, cells: list[str], identifier: str, known: Container[str]) -> str:
    """Say what is wrong with a line of a GMT file, if anything is."""
    if "\0" in text or "\N{REPLACEMENT CHARACTER}" in text:
        return "text should be UTF-8 without NUL"
    if len(cells) < 3:
        return f"columns={len(cells)} should be >= 3: term, description, genes, separated by tabs"
    term, _, *genes = cells
    if not all([term, *genes]):
        return "only the description may be empty"
    if identifier == "entrez_id" and not all(re.fullmatch("[0-9]+", gene) for gene in genes):
        return "genes should be Entrez ids"
    return f"term={term!r} should be in one line only" if term in known else ""


MOST_BYTES = 2**28
"""Largest download accepted. All sets of MSigDB together have a tenth of this size."""


def fetch_gene_sets(downloader: Downloader, url: str, file: str | Path, identifier: str) -> None:
    """Download a GMT file, and store it if it can be read; otherwise raise a `RefusedError`."""
    # Imported here, because the workflow imports this module only to distinguish addresses from
    # paths.
    from sparsekm.network import RefusedError

    body = downloader.get(url, most=MOST_BYTES)
    with atomic_path(file) as temporary:
        temporary.write_bytes(body)
        try:
            read_gene_sets(temporary, identifier)
        except GeneSetError as error:
            raise RefusedError(f"{url}: should be a GMT file ({error})") from error


@dataclass(frozen=True)
class MatchedFeatures:
    """The features of a data set, matched to distinct genes."""

    # (p,), int64: index of each feature's gene in `symbols`; -1 if the feature has no identifier.
    gene_of: np.ndarray
    # The symbols of the analysed genes, in the order of their first features.
    symbols: list[str]
    # (n_genes,), int64: positions in the genes of the gene sets; -1 if a gene is not there.
    positions: np.ndarray

    def any_of(self, features: np.ndarray) -> np.ndarray:
        """Return, for each gene, whether any of its features is in a mask of shape (p,)."""
        chosen = np.zeros(len(self.symbols), dtype=bool)
        numbers = self.gene_of[np.asarray(features, dtype=bool)]
        chosen[numbers[numbers >= 0]] = True
        return chosen


def match_features(var: pd.DataFrame, sets: GeneSets) -> MatchedFeatures:
    """Match the features of a data set to the genes of gene sets.

    The columns ``entrez_id`` and ``aliases`` (joined by ``;``) of `var` are used if present. A
    feature is looked up by its symbol, without the asterisk of some symbols of the atlas, and by
    aliases that lead to only one gene.
    """
    place = {gene: at for at, gene in enumerate(sets.genes)}
    symbols = var.index.astype(str).to_series(index=range(len(var)))
    if sets.identifier == "entrez_id":
        ids = var["entrez_id"] if "entrez_id" in var else [None] * len(var)
        numbers = pd.to_numeric(pd.Series(ids), errors="coerce")
        keys = [None if pd.isna(number) else str(int(number)) for number in numbers]
    else:
        aliases = var["aliases"].astype(str) if "aliases" in var else [""] * len(var)
        keys = [
            _find_symbol(symbol, other.split(";"), place)
            for symbol, other in zip(symbols, aliases, strict=True)
        ]
    gene_of, found = pd.factorize(pd.Series(keys, dtype=object))
    first = symbols[gene_of >= 0].groupby(gene_of[gene_of >= 0]).first()
    positions = np.array([place.get(key, -1) for key in found], dtype=np.int64)
    return MatchedFeatures(gene_of, list(first), positions)


def _find_symbol(symbol: str, aliases: list[str], known: Container[str]) -> str:
    """Return the gene's name in the gene sets, or else the symbol itself."""
    for name in (symbol, symbol.rstrip("*")):
        if name in known:
            return name
    found = {name for name in aliases if name in known}
    return min(found) if len(found) == 1 else symbol


def list_terms(sets: GeneSets, matched: MatchedFeatures, most: int = 5, largest: int = 500) -> list:
    """List the most specific terms of each feature, joined by "; ", without large terms."""
    by_gene: dict[int, list[str]] = {}
    terms = zip(sets.members, sets.terms, sets.names, strict=True)
    for members, _, name in sorted(terms, key=lambda term: (term[0].size, term[1])):
        for gene in members.tolist() if members.size <= largest else ():
            by_gene.setdefault(gene, []).append(name)
    found = ["; ".join(by_gene.get(int(at), [])[:most]) for at in matched.positions]
    return [found[gene] if gene >= 0 else "" for gene in matched.gene_of]
