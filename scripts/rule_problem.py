"""The problem that a rule defines, for the scripts that fit a method to a data set."""

import os


def read_problem(snakemake, **settings):
    """Return the problem of the rule's data set and method, with further settings if given."""
    from sparsekm.io.tables import COUNTS
    from sparsekm.pipeline.problem import define_problem

    params, wildcards = snakemake.params, snakemake.wildcards
    if snakemake.input.get("counts"):
        settings["numbers"] = COUNTS.read(snakemake.input.counts)
    most_gigabytes = snakemake.config.get("max_memory_gb")
    if most_gigabytes is None:
        # A search holds the matrix two or three times. A job requests six times the size of its
        # matrix.
        quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
        most_bytes = min(quarter, snakemake.resources.mem_mb * 2**20 // 6)
    else:
        most_bytes = int(most_gigabytes * 2**30)
    return define_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.get("method", "sparse"),
        **{**params.problem, **settings},
        most_bytes=most_bytes,
        code_digest=params.code,
    )
