"""Write the single fit of a path as the tuned fit, for methods without a sparsity to choose."""

from rule_problem import read_problem
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.store import read_path, write_fit
    from sparsekm.pipeline.problem import describe_fit

    path, attributes = read_path(snakemake.input.path)
    n_clusters = attributes["n_clusters"]
    problem = read_problem(snakemake, n_clusters=n_clusters)
    # A mixture component may have no samples.
    fit = describe_fit(problem, path.fit_at(0), attributes, n_clusters)
    write_fit(snakemake.output.fit, fit)
