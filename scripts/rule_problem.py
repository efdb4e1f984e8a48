"""The problem that a rule defines, for the scripts that fit a method to a data set."""

import os


def most_bytes(snakemake):
    """Return the size of the largest matrix to read into memory; no result depends on it."""
    asked = snakemake.config.get("max_memory_gb")
    # A search holds the matrix two or three times. A job requests six times the size of its matrix.
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    own = snakemake.resources.mem_mb * 2**20 // 6
    return min(quarter, own) if asked is None else int(asked * 2**30)


def read_counts(snakemake):
    """Return the table of the numbers of clusters that were tried, None if the number was given."""
    from sparsekm.io.tables import COUNTS

    counts = snakemake.input.get("counts")
    return COUNTS.read(counts) if counts else None


def read_number(snakemake):
    """Return how the number of clusters was chosen, None if it was given."""
    from sparsekm.tuning.chosen_fit import ChosenNumber

    counts = read_counts(snakemake)
    return None if counts is None else ChosenNumber.of(counts)


def read_problem(snakemake, **settings):
    """Return the problem of the rule's data set and method, with further settings if given."""
    from sparsekm.io.tables import GAP
    from sparsekm.pipeline.problem import define_problem
    from sparsekm.pipeline.registry import get_method
    from sparsekm.tuning.gap import refined_sparsities

    params, wildcards = snakemake.params, snakemake.wildcards
    counts = read_counts(snakemake)
    if counts is not None:
        # The data determine K: the number of separated groups, or of the clusters that are shown.
        chosen = counts[counts["chosen"]].iloc[0]
        shown = "n_groups" if chosen["n_groups"] > 1 else "n_clusters"
        settings["n_clusters"] = int(chosen[shown])
    if snakemake.input.get("coarse"):
        # The second stage of tuning adds sparsities around the one that the first stage chose.
        table = GAP.read(snakemake.input.coarse)
        penalty, peak = get_method(wildcards.method).penalty, int(table["chosen"].argmax())
        grid = refined_sparsities(penalty, table["sparsity"].to_numpy(), peak, params.n_refined)
        settings["grid"] = {"sparsities": grid.tolist()}
    return define_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.get("method", "sparse"),
        **{**params.problem, **settings},
        most_bytes=most_bytes(snakemake),
        code_digest=params.code,
    )
