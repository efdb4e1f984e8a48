"""Cluster a data set at every sparsity of a method's grid."""

from posed_problem import pose
from workflow_job import run


def main(snakemake, progress):
    """Fit the whole path and write it."""
    from sparsekm.io.path_file import write_path

    problem = pose(snakemake)
    path = problem.estimator.path(
        problem.data.X, problem.sparsities, progress=progress.counting("fits")
    )
    write_path(snakemake.output.path, path, problem.attributes)


run(main, snakemake)
