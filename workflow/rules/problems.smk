"""The clustering problem of each data set and method, and its batches, as parameters of rules."""

# The files of references depend on it. It is not a setting, because a change would rerun all of
# them.
REFERENCES_PER_JOB = 5

# If there are more samples, this number is drawn to choose sparsities and numbers of clusters.
TUNING_SAMPLE = {"max_samples": config["tuning"]["max_samples"]}


def n_clusters(dataset):
    """Return K of a data set, as far as the configuration determines it.

    Files of arrays may contain labels that the configuration does not name. Other files without
    named labels have no classes to count, so the number is estimated.
    """
    own = MATRICES.get(dataset, {})
    asked = own.get("n_clusters", config["n_clusters"])
    is_unlabelled = "path" in own and own.get("labels") is None
    has_arrays = own.get("path", "").lower().endswith((".npz", ".h5"))
    return "auto" if asked == "regions" and is_unlabelled and not has_arrays else asked


def of_numbers(table):
    """Return an input: a table of the numbers of clusters that were tried, if the data determine K."""
    file = f"results/{{dataset}}/{table}.csv"
    return lambda wildcards: file if n_clusters(wildcards.dataset) == "auto" else []


counts_file = of_numbers("cluster_counts")
tried_file = of_numbers("tried_clusters")


def search(wildcards):
    """Return the parameters of the search that a method has, for a data set."""
    method = METHODS[wildcards.get("method", "sparse")]
    trim = MATRICES.get(wildcards.dataset, {}).get("trim") or 0.0
    return {**{name: config[name] for name in method.search}, "trim": trim}


def open_problem(wildcards):
    """Return the problem of a data set whose K and grid are sought or known from its fit."""
    own = {"n_clusters": "auto", "grid": {}, "search": search(wildcards)}
    return {"seed": config["seed"], **own, **TUNING_SAMPLE}


def exported_settings(dataset):
    """Return the settings that made a data set's results, for the workbook."""
    chosen = {"seed": config["seed"], "methods": config["methods"]}
    return {**chosen, "data set": dataset, **MATRICES.get(dataset, {})}


def problem(wildcards):
    """Return the problem of a data set and a method, see define_problem of the package.

    It is one parameter because Snakemake compares the values of a rule's parameters as a set,
    without their names, and would not notice if two numbers were swapped or one occurred twice.
    """
    return {
        "seed": config["seed"],
        "n_clusters": n_clusters(wildcards.dataset),
        "search": search(wildcards),
        "grid": grid(wildcards),
        **({} if wildcards.method in UNTUNED else TUNING_SAMPLE),
    }


def grid(wildcards):
    """Return a method's grid of sparsities, with its length only if it is automatic."""
    penalty = METHODS[wildcards.method].penalty
    if penalty is None or wildcards.method in RESAMPLED:
        return {}
    tuning = config["tuning"]
    sparsities = tuning["sparsities"][penalty]
    if sparsities == "auto":
        return {"sparsities": sparsities, "n_sparsities": tuning["n_sparsities"]}
    return {"sparsities": sparsities}


def batches():
    """Number the batches of references; a batch's number does not depend on how many there are."""
    return range(-(-config["tuning"]["references"] // REFERENCES_PER_JOB))


def indices(wildcards):
    """List the references of a batch; only the last can be incomplete."""
    first = REFERENCES_PER_JOB * int(wildcards.batch)
    return list(range(config["tuning"]["references"]))[first:][:REFERENCES_PER_JOB]


def n_seeds(wildcards):
    """Return the number of seeds; a consensus has two, or one if it is not shown first."""
    if wildcards.method not in RESAMPLED:
        return config["n_seeds"]
    is_answer = wildcards.dataset in MATRICES or "l0" not in config["methods"]
    return min(config["n_seeds"], 2 if is_answer else 1)
