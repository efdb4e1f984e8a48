"""Gene metadata that the listings lack: Entrez and Ensembl ids, and aliases.

Symbols date from about 2009; newer names are found by Entrez id, or else among the aliases.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from sparsekm.atlas.envelope import read_rows, read_text, require_id

_COLUMNS = ("entrez_id", "ensembl_id", "aliases")


def read_genes(path: str | Path) -> pd.DataFrame:
    """Read a stored table of genes; see `parse_genes`."""
    return parse_genes(read_rows(path), str(path))


def parse_genes(rows: list[dict], source: str = "genes") -> pd.DataFrame:
    """Tabulate genes, the first row for each id.

    The index is gene_id (int64), the columns are entrez_id (nullable integer), ensembl_id and
    aliases (joined by ``;``), empty if unknown.
    """
    genes: dict[int, tuple] = {}
    for row in rows:
        gene_id = require_id(row.get("id"), "id", source)
        where = f"{source}: gene {gene_id}"
        entrez = row.get("entrez_id")
        if entrez is not None:
            entrez = require_id(entrez, "entrez_id", where)
        aliases = ";".join(read_text(row, "alias_tags", where).split())
        genes.setdefault(gene_id, (entrez, read_text(row, "ensembl_id", where), aliases))
    table = pd.DataFrame(list(genes.values()), columns=list(_COLUMNS), dtype=object)
    table.index = pd.Index(list(genes), dtype="int64", name="gene_id")
    return table.astype({"entrez_id": "Int64"})


def add_genes(var: pd.DataFrame, genes: pd.DataFrame) -> pd.DataFrame:
    """Add Ensembl ids, aliases and missing Entrez ids to a copy of `var`.

    `var` has the columns gene_id and entrez_id; a gene that is not in `genes` gets nothing.
    """
    found = genes.reindex(var["gene_id"].to_numpy()).set_axis(var.index)
    return var.assign(
        entrez_id=var["entrez_id"].fillna(found["entrez_id"]),
        ensembl_id=found["ensembl_id"].fillna("").astype(object),
        aliases=found["aliases"].fillna("").astype(object),
    )
