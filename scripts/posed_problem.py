"""Shared by the scripts that fit a method to a data set: the problem defined by their rule."""

import os


def most_bytes(snakemake):
    """Return the size of the largest matrix to read into memory; no result depends on it."""
    asked = snakemake.config.get("max_memory_gb")
    if asked is not None:
        return int(asked * 2**30)
    # A search holds the matrix twice or three times.
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4


def pose(snakemake, **settings):
    """Return the problem of the rule's data set and method, with further settings if given."""
    from sparsekm.io.tables import COUNTS, GAP
    from sparsekm.pipeline.problem import pose_problem
    from sparsekm.pipeline.registry import get_method
    from sparsekm.tuning.grid import refined_sparsities

    params, wildcards = snakemake.params, snakemake.wildcards
    if snakemake.input.get("counts"):
        # The data determine K.
        table = COUNTS.read(snakemake.input.counts)
        settings["n_clusters"] = int(table["n_clusters"][table["chosen"]].item())
    if snakemake.input.get("coarse"):
        # The second stage of tuning: further sparsities around the one that the first chose.
        table = GAP.read(snakemake.input.coarse)
        penalty, peak = get_method(wildcards.method).penalty, int(table["chosen"].argmax())
        grid = refined_sparsities(penalty, table["sparsity"].to_numpy(), peak, params.n_refined)
        settings["grid"] = {"sparsities": grid.tolist()}
    return pose_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.get("method", "l0"),
        **{**params.problem, **settings},
        most_bytes=most_bytes(snakemake),
        code_digest=params.code,
    )
