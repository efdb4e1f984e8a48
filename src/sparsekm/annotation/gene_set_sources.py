"""Where gene sets come from, by the name that a source has in the configuration."""

from __future__ import annotations

from pathlib import Path

from sparsekm.annotation.annotation_readers import read_gaf, read_gene2go
from sparsekm.annotation.annotations import collect_annotations
from sparsekm.annotation.gene_sets import GeneSets
from sparsekm.annotation.gmt_reader import read_gmt
from sparsekm.annotation.obo_reader import read_obo

SOURCES = ("gmt", "gene2go", "gaf")
"""Sources that are files."""


def read_gene_sets(
    source: str,
    file: str | Path,
    ontology: str | Path | None = None,
    *,
    identifier: str = "symbol",
) -> GeneSets:
    """Read the gene sets of a source: "gmt", or annotations of genes ("gene2go", "gaf").

    Annotations need an ontology, the terms in OBO format. `identifier`, "symbol" or "entrez_id", is
    how a GMT file names genes; each of the others names them in one way.
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
