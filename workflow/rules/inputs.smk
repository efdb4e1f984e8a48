"""The inputs of the rules for atlas, matrices, genes and report, according to the configuration."""


def table_settings(dataset):
    """Return the settings of a matrix on which its reading and normalisation depend."""
    others = ("path", "draw", "n_clusters", "trim")
    return {
        k: v for k, v in MATRICES[dataset].items() if k not in others and v is not None
    }


def source_settings():
    """Return the parameters of the atlas's source on which its files depend."""
    if IS_DOWNLOADED:
        return {name: ATLAS["allen"][name] for name in ("url", "download_url")}
    return {name: ATLAS[name] for name in ("size", "seed")}


def common_genes(wildcards):
    """Return the table of genes common to all ages, if only those are used."""
    return "data/raw/common_genes.csv" if ATLAS["genes"] == "common" else []


def assembly_memory(wildcards, attempt):
    """Return the megabytes of an assembly: its matrix, whose size the inputs do not show."""
    return int(attempt * (500 + 5 * expected_megabytes(wildcards.age)))


def matrix_file(wildcards):
    """Return the file of a matrix: the user's or the simulated one."""
    path = MATRICES[wildcards.dataset].get("path")
    # The prefix of a module applies to the workflow's files, not to the user's files.
    return local(path) if path else f"data/raw/{wildcards.dataset}/matrix.npz"


# The user's GMT file or its address, and its copy; a downloaded file stays in its own folder.
_CHOSEN = ANNOTATION["gene_sets"]
OWN_SETS = _CHOSEN["path"] if _CHOSEN["source"] == "gmt" else None
SETS_ADDRESS = OWN_SETS if is_address(OWN_SETS or "") else None
COLLECTED_SETS = "data/raw/gene_sets.gmt"
if SETS_ADDRESS:
    COLLECTED_SETS = f"data/raw/fetched/{address_name(SETS_ADDRESS)}"
    # Only the job that downloads gets its password and query. Snakemake stores parameters, and writes
    # the configuration into scripts; a host's configuration is its own, and is read several times.
    known = json.loads(os.environ.get("SPARSEKM_GENE_SETS", "{}"))
    known[hide_secrets(SETS_ADDRESS)] = SETS_ADDRESS
    os.environ |= {"SPARSEKM_GENE_SETS": json.dumps(known)}
SHOWN_SETS = _CHOSEN["path"] and hide_secrets(_CHOSEN["path"])
ANNOTATION = ANNOTATION | {"gene_sets": _CHOSEN | {"path": SHOWN_SETS}}
if not workflow.modifier.skip_configfile:
    config["annotation"] = ANNOTATION
# How the gene sets name genes.
IDENTIFIER = _CHOSEN["identifier"] if OWN_SETS else "symbol"


def gene_sets():
    """Return the file of gene sets, if any."""
    if OWN_SETS:
        return COLLECTED_SETS
    # The phantom's terms apply only to its genes.
    is_used = ATLAS["source"] == "phantom" and ATLAS["ages"]
    drawn = _CHOSEN["source"] == "phantom" and is_used
    return "data/raw/phantom/gene_sets.gmt" if drawn else []


def ages_compared():
    """Return the tables that compare ages, if there are several."""
    if len(ATLAS["ages"]) < 2 or not SELECTING:
        return {}
    return {
        "kept_by_age": "results/genes/kept_by_age.csv",
        "changes": "results/genes/changes.csv",
    }


def paper_tables():
    """Return the paper's tables about the atlas, if the real atlas is used."""
    names = ("atlas_statistics", "atlas_scores")
    return [paper_file(name) for name in names if IS_DOWNLOADED and ATLAS["ages"]]


def files_by_dataset():
    """Return the files that the report reads, by data set and kind."""

    def by_method(name, methods):
        return {method: f"results/{dataset}/{method}/{name}" for method in methods}

    files = {}
    for dataset in DATASETS:
        files[dataset] = {
            "normalised": f"data/{dataset}/normalised.h5ad",
            "fits": by_method("tuned.h5", config["methods"]),
            "scores": by_method("scores.csv", config["methods"]),
            "gaps": by_method("gap.csv", TUNED),
            "separation": by_method("separation.csv", RESAMPLED),
            "genes": f"results/{dataset}/genes.csv",
        }
        if config["n_seeds"] > 1:
            files[dataset]["seeds"] = by_method("seeds.csv", config["methods"])
        if gene_sets() and SELECTING:
            files[dataset]["enrichment"] = f"results/{dataset}/enrichment.csv"
        if dataset in MATRICES and "sparse" in config["methods"]:
            files[dataset]["choices"] = f"results/{dataset}/choices.csv"
            for table in ("numbers", "divisions", "candidates"):
                files[dataset][table] = f"results/{dataset}/sparse/{table}.csv"
        if n_clusters(dataset) == "auto":
            files[dataset]["counts"] = f"results/{dataset}/cluster_counts.csv"
    return files


def list_files(named):
    """List all files in nested mappings."""
    if isinstance(named, dict):
        return [file for part in named.values() for file in list_files(part)]
    return [named]


def name_files(named, files):
    """Return nested mappings with the files of a job; only its inputs have a module's prefix."""
    if isinstance(named, dict):
        return {key: name_files(part, files) for key, part in named.items()}
    return str(next(files))
