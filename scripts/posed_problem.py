"""Shared by the scripts that fit a method to a data set: the problem defined by their rule."""


def pose(snakemake, **settings):
    """Return the problem of the rule's data set and method, with further settings if given."""
    from sparsekm.io.count_file import COUNTS
    from sparsekm.pipeline.problem import pose_problem

    params, wildcards = snakemake.params, snakemake.wildcards
    if snakemake.input.get("counts"):
        # The data determine K.
        table = COUNTS.read(snakemake.input.counts)
        settings["n_clusters"] = int(table["n_clusters"][table["chosen"]].item())
    return pose_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.get("method", "l0"),
        **{**params.problem, **settings},
        code_digest=params.code,
    )
