"""Reading gene sets from GMT: each line has a term, a description and genes, separated by tabs.

Ancestors are as in the file, since GMT has no ontology.
"""

from __future__ import annotations

from pathlib import Path

from sparsekm.annotation.gene_sets import GeneSets, build_gene_sets
from sparsekm.annotation.text_lines import GeneSetError, at, read_lines

_NO_NAMES = ("", "na", "n/a", "none")


def read_gmt(file: str | Path, identifier: str = "symbol") -> GeneSets:
    """Read a GMT file, compressed by gzip or not, that names genes by `identifier`.

    An empty description, or an address, is not used as a name.
    """
    members: dict[str, set[str]] = {}
    names: dict[str, str] = {}
    first_line: dict[str, int] = {}
    # One string object per gene, however many terms contain it.
    genes: dict[str, str] = {}
    for number, line in read_lines(file):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.rstrip("\t ").split("\t")]
        if len(cells) < 3:
            raise GeneSetError(
                f"{at(file, number)}: columns={len(cells)} should be >= 3: term, description, "
                "genes, separated by tabs."
            )
        term = cells[0]
        for column, cell in enumerate(cells, start=1):
            if not cell and column != 2:
                raise GeneSetError(f"{at(file, number, column)}: the cell should not be empty.")
            if column > 2 and identifier == "entrez_id" and not _is_number(cell):
                raise GeneSetError(f"{at(file, number, column)}: {cell!r} should be an Entrez id.")
        if term in members:
            raise GeneSetError(
                f"{at(file, number, 1)}: term={term!r} is in line {first_line[term]} already."
            )
        members[term] = {genes.setdefault(gene, gene) for gene in cells[2:]}
        first_line[term] = number
        nameless = cells[1].lower() in _NO_NAMES or "://" in cells[1]
        names[term] = term if nameless else cells[1]
    if not members:
        raise GeneSetError(f"{file}: terms=0 should be >= 1.")
    return build_gene_sets(identifier, members, names, notes={"terms read": len(members)})


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal()
