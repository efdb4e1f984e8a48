"""Checks of the configuration, names of files, and what the rules' parameters are made of."""

import re
import sys
from functools import cache
from pathlib import Path

import jsonschema
import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

ROOT = Path(workflow.basedir)
# The sources beside the Snakefile are the ones that the rules run and digest.
sys.path.insert(0, str(ROOT / "src"))

from sparsekm.annotation.addresses import address_name, is_address
from sparsekm.atlas.sources import SOURCES
from sparsekm.registry import METHODS
from sparsekm.simulation.method_rows import METHOD_ROWS
from sparsekm.simulation.settings import select_settings
from sparsekm.storage.source_digest import source_digest


def explain(error):
    """Say in one line what is wrong with a configuration: key, value, rule."""
    place = ".".join(map(str, error.absolute_path)) or "configuration"
    allowed = list(error.schema.get("properties", {}))
    match error.validator:
        case "additionalProperties":
            unknown = sorted(set(error.instance) - set(allowed))
            return f"{place}: unknown keys {unknown}; known ones are {allowed}."
        case "required":
            return f"{place}: {error.message}."
        case "pattern" if "propertyNames" not in error.absolute_schema_path:
            return f"{place}={error.instance!r} should match {error.schema['pattern']}."
        case "pattern" | "not":
            return (
                f"{place}: {error.instance!r} should match {error.schema['pattern']}"
                " and be neither an age's name nor a reserved one."
            )
        case "anyOf":
            rules = "; or ".join(
                str(case.get("const", " ".join(case.get("type", "").split())))
                for case in error.validator_value
            )
            causes = [
                cause.message for cause in error.context if cause.validator != "const"
            ]
            return f"{place}={error.instance!r} should be {rules} ({causes[0]})."
        case _:
            return f"{place}={error.instance!r}: {error.message}."


def check_configuration():
    """Refuse a configuration that breaks the schema, or names what there is not."""
    for section in ("atlas", "matrices", "simulation", "annotation"):
        # An empty section is one without entries.
        if config.get(section) is None:
            config[section] = {}
    with open(ROOT / "workflow" / "schemas" / "config.schema.yaml") as schema:
        validator = jsonschema.Draft202012Validator(yaml.safe_load(schema))
    wrong = sorted(explain(error) for error in validator.iter_errors(config))
    if not wrong:
        # This fills in the defaults.
        validate(config, "../schemas/config.schema.yaml")
        for method in config["methods"]:
            if method not in METHODS:
                wrong.append(f"methods: {method!r} should be one of {sorted(METHODS)}.")
        for name, entry in config["matrices"].items():
            if entry is not None and ("path" in entry) == ("draw" in entry):
                wrong.append(f"matrices.{name} should have either a path or draw.")
        wrong += simulation_errors()
        wrong += gene_set_errors()
        if not config["atlas"]["ages"] and not any(config["matrices"].values()):
            wrong.append(
                f"atlas.ages=[] and matrices={config['matrices']}: there should be at least"
                " one age or matrix."
            )
    if wrong:
        raise WorkflowError("The configuration is wrong.", *wrong)


def gene_set_errors():
    """List what is missing, or out of order, in what is said about gene sets."""
    chosen, (smallest, largest) = (
        config["annotation"]["gene_sets"],
        config["annotation"]["term_size"],
    )
    needed = {"gmt": ["path"], "gene2go": ["path", "ontology"]}
    needed["gaf"] = needed["gene2go"]
    errors = [
        f"annotation.gene_sets: source={chosen['source']!r} should come with {key}."
        for key in needed.get(chosen["source"], [])
        if not chosen.get(key)
    ]
    if smallest > largest:
        errors.append(
            f"annotation.term_size={[smallest, largest]} should be smallest, largest."
        )
    return errors


def simulation_errors():
    """List what is wrong with the names of experiments and methods of the simulations."""
    errors = []
    simulation = config["simulation"]
    for key, study in (
        ("simulation", simulation),
        ("simulation.preview", simulation["preview"]),
    ):
        try:
            select_settings(study["experiments"])
        except ValueError as error:
            errors.append(f"{key}.{error}")
        for kind in ("methods", "variants"):
            known = [
                name
                for name, row in METHOD_ROWS.items()
                if row.is_variant == (kind == "variants")
            ]
            errors += [
                f"{key}.{kind}: {name!r} should be one of {known}."
                for name in study.get(kind, [])
                if name not in known
            ]
    return errors


check_configuration()

ATLAS = config["atlas"]
MATRICES = {
    name: entry for name, entry in config["matrices"].items() if entry is not None
}
DATASETS = [*ATLAS["ages"], *MATRICES]
TUNED = [method for method in config["methods"] if METHODS[method].tuning == "gap"]
TUNED_BY_GAP = TUNED if config["tuning"]["criterion"] == "gap" else []
SPLITS = config["tuning"]["splits"]
SPLITS_PER_JOB = config["tuning"]["references_per_job"]
TUNED_BY_STABILITY = TUNED if config["tuning"]["criterion"] == "stability" else []
UNTUNED = [method for method in config["methods"] if METHODS[method].tuning != "gap"]

ANNOTATION = config["annotation"]


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
        return f"data/raw/gene_sets/{address_name(path)}"
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


def enrichment_files():
    """List the tables of over-represented terms: there are none without choices or gene sets."""
    if gene_set_format() is None or not TUNED:
        return []
    return expand("results/{dataset}/enrichment.csv", dataset=DATASETS)


def ages_compared():
    """Name what tells who enters and leaves from age to age, where there are several."""
    if len(ATLAS["ages"]) < 2 or not TUNED:
        return {}
    return {
        "kept_by_age": "results/genes/kept_by_age.csv",
        "changes": "results/genes/changes.csv",
    }


def either(names):
    """Give a wildcard's constraint that lets these names through and nothing else."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


wildcard_constraints:
    age=either(ATLAS["ages"]),
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


def paper_table(name):
    """Name a table of the paper's about the atlas, where there is a real one to compare with."""
    if not (ATLAS["source"] == "allen" and ATLAS["ages"]):
        return []
    return str(ROOT / "data" / "paper" / f"{name}.csv")


def common_genes(wildcards):
    """Name the table of genes common to all ages, where only those are wanted."""
    return "data/raw/common_genes.csv" if ATLAS["genes"] == "common" else []


def assembly_memory(wildcards, attempt):
    """Give the megabytes of an assembly: those of its matrix, which no input's size tells."""
    size = "full" if ATLAS["source"] == "allen" else ATLAS["size"]
    return attempt * {"tiny": 500, "default": 500, "full": 1500}[size]


def matrix_file(wildcards):
    """Name the file that holds a matrix: the user's, or the drawn one."""
    drawn = f"data/raw/{wildcards.dataset}/matrix.npz"
    return MATRICES[wildcards.dataset].get("path", drawn)


def n_clusters(wildcards):
    """Give K of a data set: its own, else the general one."""
    return MATRICES.get(wildcards.dataset, {}).get("n_clusters", config["n_clusters"])


def search(wildcards):
    """Give the parameters of the search; each method takes those that it knows."""
    return {name: config[name] for name in ("min_cluster_size", "search", "n_init")}


def grid(wildcards):
    """Give a method's grid of sparsities, and its length only where that matters."""
    penalty = METHODS[wildcards.method].penalty
    if penalty is None:
        return {}
    tuning = config["tuning"]
    sparsities = tuning["sparsities"][penalty]
    if sparsities == "auto":
        return {"sparsities": sparsities, "n_sparsities": tuning["n_sparsities"]}
    return {"sparsities": sparsities}


def batches():
    """Number the batches of references; a batch's number never changes with their count."""
    tuning = config["tuning"]
    return range(-(-tuning["references"] // tuning["references_per_job"]))


def split_indices(wildcards):
    """List the resamplings of a batch; only the last batch can be short."""
    first = int(wildcards.batch) * SPLITS_PER_JOB
    return list(range(first, min(first + SPLITS_PER_JOB, SPLITS)))


def reference_indices(wildcards):
    """List the references of a batch; only the last batch can be short."""
    tuning = config["tuning"]
    size = tuning["references_per_job"]
    first = int(wildcards.batch) * size
    return list(range(first, min(first + size, tuning["references"])))


def memory(base, per_input):
    """Give the megabytes of a job that grows with its inputs, and with every retry."""
    return lambda wildcards, input, attempt: int(
        attempt * (base + per_input * input.size_mb)
    )


def minutes(base):
    """Give the run time of a job, which grows with every retry."""
    return lambda wildcards, attempt: attempt * base


def per_method(pattern, methods):
    """List a file of every data set and of these methods."""
    return expand(pattern, dataset=DATASETS, method=methods)
