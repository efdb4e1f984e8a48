"""Gene sets, the genes of each term, from GMT files, and the features of a data set as such genes.

Each line of a GMT file has a term, a description and genes, separated by tabs. Terms do not know
their ancestors: a set of the file has all of its genes.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sparsekm.io.atomic import atomic_path
from sparsekm.io.input_error import InputError

if TYPE_CHECKING:
    from sparsekm.network import Downloader


IDENTIFIERS = ("symbol", "entrez_id")
_NO_NAMES = ("", "na", "n/a", "none")


class GeneSetError(InputError):
    """A file of gene sets breaks its format; the message names file, line and column."""


@dataclass(frozen=True)
class GeneSets:
    """Terms, and the genes of each."""

    identifier: str  # how genes are named
    genes: tuple[str, ...]
    terms: tuple[str, ...]
    names: tuple[str, ...]
    members: tuple[np.ndarray, ...]  # positions in `genes`, ascending, of each term


def build_gene_sets(
    identifier: str, members: Mapping[str, Iterable[str]], names: Mapping[str, str]
) -> GeneSets:
    """Build gene sets with sorted terms and genes; the id replaces a missing name of a term."""
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
    """Read a GMT file, by gzip or not; a description that is empty or an address is no name."""
    members: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    first_line: dict[str, int] = {}
    # One string object per gene, however many terms contain it.
    genes: dict[str, str] = {}
    for number, line in _read_lines(Path(file)):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.rstrip("\t ").split("\t")]
        if len(cells) < 3:
            raise GeneSetError(
                f"{_at(file, number)}: columns={len(cells)} should be >= 3: term, description, "
                "genes, separated by tabs (GMT)."
            )
        term, name, *found = cells
        for column, cell in enumerate(cells, start=1):
            if not cell and column != 2:
                raise GeneSetError(f"{_at(file, number, column)}: the cell should not be empty.")
            is_number = cell.isascii() and cell.isdecimal()
            if column > 2 and identifier == "entrez_id" and not is_number:
                raise GeneSetError(f"{_at(file, number, column)}: {cell!r} should be an Entrez id.")
        if term in members:
            raise GeneSetError(
                f"{_at(file, number, 1)}: term={term!r} is in line {first_line[term]} already."
            )
        members[term] = {genes.setdefault(gene, gene) for gene in found}
        first_line[term] = number
        names[term] = term if name.lower() in _NO_NAMES or "://" in name else name
    if not members:
        raise GeneSetError(f"{file}: terms=0 should be >= 1.")
    return build_gene_sets(identifier, members, names)


def _at(file: str | Path, line: int, column: int | None = None) -> str:
    """Format a position in a file, counted from 1, for the beginning of a message."""
    return f"{file}, line {line}" + ("" if column is None else f", column {column}")


def _read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file, compressed by gzip or not, with their numbers from 1."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    with file.open("rb") as opened:
        compressed = opened.read(2) == b"\x1f\x8b"
    number = 0
    try:
        with gzip.open(file) if compressed else file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    place, byte = _at(file, number, error.start + 1), line[error.start]
                    raise GeneSetError(f"{place}: byte {byte:#04x} is not UTF-8.") from error
                if "\0" in text:
                    place = _at(file, number, text.index("\0") + 1)
                    raise GeneSetError(f"{place}: NUL is not allowed.")
                yield number, text.rstrip("\r\n")
    except (EOFError, zlib.error, OSError) as error:
        raise GeneSetError(
            f"{_at(file, number + 1)}: the compressed file is damaged ({error})."
        ) from error


MOST_BYTES = 2**28
"""Largest download accepted; all sets of MSigDB have a tenth of it."""


def fetch_gene_sets(downloader: Downloader, url: str, file: str | Path, identifier: str) -> None:
    """Download a GMT file and store it if it can be read; otherwise it is a `RefusedError`."""
    # Only here: the workflow imports this module to tell addresses from paths.
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

    The index of `var` contains symbols, which change over the years; its columns ``entrez_id`` and
    ``aliases`` (joined by ``;``) are used if present. A feature is looked up by its symbol; without
    the asterisk at the end of some symbols of the atlas; and by aliases that lead to only one gene.
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
    return MatchedFeatures(gene_of, list(found), list(first), positions)


def _find_symbol(symbol: str, aliases: list[str], known: Container[str]) -> str:
    """Return the name of the gene in the gene sets, or else the symbol itself."""
    for name in (symbol, symbol.rstrip("*")):
        if name in known:
            return name
    found = {name for name in aliases if name in known}
    return min(found) if len(found) == 1 else symbol


def list_terms(sets: GeneSets, matched: MatchedFeatures, most: int = 5, largest: int = 500) -> list:
    """List the most specific terms of each feature, joined by "; ", with few enough genes."""
    by_gene: dict[int, list[str]] = {}
    terms = zip(sets.members, sets.terms, sets.names, strict=True)
    for members, _, name in sorted(terms, key=lambda term: (term[0].size, term[1])):
        for gene in members.tolist() if members.size <= largest else ():
            by_gene.setdefault(gene, []).append(name)
    found = ["; ".join(by_gene.get(int(at), [])[:most]) for at in matched.positions]
    return [found[gene] if gene >= 0 else "" for gene in matched.gene_of]
