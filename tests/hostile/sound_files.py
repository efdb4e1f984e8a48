"""A small sound file of every kind that is read, written as its writer writes it."""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import replace
from pathlib import Path

import anndata
import h5py
import numpy as np
import pandas as pd
import yaml
from scipy import sparse
from sparsekm.io.resampling_file import Resamplings
from sparsekm.tuning.resampled_paths import FAMILIES, ResampledPaths

from sparsekm.annotation.clusters import OVERLAP
from sparsekm.annotation.enrichment import ENRICHMENT
from sparsekm.annotation.gene_table import (
    CHANGES,
    GENE_TABLE,
    gene_table,
    tabulate_ages,
    tabulate_changes,
)
from sparsekm.atlas.assembly import assemble_age, describe_expression
from sparsekm.atlas.normalisation import COMMON_GENES
from sparsekm.atlas.ontology import read_ontology
from sparsekm.atlas.phantom.source import PhantomSource
from sparsekm.atlas.retrieval import retrieve_age, retrieve_tables
from sparsekm.cluster.sparsity_path import SparsityPath
from sparsekm.io.atomic import write_table
from sparsekm.io.batch_files import References
from sparsekm.io.fit_files import (
    CLUSTERS,
    pick_fit,
    read_fit,
    tabulate_clusters,
    write_fit,
    write_path,
)
from sparsekm.io.hdf5_format import write_anndata
from sparsekm.io.normalised_file import write_normalised
from sparsekm.io.tables import CONSENSUS, EVIDENCE, GAP, SCORES, SEEDS
from sparsekm.network import Received
from sparsekm.studies.paper.repetition import METRICS, Repetition, RepetitionStore

AGE = "E11.5"
PARAMETERS = {"seed": 1}
RECEIVED_URL = "https://example.org/energy.zip"
GENES = ["Shh", "Pax6", "NA", "4", "β-cat"]
KINDS_OF_SAMPLES = ["a", "b"] * 4
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
    _write_tables(folder)
    (folder / "config.yaml").write_text(yaml.safe_dump(CONFIGURATION, sort_keys=False))


CONFIGURATION = {
    "seed": 1,
    "atlas": {"source": "phantom", "size": "tiny", "seed": 3, "ages": ["E11.5", "P4"]},
    "matrices": {
        "tumours": {"path": "tumours.csv", "labels": "kind"},
        "cells": {"path": "cells.h5ad", "n_clusters": 2},
    },
    "methods": ["kmeans", "l1", "l0"],
    "annotation": {"subsamples": 2, "genes_of_interest": ["Shh"], "term_size": [5, 500]},
    "n_clusters": "regions",
    "search": "alternate",
    "n_init": 2,
    "tuning": {"sparsities": {"l0": [0.25, 6, 12], "l1": [1.2, 2, 3]}, "references": 2},
}


def _write_atlas(folder: Path) -> None:
    source = PhantomSource("tiny", seed=3)
    retrieve_tables(source, folder / "raw")
    entries = retrieve_age(source, AGE, folder / "raw" / AGE)
    energy = next(entry.file for entry in entries if entry.role == "energy" and entry.file)
    (folder / "energy.zip").write_bytes((folder / "raw" / AGE / energy).read_bytes())
    with zipfile.ZipFile(folder / "energy.zip") as archive:
        (folder / "header.mhd").write_bytes(archive.read("energy.mhd"))
    annotation = next(entry.file for entry in entries if entry.role == "annotation")
    (folder / "annotation.zip").write_bytes((folder / "raw" / AGE / annotation).read_bytes())
    ontology = read_ontology(folder / "raw" / "ontology.json")
    matrix = assemble_age(folder / "raw" / AGE, ontology, AGE)
    data = describe_expression(matrix, AGE, source="phantom", simulated=True, settings={"level": 3})
    write_anndata(folder / "expression.h5ad", data[:40, :12].copy())
    table = data.var[["gene_id", "symbol"]].rename(columns={"symbol": "gene"})
    COMMON_GENES.write(folder / "common_genes.csv", table.assign(common=True, **{AGE: ""}))
    received = Received(folder / "received")
    received.add("energy.zip", RECEIVED_URL, b"a body")
    received.add("absent.zip", RECEIVED_URL, None)


def _write_gene_sets(folder: Path) -> None:
    (folder / "sets.gmt").write_text(
        "T1\tfirst term\tShh\tPax6\nT2\thttp://example.org/T2\tPax6\tNA\tGfap\nT3\tna\tShh\n"
    )
    (folder / "sets.gmt.gz").write_bytes(gzip.compress((folder / "sets.gmt").read_bytes(), mtime=0))


def _write_matrices(folder: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(8, 5)).astype(np.float32)
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
    regions = pd.DataFrame(
        {"acronym": ["a", "b"], "name": ["A", "B"], "id": [1, 2], "color": ["#00ff00", "#0000ff"]}
    )
    provenance = {"dataset": "toy", "source": "matrix", "simulated": False, "n": np.arange(3)}
    uns, obsm = {"regions": regions}, {"spatial": rng.random((n, 3))}
    write_normalised(folder / "normalised.h5ad", X, obs, var, provenance, obsm=obsm, uns=uns)
    few = sparse.csr_array(X * (X > 0.5))
    write_normalised(folder / "stored.h5ad", few, obs, var.assign(center=rng.random(p)), provenance)
    weights = rng.random((3, p))
    weights[0, [0, 2]] = 0
    path = SparsityPath(
        sparsities=np.array([1.0, 2.0, 5.0]),
        objectives=rng.random(3),
        first_objectives=rng.random(3),
        labels=rng.integers(0, 2, (3, n)).astype(np.int32),
        weights=weights,
        scores=rng.random((3, p)),
        n_iter=np.array([4, 1, 9]),
        search="global",
    )
    write_path(folder / "path.h5", path, ATTRIBUTES)
    fit = pick_fit(path, 1, rng.random((2, p)), {**ATTRIBUTES, "rule": "max"})
    shares = {"confidence": rng.random(n), "selection_frequency": rng.random(p)}
    fit = replace(fit, **shares)
    write_fit(folder / "tuned.h5", fit)
    grid = np.array([1.0, 2.0])
    about = {**ATTRIBUTES, "reference": "permutation"}
    references = References(np.arange(3), grid, rng.random((3, 2)) + 1, about)
    references.write(folder / "references.h5")
    drawn = np.array([[True] * p, [True, False] * 2 + [True]])
    paths = [
        ResampledPaths(
            rng.integers(0, 2, (len(FAMILIES), 2, n)).astype(np.int16),
            (rng.random((len(FAMILIES), 2, p)) < 0.5) & drawn[index],
            drawn[index],
            rng.random((len(FAMILIES), 2)) if index == 0 else np.full((len(FAMILIES), 2), np.nan),
        )
        for index in range(2)
    ]
    Resamplings(np.arange(2), grid, paths, ATTRIBUTES).write(folder / "resamplings.h5")
    metrics = {name: float(number) for number, name in enumerate(METRICS)}
    RepetitionStore(folder / "store", PARAMETERS).keep(
        0, Repetition(metrics, rng.random(p), rng.random((4, 5)))
    )
    table = gene_table(var, {"l0": fit}, stability={"l0": rng.random(p)})
    GENE_TABLE.write(folder / "genes.csv", table)


def _write_tables(folder: Path) -> None:
    gap = pd.DataFrame(np.arange(18.0).reshape(2, 9) / 7, columns=list(GAP.columns))
    GAP.write(folder / "gap.csv", gap.assign(n_selected=[1, 2]).drop(columns="chosen"), 1)
    SCORES.write_row(
        folder / "scores.csv",
        {
            "dataset": "toy",
            "method": "l0",
            **dict.fromkeys(("n_samples", "n_features", "n_clusters", "n_nonzero_weights"), 3),
            **dict.fromkeys(("sparsity", "objective", "cer", "cer_chance", "ari", "ami"), 0.25),
            **dict.fromkeys(("ecr", "pzw", "pnw"), None),
        },
    )
    seeds = pd.DataFrame({name: [0.25, 0.5] for name in SEEDS.columns})
    SEEDS.write(folder / "seeds.csv", seeds.assign(seed=[0, 1], n_nonzero_weights=3, n_kept_too=2))
    EVIDENCE.write_row(
        folder / "evidence.csv",
        {
            "dataset": "toy",
            "method": "l0",
            "reference": "gaussian",
            **dict.fromkeys(("noise_correlation", "strength"), 1.5),
            **dict.fromkeys(("stability", "reference_mean", "reference_max"), 0.25),
            "n_references": 5,
            "n_samples": 12,
            "conclusion": "Evidence of clusters: halves agree.",
        },
    )
    fit = read_fit(folder / "tuned.h5")
    fits = {"l0": replace(fit, confidence=None), "sparse": fit}
    table = tabulate_clusters(["a", "NA", "1", *"bcdef"], KINDS_OF_SAMPLES, fits)
    CLUSTERS.write(folder / "clusters.csv", table)
    consensus = pd.DataFrame(np.arange(10.0).reshape(2, 5) / 7, columns=list(CONSENSUS.columns)[:5])
    flags = {"admissible": [True, False], "chosen": [True, False]}
    CONSENSUS.write(folder / "consensus.csv", consensus.assign(n_selected=[1, 2], **flags))
    shares = pd.DataFrame({"symbol": GENES, "kept": [0, 1, 2, 2, 1], "subsamples": 2})
    write_table(shares.assign(stability=shares["kept"] / 2), folder / "stability.csv")
    overlap = ["l0", 0, 4, "a", "A", "#ff0000", 4, 3, 0.75, 0.75, True]
    OVERLAP.write(
        folder / "contingency.csv", pd.DataFrame([overlap], columns=list(OVERLAP.columns))
    )
    term = ["kept", "T1", "first", 20, 5, 4, 3, 1.0, 3.0, 0.01, 0.02, 0.03, "Shh;Pax6"]
    ENRICHMENT.write(
        folder / "enrichment.csv", pd.DataFrame([term], columns=list(ENRICHMENT.columns))
    )
    tables = {
        age: pd.DataFrame(
            {"symbol": GENES, "verdict": ["kept by both", "only l0", *["neither"] * 3]}
        )
        for age in ("E11.5", "P4")
    }
    ages = tabulate_ages(tables)
    write_table(ages, folder / "kept_by_age.csv")
    CHANGES.write(folder / "changes.csv", tabulate_changes(ages, list(tables)))
