"""The resources of jobs: memory, time and threads, according to the sizes of their inputs."""

# This limits the load of the servers: a job downloads one file after another, and only one such job
# runs at a time, also without a profile. `--resources downloads=2` allows two.
if "downloads" not in workflow.global_resources:
    workflow.register_resource("downloads", 1)


# Jobs of a data set up to this size, in megabytes, are submitted together if a profile groups them.
MOST_GROUPED = 100


@cache
def expected_megabytes(dataset):
    """Estimate the size of a data set's matrix, which may not exist yet."""
    if dataset in ATLAS["ages"]:
        # The real atlas is as large as its phantom at full size.
        size = get_size("full" if ATLAS["source"] == "allen" else ATLAS["size"])
        return size.ages[dataset].n_tissue * size.usable * 4 / 2**20
    path = MATRICES[dataset].get("path")
    if not path or not Path(path).exists():
        return 1
    return (declared(dataset).get("matrix") or bytes_of(Path(path))) / 2**20


@cache
def declared(dataset):
    """Return what `measure_matrix` reads in a user's file; {} if it declares no sizes."""
    entry = MATRICES[dataset]
    path = entry.get("path", "")
    if not path.lower().endswith((".h5ad", ".h5", ".npz", ".zarr")):
        return {}

    def measure():
        from sparsekm.io.readers.reader import measure_matrix

        return measure_matrix(path, entry.get("layer"))._asdict()

    try:
        return run_bounded(path, measure)
    except ValueError:
        # Only Snakemake may be installed. The job that reads a matrix reports damage.
        return {}


def datasets_of(wildcards):
    """List the data set of a job, or all."""
    of_one = wildcards.get("dataset", wildcards.get("age"))
    return [of_one] if of_one else DATASETS


def of_small(group):
    """Return a group for jobs of small data sets: the run times of a group add up."""

    def choose(wildcards):
        # Ages share rules, so a group holds the jobs of all ages or of none, because a job between
        # two jobs of a group must be in the group, too.
        together = {*datasets_of(wildcards)}
        if together & {*ATLAS["ages"]}:
            together |= {*ATLAS["ages"]}
        size = sum(map(expected_megabytes, together))
        return group if size <= MOST_GROUPED else None

    return choose


def megabytes(wildcards, input, most_samples=math.inf, limit=math.inf):
    """Return the size of a job's inputs, or of its data sets if the inputs do not exist yet."""
    files = [Path(file) for file in input]
    if all(file.exists() for file in files):
        return sum(held_megabytes(file, most_samples, limit) for file in files)
    sizes = {each: expected_megabytes(each) for each in datasets_of(wildcards)}
    samples = {
        each: declared(each).get("n_samples") for each in sizes if each in MATRICES
    }
    return sum(
        array_megabytes(size, samples.get(each), most_samples, limit)
        for each, size in sizes.items()
    )


def growing(base, per_megabyte, tunes=False, is_memory=False):
    """Return a resource that grows with a job's inputs and with every retry."""
    most_samples = config["tuning"]["max_samples"] or math.inf
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 4 / 2**20

    def ask(wildcards, input, attempt):
        # A method that is not tuned works on all samples, and reads large data in blocks.
        is_part = tunes and wildcards.get("method") not in UNTUNED
        limit = quarter if is_memory else math.inf
        if is_memory and config["max_memory_gb"]:
            limit = config["max_memory_gb"] * 1024
        elif is_part:
            limit = 0
        size = megabytes(wildcards, input, most_samples if is_part else 0, limit)
        return int(attempt * (base + per_megabyte * size))

    return ask


def needs(memory, minutes, tunes=False):
    """Return the memory and time of a job, each as a base and an addition for every megabyte.

    The process that watches over its limits is included. A job that `tunes` works on the samples on
    which a data set is tuned.
    """
    return {
        "mem_mb": growing(*memory, tunes, is_memory=True),
        "runtime": growing(*minutes, tunes),
    }


def reading_memory(wildcards, input, attempt):
    """Return the megabytes of a job that reads a user's matrix."""
    declares = declared(wildcards.dataset).get("memory", 0) / 2**20
    needed = declares or 10 * megabytes(wildcards, input)
    return int(attempt * (800 + needed))
