"""Write the single fit of a path as the tuned fit, for methods without a sparsity to choose."""

from rule_problem import most_bytes
from workflow_job import job


@job(snakemake)
def main(snakemake, progress):
    from sparsekm.io.normalised_file import read_normalised
    from sparsekm.io.store import read_path, write_fit
    from sparsekm.pipeline.problem import describe_fit

    path, attributes = read_path(snakemake.input.path)
    data = read_normalised(snakemake.input.normalised, most_bytes(snakemake))
    # A mixture component may have no samples.
    fit = describe_fit(data, path, attributes, attributes["n_clusters"])
    write_fit(snakemake.output.fit, fit)
