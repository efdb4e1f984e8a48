"""The resources of jobs: memory, time and threads, according to the sizes of their inputs."""

@cache
def expected_megabytes(dataset):
    """Estimate the size of a data set's matrix, which may not exist yet."""
    if dataset in ATLAS["ages"]:
        # The real atlas is as large as its phantom at full size.
        size = get_size("full" if ATLAS["source"] == "allen" else ATLAS["size"])
        return size.ages[dataset].n_tissue * size.genes.usable * 4 / 2**20
    path = MATRICES[dataset].get("path")
    return bytes_of(Path(path)) / 2**20 if path and Path(path).exists() else 1


def bytes_of(path):
    """Return the bytes of a file, or of all files in a folder such as a Zarr store."""
    return sum(part.stat().st_size for part in (path, *path.rglob("*")))


def megabytes(wildcards, input):
    """Return the size of a job's inputs, or of its data sets if the inputs do not exist yet.

    The latter happens in a group of jobs, which is submitted before its first job has run.
    """
    files = [Path(file) for file in input]
    if all(file.exists() for file in files):
        return sum(map(bytes_of, files)) / 2**20
    of_one = wildcards.get("dataset", wildcards.get("age"))
    return sum(expected_megabytes(name) for name in ([of_one] if of_one else DATASETS))


def growing(base, per_megabyte=0):
    """Return the megabytes or minutes of a job, which grow with its inputs and with every retry."""
    return lambda wildcards, input, attempt: int(
        attempt * (base + per_megabyte * megabytes(wildcards, input))
    )


memory = minutes = growing


def fit_threads(wildcards, input):
    """Return the threads of a fitting job: one, and one more for every 100 MB, up to four."""
    return min(4, 1 + int(megabytes(wildcards, input) // 100))
