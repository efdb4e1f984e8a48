"""Cluster a data set at every sparsity of a method's grid."""

from workflow_job import run


def main(snakemake, progress):
    """Fit the whole path and write it."""
    from sparsekm.expression.problem import pose_problem
    from sparsekm.storage.path_file import write_path

    params, wildcards = snakemake.params, snakemake.wildcards
    problem = pose_problem(
        snakemake.input.normalised,
        wildcards.dataset,
        wildcards.method,
        seed=params.seed,
        n_clusters=params.n_clusters,
        search=params.search,
        grid=params.grid,
        code_digest=params.code,
        n_jobs=snakemake.threads,
    )
    path = problem.estimator.path(
        problem.data.X, problem.sparsities, progress=progress.counting("sparsities")
    )
    write_path(snakemake.output.path, path, problem.attributes)


run(main, snakemake)
