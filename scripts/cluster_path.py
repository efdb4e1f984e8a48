"""Cluster a data set at every sparsity of a method's grid, and write the path."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.cluster.matrices.streamed_matrix import in_blocks
    from sparsekm.io.store import write_path

    problem = read_problem(snakemake)
    path = problem.estimator.path(
        in_blocks(problem.tuning.X), problem.sparsities, progress=progress.counting("fits")
    )
    write_path(snakemake.output.path, path, problem.attributes, problem.samples)
