"""Every kind of file that is read: by what, and what must hold of anything that is returned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from configuration_reader import check_configuration, read_configuration
from sound_files import AGE, GENES, PARAMETERS, RECEIVED_URL
from sparsekm.io.resampling_file import Resamplings
from validity import (
    check_age,
    check_body,
    check_evidence,
    check_expression,
    check_fit,
    check_gene_sets,
    check_genes,
    check_header,
    check_ids,
    check_labelled_set,
    check_listing,
    check_manifest,
    check_matrix,
    check_normalised,
    check_ontology,
    check_path,
    check_references,
    check_repetition,
    check_resamplings,
    check_scores,
    check_table,
    check_volume,
)

from sparsekm.annotation.clusters import OVERLAP
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_sets import read_gene_sets
from sparsekm.annotation.gene_table import CHANGES, GENE_TABLE, read_ages
from sparsekm.annotation.stability import read_stability
from sparsekm.atlas.assembly import add_truth, assemble_age, read_expression
from sparsekm.atlas.grid import parse_header, read_annotation, read_energy
from sparsekm.atlas.listing import read_genes, read_listing
from sparsekm.atlas.normalisation import read_common_genes
from sparsekm.atlas.ontology import read_ontology
from sparsekm.atlas.retrieval import read_manifest
from sparsekm.io.batch_files import Batch, References
from sparsekm.io.fit_files import CLUSTERS, read_fit, read_path
from sparsekm.io.normalised_file import (
    read_anndata,
    read_classes,
    read_features,
    read_normalised,
)
from sparsekm.io.readers.reader import read_matrix
from sparsekm.io.tables import CONSENSUS, EVIDENCE, GAP, SCORES, SEEDS
from sparsekm.network import Received
from sparsekm.studies.paper.repetition import RepetitionStore
from sparsekm.studies.yardstick.runner import read_labelled_set


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    file: str  # the sound one, relative to the folder of sound files
    form: str  # of ``text, gzip, json, zip, hdf5, yaml``: how it may be mutated
    # Called with the file and a folder that has the other files that it needs.
    read: Callable[[Path, Path], object]
    check: Callable[[object], None]  # raises AssertionError if what was read is not valid
    # Whether a damaged file counts as absent (a cache) in place of an error.
    is_silent: bool = False


def read_everything_normalised(file: Path, folder: Path) -> tuple:
    return read_normalised(file), read_anndata(file), read_features(file), read_classes(file)


def _read_age(part: str, file: Path, folder: Path):
    """Assemble an age of which one file is another."""
    original = folder / "raw" / AGE / part
    sound = original.read_bytes()
    try:
        original.write_bytes(file.read_bytes())
        return assemble_age(folder / "raw" / AGE, read_ontology(folder / "raw/ontology.json"), AGE)
    finally:
        original.write_bytes(sound)


def _read_truth(file: Path, folder: Path):
    data = read_expression(folder / "expression.h5ad")
    add_truth(data, file)
    return data


def _read_stored(file: Path, folder: Path):
    store = RepetitionStore(file.parent, PARAMETERS)
    file.rename(file.with_name("0.npz"))
    return store.load(0)


def _read_received(file: Path, folder: Path):
    (file.parent / "energy.zip").write_bytes(b"a body")
    file.rename(file.with_name("received.jsonl"))
    return Received(file.parent).find("energy.zip", RECEIVED_URL)


def _alone(reader: Callable[[Path], object]) -> Callable[[Path, Path], object]:
    return lambda file, folder: reader(file)


def _matrix(name: str, file: str, form: str, labels: str | None = None, layer: str | None = None):
    return Kind(name, file, form, lambda f, _: read_matrix(f, labels, layer), check_matrix)


def _batch(name: str, batch: type[Batch], check: Callable[[object], None]) -> Kind:
    return Kind(name, f"{name}.h5", "hdf5", lambda file, _: batch.read([file]), check)


def _table(name: str, file: str, reader: Callable[[Path], object], **columns: str) -> Kind:
    return Kind(name, file, "text", _alone(reader), partial(check_table, columns))


KINDS = [
    Kind("energy zip", "energy.zip", "zip", _alone(read_energy), partial(check_volume, "float32")),
    Kind(
        "annotation zip",
        "annotation.zip",
        "zip",
        _alone(read_annotation),
        partial(check_volume, "uint32"),
    ),
    Kind(
        "header",
        "header.mhd",
        "text",
        lambda f, _: parse_header(f.read_bytes(), str(f)),
        check_header,
    ),
    Kind("ontology", "raw/ontology.json", "json", _alone(read_ontology), check_ontology),
    Kind("listing", f"raw/{AGE}/listing.json", "json", _alone(read_listing), check_listing),
    Kind("genes", "raw/genes.json", "json", _alone(read_genes), check_genes),
    Kind("manifest", f"raw/{AGE}/manifest.csv", "text", _alone(read_manifest), check_manifest),
    *(
        Kind(f"age with {part}", f"raw/{AGE}/{part}", form, partial(_read_age, part), check_age)
        for part, form in (("listing.json", "json"), ("manifest.csv", "text"))
    ),
    Kind("truth", f"raw/{AGE}/truth.csv", "text", _read_truth, check_expression),
    Kind("received", "received/received.jsonl", "text", _read_received, check_body, True),
    _matrix("matrix csv", "matrix.csv", "text", "kind"),
    _matrix("matrix tsv", "matrix.tsv", "text"),
    _matrix("matrix csv.gz", "matrix.csv.gz", "gzip", "kind"),
    _matrix("matrix npz", "matrix.npz", "zip"),
    _matrix("packed npz", "packed.npz", "zip"),
    _matrix("dense h5ad", "dense.h5ad", "hdf5", "kind"),
    _matrix("layer of h5ad", "dense.h5ad", "hdf5", "depth", "counts"),
    _matrix("sparse h5ad", "sparse.h5ad", "hdf5", "kind"),
    _matrix("matrix h5", "matrix.h5", "hdf5"),
    Kind(
        "study npz",
        "matrix.npz",
        "zip",
        lambda f, _: read_labelled_set(f, max_samples=6, random_state=0),
        check_labelled_set,
    ),
    Kind("expression", "expression.h5ad", "hdf5", _alone(read_expression), check_expression),
    Kind("normalised", "normalised.h5ad", "hdf5", read_everything_normalised, check_normalised),
    Kind("stored", "stored.h5ad", "hdf5", read_everything_normalised, check_normalised),
    Kind("path", "path.h5", "hdf5", _alone(read_path), check_path),
    Kind("tuned", "tuned.h5", "hdf5", _alone(read_fit), check_fit),
    _batch("references", References, check_references),
    _batch("resamplings", Resamplings, check_resamplings),
    Kind("repetition", "store/0.npz", "zip", _read_stored, check_repetition, True),
    Kind("gmt", "sets.gmt", "text", _alone(read_gene_sets), check_gene_sets),
    Kind("gmt.gz", "sets.gmt.gz", "gzip", _alone(read_gene_sets), check_gene_sets),
    Kind("common genes", "common_genes.csv", "text", _alone(read_common_genes), check_ids),
    _table("gap", "gap.csv", GAP.read, sparsity="f", gap="f", se="f", chosen="b"),
    _table("consensus", "consensus.csv", CONSENSUS.read, agreement="f", chosen="b"),
    Kind("scores", "scores.csv", "text", _alone(SCORES.read_row), check_scores),
    _table("seeds", "seeds.csv", SEEDS.read, seed="i", n_kept_too="i", agreement="f"),
    Kind("evidence", "evidence.csv", "text", _alone(EVIDENCE.read_row), check_evidence),
    _table("clusters", "clusters.csv", CLUSTERS.read, sample="O", label="O"),
    _table("gene table", "genes.csv", GENE_TABLE.read, symbol="O"),
    Kind(
        "stability",
        "stability.csv",
        "text",
        lambda f, _: pd.DataFrame({"share": read_stability(f, GENES)}),
        partial(check_table, {"share": "f"}),
    ),
    _table("contingency", "contingency.csv", OVERLAP.read, label="O", cluster="i", is_best="b"),
    _table("enrichment", "enrichment.csv", ENRICHMENT.read, term="O", n_shared="i"),
    _table("kept by age", "kept_by_age.csv", read_ages, symbol="O", n_kept="i"),
    _table("changes", "changes.csv", CHANGES.read, enter="O", n_stay="i"),
    Kind("configuration", "config.yaml", "yaml", _alone(read_configuration), check_configuration),
]
"""Every kind of file, in the order in which they take turns."""
