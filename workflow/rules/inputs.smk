"""The inputs of the rules for atlas, matrices, genes and report, according to the configuration."""


def table_settings(dataset):
    """Return the settings of a matrix on which its reading and normalisation depend."""
    others = ("path", "draw", "n_clusters", "trim")
    return {
        k: v for k, v in MATRICES[dataset].items() if k not in others and v is not None
    }


def source_settings():
    """Return the parameters of the atlas's source on which its files depend."""
    if ATLAS["source"] == "allen":
        return {name: ATLAS["allen"][name] for name in ("url", "download_url")}
    return {name: ATLAS[name] for name in ("size", "seed")}


def needs_network():
    """Tell whether the atlas is downloaded, and so must run locally: cluster nodes often cannot."""
    return ATLAS["source"] == "allen"


def common_genes(wildcards):
    """Return the table of genes common to all ages, if only those are used."""
    return "data/raw/common_genes.csv" if ATLAS["genes"] == "common" else []


def assembly_memory(wildcards, attempt):
    """Return the megabytes of an assembly: its matrix, whose size the inputs do not show."""
    return int(attempt * (500 + 5 * expected_megabytes(wildcards.age)))


def matrix_file(wildcards):
    """Return the file of a matrix: the user's or the simulated one."""
    drawn = f"data/raw/{wildcards.dataset}/matrix.npz"
    return MATRICES[wildcards.dataset].get("path", drawn)


def own_gene_sets():
    """Return the user's GMT file, or its address, or None."""
    chosen = ANNOTATION["gene_sets"]
    return chosen["path"] if chosen["source"] == "gmt" else None


def gene_set_address():
    """Return the address of the user's GMT file, or None."""
    return own_gene_sets() if is_address(own_gene_sets() or "") else None


def collected_gene_sets():
    """Return the copy of the user's GMT file; one that was downloaded stays in its own folder."""
    if gene_set_address():
        return f"data/raw/fetched/{address_name(gene_set_address())}"
    return "data/raw/gene_sets.gmt"


def gene_sets():
    """Return the file of gene sets, if any."""
    if own_gene_sets():
        return collected_gene_sets()
    # The phantom's terms apply only to its genes.
    is_used = ATLAS["source"] == "phantom" and ATLAS["ages"]
    drawn = ANNOTATION["gene_sets"]["source"] == "phantom" and is_used
    return "data/raw/phantom/gene_sets.gmt" if drawn else []


def gene_identifier():
    """Return how the gene sets name genes."""
    return ANNOTATION["gene_sets"]["identifier"] if own_gene_sets() else "symbol"


def has_enrichment():
    """Tell whether terms are tested, which requires gene sets and a sparse method."""
    return bool(gene_sets()) and bool(SELECTING)


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
    if not (ATLAS["source"] == "allen" and ATLAS["ages"]):
        return []
    return [paper_file("atlas_statistics"), paper_file("atlas_scores")]


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
            "contingency": f"results/{dataset}/contingency.csv",
        }
        if config["n_seeds"] > 1:
            files[dataset]["seeds"] = by_method("seeds.csv", config["methods"])
        if has_enrichment():
            files[dataset]["enrichment"] = f"results/{dataset}/enrichment.csv"
        if dataset in MATRICES and "sparse" in config["methods"]:
            files[dataset]["choices"] = f"results/{dataset}/choices.csv"
        if n_clusters(dataset) == "auto":
            files[dataset]["counts"] = f"results/{dataset}/cluster_counts.csv"
    return files


def list_files(named):
    """List all files in nested mappings."""
    if isinstance(named, dict):
        return [file for part in named.values() for file in list_files(part)]
    return [named]
