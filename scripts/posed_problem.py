"""What the scripts that fit a method to a data set share: posing the problem as their rule says."""


def pose(snakemake, **settings):
    """Pose the problem of the rule's data set and method, with further settings where given."""
    from sparsekm.expression.problem import pose_problem

    params, wildcards = snakemake.params, snakemake.wildcards
    return pose_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.method,
        **params.problem,
        **settings,
        code_digest=params.code,
        n_jobs=snakemake.threads,
    )
