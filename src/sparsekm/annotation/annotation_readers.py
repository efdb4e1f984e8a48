"""Reading gene sets from GMT, GAF (MGI) and gene2go (NCBI) files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sparsekm.annotation.annotations import Annotation, collect_annotations
from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.annotation.gmt_reader import read_gmt
from sparsekm.annotation.obo_reader import read_obo
from sparsekm.annotation.text_lines import GeneSetError, at, read_lines

MOUSE = "10090"
"""NCBI's taxonomy id of the mouse."""

_TERM = re.compile(r"[A-Za-z]{2,12}:[0-9]{4,10}", re.ASCII)
_GAF_VERSION = re.compile(r"!\s*gaf-version:\s*2\.\d", re.ASCII)
_GAF_COLUMNS = (15, 17)
_GENE2GO_HEADER = ("#tax_id", "GeneID", "GO_ID", "Evidence", "Qualifier")
_GENE2GO_COLUMNS = 8
_MOST_DIGITS = 18
SOURCES = ("gmt", "gene2go", "gaf")
"""Formats of gene sets."""


def read_gaf(file: str | Path) -> Iterator[Annotation]:
    """Read a GAF 2 file, compressed by gzip or not; genes are named by symbol."""
    has_version = False
    for number, line in read_lines(file):
        if line.startswith("!"):
            has_version = has_version or bool(_GAF_VERSION.match(line))
            continue
        if not line.strip():
            continue
        if not has_version:
            raise GeneSetError(f"{at(file, number)}: should come after !gaf-version: 2.")
        cells = line.split("\t")
        low, high = _GAF_COLUMNS
        if not low <= len(cells) <= high:
            raise GeneSetError(
                f"{at(file, number)}: columns={len(cells)} should be {low} to {high}."
            )
        yield Annotation(
            gene=_filled(file, number, 3, cells, "symbol"),
            term=_term_id(file, number, 5, cells),
            evidence=_filled(file, number, 7, cells, "evidence"),
            is_negative="NOT" in cells[3].upper().split("|"),
            synonyms=tuple(name.strip() for name in cells[10].split("|") if name.strip()),
        )


def read_gene2go(file: str | Path) -> Iterator[Annotation]:
    """Read the mouse in NCBI's gene2go, compressed or not; genes are named by Entrez id."""
    for number, line in read_lines(file):
        cells = line.split("\t")
        if number == 1:
            if tuple(cells[: len(_GENE2GO_HEADER)]) != _GENE2GO_HEADER:
                raise GeneSetError(
                    f"{at(file, 1)}: header={cells[:5]} should begin with {list(_GENE2GO_HEADER)}."
                )
            continue
        if not line.strip():
            continue
        if len(cells) != _GENE2GO_COLUMNS:
            raise GeneSetError(
                f"{at(file, number)}: columns={len(cells)} should be {_GENE2GO_COLUMNS}."
            )
        if cells[0] != MOUSE:
            continue
        gene = _filled(file, number, 2, cells, "GeneID")
        if not (gene.isascii() and gene.isdecimal() and len(gene) <= _MOST_DIGITS):
            raise GeneSetError(
                f"{at(file, number, 2)}: GeneID={gene[:40]!r} should be a number of at most "
                f"{_MOST_DIGITS} digits."
            )
        yield Annotation(
            gene=str(int(gene)),
            term=_term_id(file, number, 3, cells),
            evidence=_filled(file, number, 4, cells, "Evidence"),
            is_negative=cells[4].upper().startswith("NOT"),
        )


def _filled(file: str | Path, number: int, column: int, cells: list[str], what: str) -> str:
    cell = cells[column - 1].strip()
    if not cell:
        raise GeneSetError(f"{at(file, number, column)}: the {what} should not be empty.")
    return cell


def _term_id(file: str | Path, number: int, column: int, cells: list[str]) -> str:
    cell = cells[column - 1].strip()
    if not _TERM.fullmatch(cell):
        raise GeneSetError(
            f"{at(file, number, column)}: term={cell[:40]!r} should be an id such as GO:0008150."
        )
    return cell


def read_gene_sets(
    source: str,
    file: str | Path,
    ontology: str | Path | None = None,
    *,
    identifier: str = "symbol",
) -> GeneSets:
    """Read the gene sets of a source: "gmt", or annotations of genes ("gene2go", "gaf").

    Annotations require an ontology, the terms in OBO format. `identifier`, "symbol" or "entrez_id",
    is how a GMT file names genes; the other formats each use one identifier.
    """
    if source not in SOURCES:
        raise ValueError(f"source={source!r} should be one of {list(SOURCES)}.")
    if source == "gmt":
        return read_gmt(file, identifier)
    if ontology is None:
        raise ValueError(f"ontology=None should be a file in OBO format for source={source!r}.")
    tree = read_obo(ontology)
    if source == "gaf":
        return collect_annotations(read_gaf(file), tree, "symbol", str(file))
    return collect_annotations(read_gene2go(file), tree, "entrez_id", str(file))
