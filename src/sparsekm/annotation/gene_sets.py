"""Gene sets, the genes of each term, from GMT files.

Each line of a GMT file has a term, a description and genes, separated by tabs. Terms do not know
their ancestors: a set of the file has all of its genes.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sparsekm.io.atomic import atomic_path
from sparsekm.io.input_error import InputError

if TYPE_CHECKING:
    from sparsekm.network import Downloader


IDENTIFIERS = ("symbol", "entrez_id")
_GZIP = b"\x1f\x8b"
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
    return GeneSets(
        identifier=identifier,
        genes=genes,
        terms=terms,
        names=tuple(names.get(term) or term for term in terms),
        members=tuple(
            np.array(sorted(place[gene] for gene in set(members[term])), dtype=np.int64)
            for term in terms
        ),
    )


def read_gene_sets(file: str | Path, identifier: str = "symbol") -> GeneSets:
    """Read a GMT file, compressed by gzip or not, that names genes by `identifier`.

    An empty description, or an address, is not used as a name.
    """
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
        term = cells[0]
        for column, cell in enumerate(cells, start=1):
            if not cell and column != 2:
                raise GeneSetError(f"{_at(file, number, column)}: the cell should not be empty.")
            if column > 2 and identifier == "entrez_id" and not _is_number(cell):
                raise GeneSetError(f"{_at(file, number, column)}: {cell!r} should be an Entrez id.")
        if term in members:
            raise GeneSetError(
                f"{_at(file, number, 1)}: term={term!r} is in line {first_line[term]} already."
            )
        members[term] = {genes.setdefault(gene, gene) for gene in cells[2:]}
        first_line[term] = number
        nameless = cells[1].lower() in _NO_NAMES or "://" in cells[1]
        names[term] = term if nameless else cells[1]
    if not members:
        raise GeneSetError(f"{file}: terms=0 should be >= 1.")
    return build_gene_sets(identifier, members, names)


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal()


def _at(file: str | Path, line: int, column: int | None = None) -> str:
    """Format a position in a file, counted from 1, for the beginning of a message."""
    return f"{file}, line {line}" + ("" if column is None else f", column {column}")


def _read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file, compressed by gzip or not, with their numbers from 1."""
    if not file.is_file():
        raise FileNotFoundError(f"{file}: no such file.")
    with file.open("rb") as opened:
        compressed = opened.read(2) == _GZIP
    number = 0
    try:
        with gzip.open(file) if compressed else file.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield number, _decode(file, number, line)
    except (EOFError, zlib.error, OSError) as error:
        raise GeneSetError(
            f"{_at(file, number + 1)}: the compressed file is damaged ({error})."
        ) from error


def _decode(file: Path, number: int, line: bytes) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise GeneSetError(
            f"{_at(file, number, error.start + 1)}: byte {line[error.start]:#04x} is not UTF-8."
        ) from error
    if "\0" in text:
        raise GeneSetError(f"{_at(file, number, text.index(chr(0)) + 1)}: NUL is not allowed.")
    return text.rstrip("\r\n")


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
