"""Hostile gene sets, damaged files of the workflow's own, and configurations."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path

import anndata
import h5py
import numpy as np
from configuration_reader import read_configuration
from input_registry import hostile_input
from payload import Payload
from sound_files import DIGEST, GENES, OBO

from sparsekm.annotation.gene_set_sources import read_gene_sets
from sparsekm.expression.normalised_file import read_normalised
from sparsekm.expression.reader import read_matrix
from sparsekm.simulation.repetition_store import RepetitionStore
from sparsekm.storage.gap_file import read_gap
from sparsekm.storage.path_file import read_path


@hostile_input("gene sets: a line of 50 MB in a .gz of 50 KB")
def _(sound, folder):
    with gzip.open(folder / "sets.gmt.gz", "wb") as opened:
        for _ in range(50):
            opened.write(b"A" * 1_000_000)
    return partial(read_gene_sets, "gmt", folder / "sets.gmt.gz")


@hostile_input("an ontology of 4,000 terms, each the parent of the next")
def _(sound, folder):
    terms = [f"[Term]\nid: GO:{n:07d}\nis_a: GO:{n - 1:07d}\n" for n in range(101, 4100)]
    (folder / "terms.obo").write_text(OBO + "\n[Term]\nid: GO:0000100\n\n" + "\n".join(terms))
    return partial(read_gene_sets, "gaf", sound / "genes.gaf", folder / "terms.obo")


@hostile_input("gene2go with an id of 5,000 digits")
def _(sound, folder):
    text = (sound / "gene2go").read_text()
    (folder / "gene2go").write_text(text.replace("\t11\t", "\t" + "9" * 5000 + "\t"))
    return partial(read_gene_sets, "gene2go", folder / "gene2go", sound / "terms.obo")


@hostile_input("a matrix with a feature called ../../x, one called <script> and one called =1+1")
def _(sound, folder):
    (folder / "m.csv").write_text("../../x,<script>,=1+1\n1,2,3\n4,5,6\n7,8,10\n")
    return partial(read_matrix, folder / "m.csv")


@hostile_input("a path.h5 with labels beyond K")
def _(sound, folder):
    (folder / "path.h5").write_bytes((sound / "path.h5").read_bytes())
    with h5py.File(folder / "path.h5", "r+") as opened:
        opened["labels"][0, 0] = 7
    return partial(read_path, folder / "path.h5")


@hostile_input("a normalised.h5ad without its provenance")
def _(sound, folder):
    (folder / "normalised.h5ad").write_bytes((sound / "normalised.h5ad").read_bytes())
    with h5py.File(folder / "normalised.h5ad", "r+") as opened:
        del opened["uns/provenance"]
    return partial(read_normalised, folder / "normalised.h5ad")


@hostile_input("a gap.csv with a word for a number")
def _(sound, folder):
    lines = (sound / "gap.csv").read_text().splitlines()
    cells = lines[1].split(",")
    lines[1] = ",".join(["many", *cells[1:]])
    (folder / "gap.csv").write_text("\n".join(lines) + "\n")
    return partial(read_gap, folder / "gap.csv")


@hostile_input("a finished repetition that is a pickle")
def _(sound, folder):
    arrays = dict.fromkeys(("metrics", "weights", "gap"), np.array([Payload(folder / "ran")]))
    np.savez(folder / "0.npz", digest=np.array(DIGEST), **arrays)
    return partial(RepetitionStore(folder, DIGEST).load, 0)


@hostile_input("an .h5ad with pickles among its values and attributes")
def _(sound, folder):
    import pickle

    body = pickle.dumps(Payload(folder / "ran"))
    X = np.arange(20, dtype=np.float32).reshape(4, 5)
    data = anndata.AnnData(X)
    data.var_names = GENES
    data.uns["pickle"] = np.frombuffer(body, np.uint8)
    data.write_h5ad(folder / "m.h5ad")
    with h5py.File(folder / "m.h5ad", "r+") as opened:
        opened.attrs["pickle"] = np.void(body)
        opened["obs"].attrs["PYTHON_OBJECT"] = np.void(body)
        opened["uns/opaque"] = np.void(body)
    return partial(read_matrix, folder / "m.h5ad")


def _configuration(folder: Path, text: str):
    (folder / "config.yaml").write_text(text)
    return partial(read_configuration, folder / "config.yaml")


@hostile_input("a configuration whose aliases multiply to 10^9 values")
def _(sound, folder):
    lines = ["x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for level in range(1, 9):
        lines.append(f"x{level}: &x{level} [{', '.join([f'*x{level - 1}'] * 10)}]")
    return _configuration(folder, "\n".join(lines))


@hostile_input("a configuration that is a part of itself")
def _(sound, folder):
    return _configuration(folder, "methods: &m [l0, *m]\n")


@hostile_input("a configuration with a number that is none")
def _(sound, folder):
    return _configuration(folder, "tuning: {sparsities: {l1: [.nan, 2]}}\n")


@hostile_input("a data set called ../../escaped")
def _(sound, folder):
    return _configuration(folder, "matrices: {../../escaped: {path: a.csv}}\n")


@hostile_input("a data set whose name ends in a line end")
def _(sound, folder):
    return _configuration(folder, 'matrices: {"cells\\n": {path: a.csv}}\n')


@hostile_input("gene sets from an address that ends in no name")
def _(sound, folder):
    sets = "{source: gmt, path: 'https://example.org/'}"
    text = f"matrices: {{a: {{path: a.csv}}}}\nannotation: {{gene_sets: {sets}}}\n"
    return _configuration(folder, text)


@hostile_input("a configuration that is no YAML")
def _(sound, folder):
    return _configuration(folder, "atlas: [1, 2\nmethods: }\n")
