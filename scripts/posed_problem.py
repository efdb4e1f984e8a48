"""What the scripts that fit a method to a data set share: posing the problem as their rule says."""


def pose(snakemake, **settings):
    """Pose the problem of the rule's data set and method, with further settings where given."""
    from sparsekm.io.count_file import COUNTS
    from sparsekm.pipeline.problem import pose_problem

    params, wildcards = snakemake.params, snakemake.wildcards
    if snakemake.input.get("counts"):
        # K was left to the data.
        table = COUNTS.read(snakemake.input.counts)
        settings["n_clusters"] = int(table["n_clusters"][table["chosen"]].item())
    return pose_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.get("method", "l0"),
        **{**params.problem, **settings},
        code_digest=params.code,
    )
