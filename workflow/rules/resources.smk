"""The resources of jobs: memory, time and threads, according to the sizes of their inputs."""

# The servers' pace: a job that downloads asks for one file after another, and one such job runs at
# a time, also without a profile. `--resources downloads=2` allows two.
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
    return declared_megabytes(dataset)[0] or bytes_of(Path(path)) / 2**20


@cache
def declared_megabytes(dataset):
    """Return the size of a user's matrix and the memory that reading it takes.

    HDF5, Zarr and NumPy files declare shape and number of stored values; their own size would say
    little, since they may be compressed. Both are 0 if the file does not say, or where only
    Snakemake is installed, which cannot ask it.
    """
    entry = MATRICES[dataset]
    if not entry.get("path", "").lower().endswith((".h5ad", ".h5", ".npz", ".zarr")):
        return 0, 0
    try:
        size, memory = run_bounded(
            entry["path"], lambda: measured_bytes(entry["path"], entry.get("layer"))
        )
        return size / 2**20, memory / 2**20
    # A matrix that is too large or damaged is refused by the job that reads it, with its message.
    except ValueError:
        return 0, 0


def measured_bytes(file, layer):
    """Return the bytes of a matrix, and those that reading it takes."""
    from sparsekm.io.readers.reader import measure_matrix

    found = measure_matrix(file, layer)
    return found.matrix, found.memory


def of_small(group):
    """Return a group for the jobs of a data set; a large data set has none.

    The run times of a group add up, and so does the memory of jobs that run at the same time.
    """
    return lambda wildcards: (
        group if whole_megabytes(wildcards) <= MOST_GROUPED else None
    )


def whole_megabytes(wildcards):
    """Return the expected size of a job's data set, or of all together."""
    of_one = wildcards.get("dataset", wildcards.get("age"))
    return sum(expected_megabytes(name) for name in ([of_one] if of_one else DATASETS))


def bytes_of(path):
    """Return the bytes of a file, or of all files in a folder such as a Zarr store.

    A table that is compressed has the bytes of what it becomes, as far as the file says.
    """
    try:
        if path.suffix.lower() == ".xlsx":
            with zipfile.ZipFile(path) as archive:
                return sum(member.file_size for member in archive.infolist())
        if path.suffix.lower() == ".gz":
            return max(path.stat().st_size, unpacked_bytes(path))
    # Damage is for the job to report.
    except (OSError, zipfile.BadZipFile):
        pass
    return sum(part.stat().st_size for part in (path, *path.rglob("*")))


def unpacked_bytes(path):
    """Return the length of what a gzip file holds: of all blocks of bgzip, else of the last member."""
    length = 0
    with path.open("rb") as opened:
        # The header of a block of bgzip holds the size of the block, less one.
        while (header := opened.read(18))[12:16] == b"BC\2\0":
            opened.seek(int.from_bytes(header[16:], "little") - 21, os.SEEK_CUR)
            # Every member ends with the length of what was compressed, modulo 2**32.
            length += int.from_bytes(opened.read(4), "little")
        if not length:
            opened.seek(-4, os.SEEK_END)
            length = int.from_bytes(opened.read(), "little")
    return length


def held_megabytes(path, most_samples=math.inf, limit=math.inf):
    """Return the size of a job's input, of sparse data as if it were of an array.

    Jobs hold an array several times; sparse data less often, but a part of the samples as an array.
    Of sparse data they hold `most_samples` (0 for all); of an array these only above the limit.
    """
    size = bytes_of(path) / 2**20
    if path.name != "normalised.h5ad":
        return size
    try:
        import h5py

        with h5py.File(path) as opened:
            X = opened["X"]
            is_sparse = isinstance(X, h5py.Group)
            n_samples, n_features = map(int, X.attrs["shape"] if is_sparse else X.shape)
    # Snakemake may be alone, and damage is for the job to report.
    except Exception:
        return size
    share = min(1, most_samples / n_samples)
    if not is_sparse:
        return min(size, max(limit, size * share))
    share = share or 1
    return size * share / 2 + 4 * min(n_samples * share, 4096) * n_features / 2**20


def megabytes(wildcards, input, most_samples=math.inf, limit=math.inf):
    """Return the size of a job's inputs, or of its data sets if the inputs do not exist yet.

    The latter happens in a group of jobs, which is submitted before its first job has run.
    """
    files = [Path(file) for file in input]
    if all(file.exists() for file in files):
        return sum(held_megabytes(file, most_samples, limit) for file in files)
    return whole_megabytes(wildcards)


def growing(base, per_megabyte, *bounds):
    """Return a resource that grows with a job's inputs and with every retry."""
    return lambda wildcards, input, attempt: int(
        attempt * (base + per_megabyte * megabytes(wildcards, input, *bounds))
    )


def needs(memory, minutes, tunes=False):
    """Return the memory and time of a job, each as a base and what every megabyte adds.

    The process that watches over its limits is included. Of a matrix above max_memory_gb a job
    holds, at most, the samples on which a data set is tuned, if it `tunes`.
    """
    most_samples = tunes and (config["tuning"]["max_samples"] or math.inf)
    limit = (config["max_memory_gb"] or math.inf) * 1024
    mem_mb = growing(*memory, most_samples, limit)
    return {"mem_mb": mem_mb, "runtime": growing(*minutes)}


def reading_memory(wildcards, input, attempt):
    """Return the megabytes of a job that reads a user's matrix."""
    needed = declared_megabytes(wildcards.dataset)[1] or 10 * megabytes(
        wildcards, input
    )
    return int(attempt * (600 + needed))
