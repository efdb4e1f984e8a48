"""Shared by the scripts that fit a method to a data set: the problem defined by their rule."""

import os


def most_bytes(snakemake):
    """Return the size of the largest matrix to read into memory; no result depends on it."""
    asked = snakemake.config.get("max_memory_gb")
    # A search holds the matrix twice or three times. A job asks for six times what it holds.
    quarter = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    own = snakemake.resources.mem_mb * 2**20 // 6
    return min(quarter, own) if asked is None else int(asked * 2**30)


def read_count(snakemake):
    """Return the number of clusters that the data suggest, and how it was chosen, or None."""
    from sparsekm.io.tables import COUNTS
    from sparsekm.tuning.chosen_fit import price_of_numbers

    if not snakemake.input.get("counts"):
        return None, {}
    table = COUNTS.read(snakemake.input.counts)
    chosen = table[table["chosen"]].iloc[0]
    n_fitted, n_groups = int(chosen["n_clusters"]), int(chosen["n_groups"])
    price = price_of_numbers(table)
    numbers = {"n_fitted": n_fitted, "n_numbers": len(table), "price": price}
    return n_groups if n_groups > 1 else n_fitted, numbers


def read_problem(snakemake, **settings):
    """Return the problem of the rule's data set and method, with further settings if given."""
    from sparsekm.io.tables import GAP
    from sparsekm.pipeline.problem import define_problem
    from sparsekm.pipeline.registry import get_method
    from sparsekm.tuning.gap import refined_sparsities

    params, wildcards = snakemake.params, snakemake.wildcards
    if snakemake.input.get("counts"):
        # The data determine K.
        settings["n_clusters"], _ = read_count(snakemake)
    if snakemake.input.get("coarse"):
        # The second stage of tuning: further sparsities around the one that the first chose.
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
