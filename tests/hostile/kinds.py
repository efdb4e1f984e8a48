"""Every kind of file that is read: by what, and what must hold of anything that is returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from configuration_reader import check_configuration, read_configuration
from sound_files import AGE
from validity import (
    check_gene_sets,
    check_genes,
    check_header,
    check_listing,
    check_matrix,
    check_normalised,
    check_ontology,
    check_table,
    check_volume,
)

from sparsekm.annotation.gene_sets import read_gene_sets
from sparsekm.atlas.grid import parse_header, read_annotation, read_energy
from sparsekm.atlas.listing import read_genes, read_listing
from sparsekm.atlas.ontology import read_ontology
from sparsekm.io.normalised_file import read_normalised
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.tables import GAP


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    file: str  # the sound one, relative to the folder of sound files
    form: str  # of ``text, gzip, json, zip, hdf5, yaml``: how it may be mutated
    read: Callable[[Path], object]
    check: Callable[[object], None]  # raises AssertionError if what was read is not valid


def _matrix(name: str, file: str, form: str, labels: str | None = None, layer: str | None = None):
    return Kind(name, file, form, lambda f: read_matrix(f, labels, layer), check_matrix)


def _table(name: str, file: str, reader: Callable[[Path], object], **columns: str) -> Kind:
    return Kind(name, file, "text", reader, partial(check_table, columns))


KINDS = [
    Kind("energy zip", "energy.zip", "zip", read_energy, partial(check_volume, "float32")),
    Kind(
        "annotation zip", "annotation.zip", "zip", read_annotation, partial(check_volume, "uint32")
    ),
    Kind(
        "header", "header.mhd", "text", lambda f: parse_header(f.read_bytes(), str(f)), check_header
    ),
    Kind("ontology", "raw/ontology.json", "json", read_ontology, check_ontology),
    Kind("listing", f"raw/{AGE}/listing.json", "json", read_listing, check_listing),
    Kind("genes", "raw/genes.json", "json", read_genes, check_genes),
    _matrix("matrix csv", "matrix.csv", "text", "kind"),
    _matrix("matrix tsv", "matrix.tsv", "text"),
    _matrix("matrix csv.gz", "matrix.csv.gz", "gzip", "kind"),
    _matrix("matrix npz", "matrix.npz", "zip"),
    _matrix("packed npz", "packed.npz", "zip"),
    _matrix("dense h5ad", "dense.h5ad", "hdf5", "kind"),
    _matrix("layer of h5ad", "dense.h5ad", "hdf5", "depth", "counts"),
    _matrix("sparse h5ad", "sparse.h5ad", "hdf5", "kind"),
    _matrix("matrix h5", "matrix.h5", "hdf5"),
    Kind("normalised", "normalised.h5ad", "hdf5", read_normalised, check_normalised),
    Kind("gmt", "sets.gmt", "text", read_gene_sets, check_gene_sets),
    Kind("gmt.gz", "sets.gmt.gz", "gzip", read_gene_sets, check_gene_sets),
    # One of our own tables, which all have one reader.
    _table("gap", "gap.csv", GAP.read, sparsity="f", gap="f", se="f", chosen="b"),
    Kind("configuration", "config.yaml", "yaml", read_configuration, check_configuration),
]
"""Every kind of file, in the order in which they take turns."""
