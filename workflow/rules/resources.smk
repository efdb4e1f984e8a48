"""The resources of jobs: memory, time and threads, according to the sizes of their inputs."""

# The servers' pace: a job that downloads asks for one file after another, and one such job runs at
# a time, also without a profile. `--resources downloads=2` allows two.
if "downloads" not in workflow.global_resources:
    workflow.register_resource("downloads", 1)


# A job that reads all samples holds a dense matrix up to this size, in megabytes.
HELD_MOST = (
    config["max_memory_gb"] * 1024
    if config["max_memory_gb"]
    else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 4 / 2**20
)
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
    """Return the size of a user's matrix, the memory that reading it takes, and its samples.

    HDF5, Zarr and NumPy files declare shape and number of stored values; their own size would say
    little, since they may be compressed. All are 0 if the file does not say, or where only
    Snakemake is installed, which cannot ask it.
    """
    entry = MATRICES[dataset]
    if not entry.get("path", "").lower().endswith((".h5ad", ".h5", ".npz", ".zarr")):
        return 0, 0, 0
    try:
        size, memory, n_samples = run_bounded(
            entry["path"], lambda: measured_bytes(entry["path"], entry.get("layer"))
        )
        return size / 2**20, memory / 2**20, n_samples
    # A matrix that is too large or damaged is refused by the job that reads it, with its message.
    except ValueError:
        return 0, 0, 0


def measured_bytes(file, layer):
    """Return the bytes of a matrix, those that reading it takes, and its samples."""
    from sparsekm.io.readers.reader import measure_matrix

    found = measure_matrix(file, layer)
    return found.matrix, found.memory, found.n_samples


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
    if not is_sparse:
        return dense_megabytes(size, n_samples, most_samples, limit)
    share = min(1, most_samples / n_samples) or 1
    return size * share / 2 + 4 * min(n_samples * share, 4096) * n_features / 2**20


def dense_megabytes(size, n_samples, most_samples, limit):
    """Return the size of so many samples of an array, or up to the limit, of all."""
    share = min(1, most_samples / n_samples) if n_samples else 1
    return min(size, max(limit, size * share))


def megabytes(wildcards, input, most_samples=math.inf, limit=math.inf):
    """Return the size of a job's inputs, or of its data sets if the inputs do not exist yet.

    The latter happens in a group of jobs, which is submitted before its first job has run.
    """
    files = [Path(file) for file in input]
    if all(file.exists() for file in files):
        return sum(held_megabytes(file, most_samples, limit) for file in files)
    of_one = wildcards.get("dataset", wildcards.get("age"))
    return sum(
        dense_megabytes(expected_megabytes(name), declared_samples(name), most_samples, limit)
        for name in ([of_one] if of_one else DATASETS)
    )


def declared_samples(dataset):
    """Return the number of samples of a data set whose file declares it, or 0."""
    return 0 if dataset in ATLAS["ages"] else declared_megabytes(dataset)[2]


def growing(base, per_megabyte, *bounds):
    """Return a resource that grows with a job's inputs and with every retry."""
    return lambda wildcards, input, attempt: int(
        attempt * (base + per_megabyte * megabytes(wildcards, input, *bounds))
    )


def needs(memory, minutes, tunes=False):
    """Return the memory and time of a job, each as a base and what every megabyte adds.

    The process that watches over its limits is included. A job that `tunes` works on the samples on
    which a data set is tuned, and reads more into memory only if max_memory_gb allows it. A method
    that is not tuned works on all samples.
    """
    of_all = (0, HELD_MOST), (0, math.inf)
    most_samples = config["tuning"]["max_samples"] or math.inf
    of_some = (most_samples, (config["max_memory_gb"] or 0) * 1024), (most_samples, 0)

    def asked(base, per_megabyte, kind):
        whole, some = (
            growing(base, per_megabyte, *bounds[kind]) for bounds in (of_all, of_some)
        )

        def ask(wildcards, input, attempt):
            is_some = tunes and wildcards.get("method") not in UNTUNED
            return (some if is_some else whole)(wildcards, input, attempt)

        return ask

    return {"mem_mb": asked(*memory, 0), "runtime": asked(*minutes, 1)}


def reading_memory(wildcards, input, attempt):
    """Return the megabytes of a job that reads a user's matrix."""
    needed = declared_megabytes(wildcards.dataset)[1] or 10 * megabytes(
        wildcards, input
    )
    return int(attempt * (600 + needed))
