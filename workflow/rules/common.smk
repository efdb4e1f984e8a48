"""Checks of the configuration, names of files, and what the rules' parameters are made of."""

import os
import re
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

# Of the project, wherever the Snakefile is that includes this file or takes it as a module.
ROOT = Path(str(workflow.current_basedir)).parents[1]
if not (ROOT / "scripts" / "workflow_job.py").is_file():
    raise WorkflowError(
        f"{ROOT}/scripts should be a folder of this machine: its scripts share files. Clone the"
        " project, and name workflow/Snakefile of the clone."
    )
# The sources beside the workflow are the ones that the rules run and digest.
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "workflow")]

from configuration_check import meaning_errors, schema_errors, structure_errors
from sparsekm.annotation.addresses import address_name, is_address
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.sources import SOURCES
from sparsekm.io.file_lock import SUPPORTED, is_supported
from sparsekm.pipeline.provenance import file_digest
from sparsekm.pipeline.registry import METHODS
from sparsekm.pipeline.source_digest import source_digest
from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.settings import select_settings

if not is_supported():
    raise WorkflowError(SUPPORTED)


def check_configuration():
    """Refuse a configuration that breaks the schema, or names what there is not."""
    wrong = structure_errors(config)
    if not wrong:
        for section in ("atlas", "matrices", "simulation", "annotation"):
            # An empty section is one without entries.
            if config.get(section) is None:
                config[section] = {}
        wrong = schema_errors(config)
    if not wrong:
        # This fills in the defaults.
        validate(config, "../schemas/config.schema.yaml")
        wrong = meaning_errors(config)
    if wrong:
        raise WorkflowError("The configuration is wrong.", *wrong)


check_configuration()

ATLAS = config["atlas"]
MATRICES = {
    name: entry for name, entry in config["matrices"].items() if entry is not None
}
DATASETS = [*ATLAS["ages"], *MATRICES]
TUNED = [method for method in config["methods"] if METHODS[method].tuning == "gap"]
TUNED_BY_GAP = TUNED if config["tuning"]["criterion"] == "gap" else []
TUNED_BY_STABILITY = TUNED if config["tuning"]["criterion"] == "stability" else []
RESAMPLED = [
    method for method in config["methods"] if METHODS[method].tuning == "resampling"
]
UNTUNED = [
    method
    for method in config["methods"]
    if METHODS[method].tuning not in ("gap", "resampling")
]
# All that choose features by a sparsity.
SELECTING = [method for method in config["methods"] if METHODS[method].penalty]
# Those whose paths are fitted to all samples, whether or not they run by default.
FITTED = [method for method in METHODS if METHODS[method].tuning != "resampling"]

ANNOTATION = config["annotation"]
# Whether a data set has clusters is asked with one method: l0, where that is among them.
EVIDENCE_METHOD = sorted(TUNED, key=lambda method: method != "l0")[:1]


def gene_set_format():
    """Name the format of the gene sets; None where there are none to read."""
    source = ANNOTATION["gene_sets"]["source"]
    if source == "phantom":
        # Its terms are about its genes and no others.
        is_used = ATLAS["source"] == "phantom" and ATLAS["ages"]
        return "gaf" if is_used else None
    return None if source == "none" else source


def gene_set_file(key):
    """Name a file that gene sets are read from; nothing where there is none."""
    if gene_set_format() is None:
        return []
    if ANNOTATION["gene_sets"]["source"] == "phantom":
        kind = {"path": "gaf", "ontology": "obo"}[key]
        return f"data/raw/gene_sets/phantom.{kind}"
    path = ANNOTATION["gene_sets"].get(key) or []
    if path and is_address(path):
        return f"data/raw/fetched/{address_name(path)}"
    return path


def gene_set_addresses():
    """List the files of gene sets to fetch, with the address and format of each."""
    if gene_set_format() is None or ANNOTATION["gene_sets"]["source"] == "phantom":
        return {}
    formats = {"path": gene_set_format(), "ontology": "obo"}
    chosen = {key: ANNOTATION["gene_sets"].get(key) for key in formats}
    return {
        address_name(url): (url, formats[key])
        for key, url in chosen.items()
        if url and is_address(url)
    }


def gene_sets():
    """Name the file of gene sets; nothing where there are none."""
    return [] if gene_set_format() is None else "data/raw/gene_sets.h5"


def has_enrichment():
    """Tell whether terms are tested: not without choices or gene sets."""
    return gene_set_format() is not None and bool(SELECTING)


def ages_compared():
    """Name what tells who enters and leaves from age to age, where there are several."""
    if len(ATLAS["ages"]) < 2 or not SELECTING:
        return {}
    return {
        "kept_by_age": "results/genes/kept_by_age.csv",
        "changes": "results/genes/changes.csv",
    }


def any_of(names):
    """Give a wildcard's constraint that lets these names through and nothing else."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    age=any_of(ATLAS["ages"]),
    dataset=r"[A-Za-z0-9_.-]+",
    method=r"[a-z0-9]+",
    batch=r"\d+",


def targets():
    """List the files that a whole run ends in."""
    return [
        "results/report.html",
        *expand(
            "results/{dataset}/clusters.{kind}", dataset=DATASETS, kind=["csv", "h5ad"]
        ),
    ]


@cache
def code(script, *modules):
    """Digest a script and the package code it uses: a parameter, so that edits rerun its jobs.

    Modules that the script loads by name count where they are named here.
    """
    return source_digest(ROOT / "scripts" / f"{script}.py", modules=modules)


def source_module():
    """Name the module of the atlas' source, which is loaded by name."""
    return SOURCES[ATLAS["source"]][0]


def source_settings():
    """Give the parameters of the atlas' source that its files depend on."""
    if ATLAS["source"] == "allen":
        return {name: ATLAS["allen"][name] for name in ("url", "download_url")}
    return {name: ATLAS[name] for name in ("size", "seed")}


def needs_network():
    """Tell whether the atlas is fetched: here then, not on a cluster, whose nodes seldom can."""
    return ATLAS["source"] == "allen"


def paper_file(name):
    """Name a table of the paper's, from where Snakemake works.

    An absolute name would be another input in another copy of the project. Its rules take it as
    ancient, and its digest as a parameter: a fresh checkout has new time stamps.
    """
    return os.path.relpath(ROOT / "data" / "paper" / f"{name}.csv")


def paper_tables():
    """Name the paper's tables about the atlas, where there is a real one to compare with."""
    if not (ATLAS["source"] == "allen" and ATLAS["ages"]):
        return []
    return [paper_file("atlas_statistics"), paper_file("atlas_scores")]


def common_genes(wildcards):
    """Name the table of genes common to all ages, where only those are wanted."""
    return "data/raw/common_genes.csv" if ATLAS["genes"] == "common" else []


@cache
def expected_megabytes(dataset):
    """Estimate the size of a data set's matrix, which may not be there yet."""
    if dataset in ATLAS["ages"]:
        # The real atlas is as large as its phantom at full size.
        size = get_size("full" if ATLAS["source"] == "allen" else ATLAS["size"])
        return size.ages[dataset].n_tissue * size.genes.usable * 4 / 2**20
    path = MATRICES[dataset].get("path")
    return bytes_of(Path(path)) / 2**20 if path and Path(path).exists() else 1


def assembly_memory(wildcards, attempt):
    """Give the megabytes of an assembly: those of its matrix, which no input's size tells."""
    return int(attempt * (500 + 5 * expected_megabytes(wildcards.age)))


def matrix_file(wildcards):
    """Name the file that holds a matrix: the user's, or the drawn one."""
    drawn = f"data/raw/{wildcards.dataset}/matrix.npz"
    return MATRICES[wildcards.dataset].get("path", drawn)


# Parameters of the search; each method takes those that it knows.
SEARCH = {name: config[name] for name in ("min_cluster_size", "search", "n_init")}


def n_clusters(dataset):
    """Give K of a data set, as far as the configuration tells it.

    Arrays may hold labels that nobody named; without any in other files there are no classes to
    count, and the data have to suggest a number.
    """
    own = MATRICES.get(dataset, {})
    asked = own.get("n_clusters", config["n_clusters"])
    is_unlabelled = "path" in own and own.get("labels") is None
    has_arrays = own.get("path", "").lower().endswith((".npz", ".h5"))
    return "auto" if asked == "regions" and is_unlabelled and not has_arrays else asked


def counts_file(wildcards):
    """Name the comparison of numbers of clusters, where K is left to the data."""
    if n_clusters(wildcards.dataset) == "auto":
        return "results/{dataset}/cluster_counts.csv"
    return []


# What a comparison of numbers of clusters spends on each; n_init holds for its searches.
COUNT_EFFORT = {"n_splits": 4, "n_references": 3}


def count_problem():
    """Give the problem whose K is sought: l0 on a short grid; any K will do to pose it."""
    return {
        "seed": config["seed"],
        "n_clusters": 2,
        "search": SEARCH | {"n_init": min(3, SEARCH["n_init"])},
        "grid": {
            "sparsities": config["tuning"]["sparsities"]["l0"],
            "n_sparsities": min(5, config["tuning"]["n_sparsities"]),
        },
    }


def problem(wildcards):
    """Give the problem that a data set and a method pose, see pose_problem of the package.

    As one parameter: Snakemake compares the values of a rule's parameters as a set, without their
    names, so that numbers that change places, or that occur twice, would pass unseen.
    """
    return {
        "seed": config["seed"],
        "n_clusters": n_clusters(wildcards.dataset),
        "search": SEARCH,
        "grid": grid(wildcards),
    }


def grid(wildcards):
    """Give a method's grid of sparsities, and its length only where that matters."""
    penalty = METHODS[wildcards.method].penalty
    if penalty is None or wildcards.method in RESAMPLED:
        return {}
    tuning = config["tuning"]
    sparsities = tuning["sparsities"][penalty]
    if sparsities == "auto":
        return {"sparsities": sparsities, "n_sparsities": tuning["n_sparsities"]}
    return {"sparsities": sparsities}


def batches(kind):
    """Number the batches of references, splits or resamplings.

    A batch's number never changes with their count.
    """
    tuning = config["tuning"]
    return range(-(-tuning[kind] // tuning["references_per_job"]))


def indices(kind):
    """List the references, splits or resamplings of a batch; only the last can be short."""
    size, total = config["tuning"]["references_per_job"], config["tuning"][kind]
    return lambda wildcards: list(
        range(
            int(wildcards.batch) * size, min((int(wildcards.batch) + 1) * size, total)
        )
    )


def bytes_of(path):
    """Give the bytes of a file, or of all in a folder: a Zarr store is one."""
    return sum(part.stat().st_size for part in (path, *path.rglob("*")))


def megabytes(wildcards, input):
    """Give the size of a job's inputs, or of its data sets where these are still to be made.

    The latter happens within a group of jobs, which is submitted before its first job has run.
    """
    files = [Path(file) for file in input]
    if all(file.exists() for file in files):
        return sum(map(bytes_of, files)) / 2**20
    of_one = wildcards.get("dataset", wildcards.get("age"))
    return sum(expected_megabytes(name) for name in ([of_one] if of_one else DATASETS))


def memory(base, per_megabyte):
    """Give the megabytes of a job that grows with its inputs, and with every retry."""
    return lambda wildcards, input, attempt: int(
        attempt * (base + per_megabyte * megabytes(wildcards, input))
    )


def minutes(base, per_megabyte=0):
    """Give the run time of a job that grows with its inputs, and with every retry."""
    return lambda wildcards, input, attempt: int(
        attempt * (base + per_megabyte * megabytes(wildcards, input))
    )


def fit_threads(wildcards, input):
    """Give the threads of a job that fits: one more for every 100 MB, up to four."""
    return min(4, 1 + int(megabytes(wildcards, input) // 100))


def files_by_dataset():
    """Name what the report reads of every data set, each file by what it is and whose."""

    def by_method(name, methods):
        return {method: f"results/{dataset}/{method}/{name}" for method in methods}

    files = {}
    for dataset in DATASETS:
        files[dataset] = {
            "normalised": f"data/{dataset}/normalised.h5ad",
            "fits": by_method("tuned.h5", config["methods"]),
            "paths": by_method("path.h5", TUNED + UNTUNED),
            "scores": by_method("scores.csv", config["methods"]),
            "gaps": by_method("gap.csv", TUNED_BY_GAP),
            "consensus": by_method("consensus.csv", RESAMPLED),
            "genes": f"results/{dataset}/genes.csv",
            "contingency": f"results/{dataset}/contingency.csv",
        }
        if has_enrichment():
            files[dataset]["enrichment"] = f"results/{dataset}/enrichment.csv"
        if n_clusters(dataset) == "auto":
            files[dataset]["counts"] = f"results/{dataset}/cluster_counts.csv"
        if EVIDENCE_METHOD:
            files[dataset][
                "evidence"
            ] = f"results/{dataset}/{EVIDENCE_METHOD[0]}/evidence.csv"
    return files


def list_files(named):
    """List the files of nested mappings."""
    if isinstance(named, dict):
        return [file for part in named.values() for file in list_files(part)]
    return [named]
