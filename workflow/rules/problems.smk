"""The clustering problem of each data set and method, and its batches, as parameters of rules."""

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
