"""A small sound file of every kind that is read, written as its writer writes it."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import yaml
from scipy import sparse
from small_project import CONFIGURATION

from sparsekm.atlas.phantom.source import PhantomSource
from sparsekm.atlas.retrieval import retrieve_age, retrieve_tables
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.tables import GAP

AGE = "E11.5"
GENES = ["Shh", "Pax6", "NA", "4", "β-cat"]
KINDS_OF_SAMPLES = ["a", "b"] * 4
# Of fits and paths, for tests of their files.
ATTRIBUTES = {
    "method": "l0",
    "dataset": "toy",
    "n_clusters": 2,
    "search": "auto",
    "seed": 3,
    "parameters": {"n_init": 10, "init": None},
    "versions": {"numpy": "2.0"},
    "input_digest": "ab",
    "code_digest": "cd",
}


def write_sound_files(folder: Path) -> None:
    """Write one of every kind; on every call the same but for dates."""
    _write_atlas(folder)
    _write_gene_sets(folder)
    _write_matrices(folder)
    _write_results(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIGURATION, sort_keys=False))


def _write_atlas(folder: Path) -> None:
    source = PhantomSource("tiny", seed=3)
    retrieve_tables(source, folder / "raw")
    manifest = retrieve_age(source, AGE, folder / "raw" / AGE).query("status == 'ok'")
    _, annotation, energy = manifest.drop_duplicates("role")["file"]
    (folder / "energy.zip").write_bytes((folder / "raw" / AGE / energy).read_bytes())
    with zipfile.ZipFile(folder / "energy.zip") as archive:
        (folder / "header.mhd").write_bytes(archive.read("energy.mhd"))
    (folder / "annotation.zip").write_bytes((folder / "raw" / AGE / annotation).read_bytes())


def _write_gene_sets(folder: Path) -> None:
    (folder / "sets.gmt").write_text(
        "T1\tfirst term\tShh\tPax6\nT2\thttp://example.org/T2\tPax6\tNA\tGfap\nT3\tna\tShh\n"
    )
    (folder / "sets.gmt.gz").write_bytes(gzip.compress((folder / "sets.gmt").read_bytes(), mtime=0))


def _write_matrices(folder: Path) -> None:
    X = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)
    names = [f"cell{i}" for i in range(8)]
    frame = pd.DataFrame(X, columns=GENES, index=names)
    frame.assign(kind=KINDS_OF_SAMPLES).to_csv(folder / "matrix.csv", index_label="")
    frame.to_csv(folder / "matrix.tsv", sep="\t", index_label="")
    (folder / "matrix.csv.gz").write_bytes(
        gzip.compress((folder / "matrix.csv").read_bytes(), mtime=0)
    )
    truth = np.array([True, False, False, True, True])
    arrays = {"X": X, "y": np.array(KINDS_OF_SAMPLES), "genes": np.array(GENES), "relevant": truth}
    np.savez(folder / "matrix.npz", **arrays)
    np.savez_compressed(
        folder / "packed.npz",
        X=np.asfortranarray(X.astype(np.float64)),
        labels=np.arange(8) % 3,
        samples=np.array(names, dtype="S6"),
    )
    obs = pd.DataFrame({"kind": pd.Categorical(KINDS_OF_SAMPLES), "depth": np.arange(8.0)}, names)
    var = pd.DataFrame({"relevant": truth, "n": pd.array([1, 2, None, 4, 5], "Int64")}, GENES)
    dense = anndata.AnnData(X, obs=obs, var=var, layers={"counts": X + 1}, uns={"a": {"b": 1}})
    dense.write_h5ad(folder / "dense.h5ad", compression="gzip")
    counts = sparse.csr_matrix(np.where(X > 0, X, 0))
    anndata.AnnData(counts, obs=obs, var=var).write_h5ad(folder / "sparse.h5ad")
    with h5py.File(folder / "matrix.h5", "w") as opened:
        opened.create_dataset("X", data=X, chunks=(3, 2), compression="gzip", shuffle=True)
        opened["y"] = KINDS_OF_SAMPLES
        opened["genes"] = GENES
        opened["samples"] = np.array(names, dtype="S6")


def _write_results(folder: Path) -> None:
    rng = np.random.default_rng(2)
    n, p = 8, 5
    X = rng.normal(size=(n, p)).astype(np.float32)
    obs = pd.DataFrame({"label": KINDS_OF_SAMPLES, "region": KINDS_OF_SAMPLES}, [*"ABCDEFGH"])
    var = pd.DataFrame({"relevant": [True, False] * 2 + [True], "name": GENES}, GENES)
    var = var.assign(mean=rng.random(p), deviation=1 + rng.random(p))
    regions = pd.DataFrame(
        {"acronym": ["a", "b"], "name": ["A", "B"], "id": [1, 2], "color": ["#00ff00", "#0000ff"]}
    )
    provenance = {"dataset": "toy", "source": "matrix", "simulated": False, "n": np.arange(3)}
    uns, obsm = {"regions": regions}, {"spatial": rng.random((n, 3))}
    write_normalised(folder / "normalised.h5ad", X, obs, var, provenance, obsm=obsm, uns=uns)
    gap = pd.DataFrame(np.arange(18.0).reshape(2, 9) / 7, columns=list(GAP.columns))
    GAP.write(folder / "gap.csv", gap.assign(n_selected=[1, 2]).drop(columns="chosen"), 1)
